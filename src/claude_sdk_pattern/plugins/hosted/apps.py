"""The pages of a plugin's own tools (MCP Apps), as resources of the server that offers the tools."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from claude_agent_sdk import SdkMcpTool
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
    Tool,
)

from claude_sdk_pattern.plugins.author import AppTool
from claude_sdk_pattern.plugins.hosted.errors import CodeError
from claude_sdk_pattern.plugins.hosted.protocol import CodeSpec

_PAGE_TYPE = "text/html;profile=mcp-app"


def offer_apps(server: Server[Any], spec: CodeSpec, tools: Iterable[SdkMcpTool[Any]]) -> None:
    """Have a server say which tools have pages, and give these.

    Raises:
        CodeError: a page is not in the plugin's folder.
    """
    apps = [tool for tool in tools if isinstance(tool, AppTool)]
    if not apps:
        return
    pages = {_uri(spec, tool.page): _Page(spec, tool) for tool in apps if tool.page is not None}
    meta = {tool.name: _meta(spec, tool) for tool in apps}
    listed = server.get_request_handler("tools/list")
    if listed is None:
        raise CodeError("the tools cannot be listed")
    list_plain_tools = listed.handler

    async def list_tools(context: ServerRequestContext[Any], params: PaginatedRequestParams) -> ListToolsResult:
        plain: Any = await list_plain_tools(context, params)
        return ListToolsResult(tools=[_with_meta(tool, meta) for tool in plain.tools])

    async def list_resources(_: ServerRequestContext[Any], __: PaginatedRequestParams) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[Resource(uri=uri, name=page.name, mime_type=_PAGE_TYPE) for uri, page in pages.items()]
        )

    async def read_resource(_: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        page = pages.get(params.uri)
        if page is None:
            raise MCPError(INVALID_PARAMS, "There is no such resource.")
        return ReadResourceResult(contents=[page.read(params.uri)])

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)


class _Page:
    def __init__(self, spec: CodeSpec, tool: AppTool) -> None:
        self.name = tool.page or ""
        root = Path(spec.root).resolve()
        self._file = (root / self.name).resolve()
        if not self._file.is_relative_to(root) or not self._file.is_file():
            raise CodeError(f"the page {self.name} of the tool {tool.name} is no file in the plugin's folder")
        self._csp = {"connectDomains": list(tool.connect), "resourceDomains": list(tool.load)}

    def read(self, uri: str) -> TextResourceContents:
        text = self._file.read_text("utf-8")
        return TextResourceContents(uri=uri, mime_type=_PAGE_TYPE, text=text, _meta={"ui": {"csp": self._csp}})


def _uri(spec: CodeSpec, page: str) -> str:
    return f"ui://{spec.plugin}/{page}"


def _meta(spec: CodeSpec, tool: AppTool) -> dict[str, Any]:
    shown = {} if tool.page is None else {"resourceUri": _uri(spec, tool.page)}
    return {"ui": {**shown, "visibility": list(tool.visibility)}}


def _with_meta(tool: Tool, meta: Mapping[str, dict[str, Any]]) -> Tool:
    added = meta.get(tool.name)
    return tool if added is None else tool.model_copy(update={"meta": {**(tool.meta or {}), **added}})
