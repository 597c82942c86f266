"""PluginApp: the page that a tool of an active plugin shows, and what that page may ask of its plugin's server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    CallToolResult,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextResourceContents,
    Tool,
)

from claude_sdk_pattern.isolation.hosts import HostPattern
from claude_sdk_pattern.plugins.runtime.apps import (
    SCHEME,
    AppPage,
    NoAppError,
    content_security_policy,
    is_for,
    read_page,
)
from claude_sdk_pattern.plugins.runtime.forwarding import Reports, pass_on
from claude_sdk_pattern.plugins.runtime.server_connection import ServerConnection

# The server has the page at hand; a plugin that has to think about it has time enough.
_READ_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginApp:
    """The app of one tool.

    Attributes:
        plugin: the plugin's name.
        server: the name of its server that has the tool, as agents see it.
        tool: the tool.
        uri: the address of the page.
        hosts: what the plugin declares.
    """

    plugin: str
    server: str
    tool: Tool
    uri: str
    hosts: Sequence[HostPattern]
    connection: ServerConnection
    reports: Reports
    max_result_bytes: int

    async def page(self) -> tuple[AppPage, str]:
        """Return the page, and the policy to serve it with.

        Raises:
            CallFailedError: the server did not answer.
            NoAppError: its answer is no page.
        """
        page = read_page(await self._read(self.uri), self.uri)
        return page, content_security_policy(page, self.hosts)

    async def resource(self, uri: str) -> ReadResourceResult:
        """Return another ``ui://`` resource of the same server.

        Raises:
            CallFailedError: the server did not answer.
            NoAppError: it is none that apps get, or it is too long.
        """
        if not uri.startswith(SCHEME):
            raise NoAppError(f"An app gets resources whose address begins with {SCHEME}.")
        result = await self._read(uri)
        size = len(result.model_dump_json().encode())
        if size > self.max_result_bytes:
            raise NoAppError(f"{uri} has {size} bytes, and the limit is {self.max_result_bytes}.")
        return result

    def find_tool(self, name: str) -> str | None:
        """Return a tool of the same server by the name agents would see; None if there is none that is for apps."""
        found = any(tool.name == name and is_for(tool, "app") for tool in self.connection.tools)
        return f"mcp__{self.server}__{name}" if found else None

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool of the same server. What goes wrong with it is in the result."""
        return await pass_on(
            self.plugin,
            self.server,
            self.connection,
            name,
            arguments,
            self.reports,
            max_result_bytes=self.max_result_bytes,
            audience="app",
        )

    async def _read(self, uri: str) -> ReadResourceResult:
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        result = await self.connection.request(
            request, ReadResourceResult, timeout_seconds=_READ_SECONDS, what=f"The app {uri[:200]}"
        )
        contents = [
            content.model_copy(update={"text": self.reports.redact(content.text)})
            if isinstance(content, TextResourceContents)
            else content
            for content in result.contents
        ]
        return result.model_copy(update={"contents": contents})
