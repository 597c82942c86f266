"""Plugins in folders at work: in a runtime by itself, or through the registry of a platform."""

import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.support.platform import Chat, Platform

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.isolation.confinement import Confinement
from claude_sdk_pattern.isolation.kinds import Isolation
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.reading import read_package
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.plugins.runtime.links import ProcessLimits
from claude_sdk_pattern.plugins.runtime.plugin_at_work import Platform as PlatformOfPlugins
from claude_sdk_pattern.plugins.runtime.plugin_at_work import RunningSettings, refuse_all
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.sessions.approvals import Answer

EXAMPLES: Final = Path(__file__).parents[2] / "plugins"
"""The plugins of the repository."""


def no_plugins(folder: Path) -> PluginRuntime:
    """Return a runtime that is given no plugin."""
    limits = ProcessLimits(
        processes=64, open_files=256, file_mb=1, cpu_seconds=60, tmp_mb=1, max_message_bytes=64 * 1024
    )
    settings = RunningSettings(data=folder, limits=limits, start_seconds=10, max_result_bytes=1024)
    confinement = Confinement(folder / "confinement", isolation=Isolation.PROCESS, uid=0)

    async def reveal(plugin: str, key: str) -> None:
        return None

    return PluginRuntime(
        settings,
        PlatformOfPlugins(confinement=confinement, reveal=reveal, ask=refuse_all),
        folders=folder / "folders",
        on_health=lambda plugin, problem: None,
        on_call=lambda plugin, outcome, seconds: None,
    )


def write_plugin(folder: Path, files: dict[str, str], **manifest: Any) -> Path:
    """Write a plugin of our own format, called like its folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"manifest_version": "1", "name": folder.name, "version": "1.0.0", **manifest}
    (folder / "plugin.json").write_text(json.dumps(whole))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def tool_plugin(folder: Path, code: str, **tools: Any) -> Path:
    """Write a plugin with tools; all of them are declared. ``tools`` are fields of ``capabilities.tools``."""
    return write_plugin(
        folder,
        {f"{folder.name}_tools.py": code},
        type="tool",
        capabilities={"tools": {"module": f"{folder.name}_tools", **tools}},
        permissions={"tools": [f"mcp__{folder.name}__*"]},
    )


def active(
    root: Path, *, config: dict[str, Any] | None = None, revision: int = 1, trusted: bool = False
) -> ActivePlugin:
    """Return the plugin in a folder as it is when it is active, with the defaults of its configuration."""
    package = read_package(root)
    properties: Any = package.config_schema.get("properties", {})
    defaults = {key: part["default"] for key, part in properties.items() if "default" in part}
    return ActivePlugin(package=package, config=defaults | (config or {}), revision=revision, trusted=trusted)


async def put_to_work(runtime: PluginRuntime, *roots: Path) -> None:
    """Start the plugins in these folders, without a registry."""
    for root in roots:
        await runtime.started(active(root))


async def activate(platform: Platform, *roots: Path, config: dict[str, Any] | None = None) -> None:
    """Install the plugins in these folders, or their newer versions, and activate them."""
    registry = platform.services.plugins
    for root in roots:
        installed = await registry.install_folder(root, actor="u1", source="upload", origin=root.name)
        name = installed.record.name
        if config is not None:
            await registry.configure(name, config, actor="u1")
        await registry.activate(name, actor="u1")


async def ask_and_allow(chat: Chat, text: str) -> tuple[str, events.Result]:
    """Send a message, allow every call that is asked about, and return the answer and the result of its turn."""
    accepted = await chat.say(text)
    while True:
        event = await chat.until(lambda found: isinstance(found, events.PermissionRequest | events.Result))
        if isinstance(event, events.Result):
            return chat.answer(accepted.turn_id), event
        assert isinstance(event, events.PermissionRequest)
        answer = Answer(decision="allow", by="u1", by_name="alice", input_hash=event.input_hash)
        await chat.conversation.answer_permission(event.request_id, answer)


async def call_tool(chat: Chat, tool: str, **arguments: Any) -> events.ToolResult:
    """Have the agent call a tool and return what the tool answered."""
    await ask_and_allow(chat, f"call tool {tool} with {json.dumps(arguments)}")
    return next(item.event for item in reversed(chat.seen) if isinstance(item.event, events.ToolResult))


@contextlib.asynccontextmanager
async def offered(
    runtime: PluginRuntime, plugins: PluginSet, failures: list[ToolFailure] | None = None
) -> AsyncGenerator[Callable[..., Coroutine[Any, Any, CallToolResult]]]:
    """Yield what calls a tool, ``call("mcp__server__tool", argument=...)``, as an agent process would."""
    offer = runtime.offer(plugins, (failures if failures is not None else []).append)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(offer.release)
        servers: dict[str, Any] = {name: server["instance"] for name, server in offer.servers.items()}
        # Here and not when they are first called: who enters a client has to leave it.
        clients = {name: await stack.enter_async_context(Client(server)) for name, server in servers.items()}

        async def call(tool: str, **arguments: Any) -> CallToolResult:
            _, server, name = tool.split("__")
            return await clients[server].call_tool(name, arguments)

        yield call


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
