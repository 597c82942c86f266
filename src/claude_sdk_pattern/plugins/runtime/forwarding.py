"""What an agent talks to in place of a plugin's server: a server in this process that only passes on.

So the agent's process holds no secret of a plugin and no way to its process, all sessions share one process of a
plugin, and what goes wrong with it is seen here. One of these belongs to one agent process: the SDK cannot share them.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from claude_agent_sdk.types import McpSdkServerConfig
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from claude_sdk_pattern.plugins.runtime.apps import Audience, is_for
from claude_sdk_pattern.plugins.runtime.server_connection import CallFailedError, ServerConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """A tool of a plugin gave no answer of its own. ``tool`` is its name as the agent has it."""

    plugin: str
    tool: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Who is told of calls.

    Attributes:
        on_failure: of those that the tool did not answer, for the people in the session.
        on_call: of each: the plugin, how it ended, and how many seconds it took.
        redact: takes the values of secrets out of a text.
    """

    on_failure: Callable[[ToolFailure], None]
    on_call: Callable[[str, str, float], None]
    redact: Callable[[str], str]


def forwarding_server(
    plugin: str, name: str, connection: ServerConnection, reports: Reports, *, max_result_bytes: int
) -> McpSdkServerConfig:
    """Return the server of one agent process that passes calls on to ``connection``."""

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool for tool in connection.tools if is_for(tool, "model")])

    async def call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        return await pass_on(
            plugin,
            name,
            connection,
            params.name,
            params.arguments or {},
            reports,
            max_result_bytes=max_result_bytes,
            audience="model",
        )

    server: Server[Any] = Server(name, on_list_tools=list_tools, on_call_tool=call_tool)
    return McpSdkServerConfig(type="sdk", name=name, instance=cast("Any", server))


async def pass_on(
    plugin: str,
    name: str,
    connection: ServerConnection,
    tool: str,
    arguments: dict[str, Any],
    reports: Reports,
    *,
    max_result_bytes: int,
    audience: Audience,
) -> CallToolResult:
    """Call a tool of a plugin's server, if it has one for this audience; what goes wrong is in the result."""
    begun, outcome = time.monotonic(), "cancelled"
    try:
        if not any(known.name == tool and is_for(known, audience) for known in connection.tools):
            outcome = "unknown"
            return _error(f"There is no tool {tool}.")
        result = await connection.call_tool(tool, arguments)
        result = _bounded(_redacted(result, reports.redact), max_result_bytes)
        outcome = "error" if result.is_error else "success"
        return result
    except CallFailedError as failure:
        outcome, message = failure.kind, reports.redact(str(failure))
        reports.on_failure(ToolFailure(plugin=plugin, tool=f"mcp__{name}__{tool}", message=message))
        return _error(message)
    finally:
        reports.on_call(plugin, outcome, time.monotonic() - begun)


def _error(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)


def _redacted(result: CallToolResult, redact: Callable[[str], str]) -> CallToolResult:
    content = [
        block.model_copy(update={"text": redact(block.text)}) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    structured = _without_secrets(result.structured_content, redact)
    return result.model_copy(update={"content": content, "structured_content": structured})


def _without_secrets(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case list():
            return [_without_secrets(one, redact) for one in cast("list[Any]", value)]
        case dict():
            return {key: _without_secrets(one, redact) for key, one in cast("dict[str, Any]", value).items()}
        case _:
            return value


def _bounded(result: CallToolResult, max_bytes: int) -> CallToolResult:
    size = 0 if result.structured_content is None else len(json.dumps(result.structured_content).encode())
    for block in result.content:
        if isinstance(block, TextContent):
            size += len(block.text.encode(errors="replace"))
        elif isinstance(block, ImageContent):
            size += len(block.data)
        else:
            size += len(block.model_dump_json())
    if size <= max_bytes:
        return result
    return _error(f"The result has {size} bytes, and the limit is {max_bytes}. Ask for less.")
