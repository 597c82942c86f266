"""PluginAtWork: everything of one active plugin that runs: its Python and its MCP servers, each with a connection."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from claude_sdk_pattern.isolation.confinement import Confinement
from claude_sdk_pattern.isolation.hosts import EgressPolicy, HostPattern, Network
from claude_sdk_pattern.plugins.author import JsonObject, PlatformRefusedError
from claude_sdk_pattern.plugins.hosted.protocol import CodeSpec
from claude_sdk_pattern.plugins.manifest import Manifest, RemoteServer, StdioServer
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin
from claude_sdk_pattern.plugins.runtime.links import (
    Place,
    ProcessLimits,
    code_link,
    code_link_in_process,
    remote_link,
    stdio_link,
)
from claude_sdk_pattern.plugins.runtime.names import mcp_server, tool_server
from claude_sdk_pattern.plugins.runtime.placeholders import config_values
from claude_sdk_pattern.plugins.runtime.server_connection import (
    Connect,
    ServerConnection,
    ServerLimits,
    ServerStartError,
    ServerState,
)
from claude_sdk_pattern.plugins.runtime.streams import Link

type Reveal = Callable[[str, str], Awaitable[str | None]]
"""Returns a secret of a plugin, by the plugin's name and the key; None if it was never set."""

type AskPlatform = Callable[[str, str, JsonObject], Awaitable[JsonObject]]
"""Answers what a plugin asks of the platform: the plugin's name, what it asks, and the parameters."""

type HealthReport = Callable[[str, str | None], None]
"""Is told of what is wrong with a plugin, by its name; None when nothing is any more."""

# Where a plugin has no tools that say otherwise: for its hooks.
_CODE_CALL_SECONDS = 30.0
_CODE_MEMORY_MB = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSettings:
    """How plugins run on this server.

    Attributes:
        data: where each plugin's own folder is made.
        limits: what one process may use.
        start_seconds: how long a server may take to be there.
        max_result_bytes: the longest answer of a tool.
        networks: addresses that are not public and may be reached all the same, by plugins that declare the host.
    """

    data: Path
    limits: ProcessLimits
    start_seconds: float
    max_result_bytes: int
    networks: tuple[Network, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What plugins get from the rest of the server."""

    confinement: Confinement
    reveal: Reveal
    ask: AskPlatform


class PluginAtWork:
    """The running parts of one active plugin.

    Attributes:
        code: the connection to its Python: tools, hooks, endpoints. None if it has none.
        servers: the connections that agents are offered, by the server's name.
    """

    def __init__(
        self, plugin: ActivePlugin, settings: RunningSettings, platform: Platform, *, on_health: HealthReport
    ) -> None:
        self.plugin = plugin
        self.code: ServerConnection | None = None
        self.servers: dict[str, ServerConnection] = {}
        self._settings = settings
        self._platform = platform
        self._on_health = on_health
        self._problems: dict[str, str] = {}
        self._users = 0
        self._is_retired = False
        self._closing: asyncio.Task[None] | None = None
        manifest = plugin.package.manifest
        if manifest is not None:
            self._prepare(manifest)

    async def start(self) -> None:
        """Start everything, side by side.

        Raises:
            ServerStartError: a part did not start. Nothing is left running.
        """
        connections = self._connections()
        outcomes = await asyncio.gather(*(one.start() for one in connections), return_exceptions=True)
        for connection, outcome in zip(connections, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                await self.aclose()
                if isinstance(outcome, ServerStartError):
                    raise ServerStartError(f"{connection.name} did not start: {outcome}") from outcome
                raise outcome

    @property
    def is_whole(self) -> bool:
        """Whether every part runs."""
        return all(one.state is ServerState.READY for one in self._connections())

    async def aclose(self) -> None:
        """End everything."""
        await asyncio.gather(*(one.aclose() for one in self._connections()))

    def use(self) -> None:
        """Note that an agent process uses it."""
        self._users += 1

    def leave(self) -> None:
        """Note that an agent process uses it no more."""
        self._users -= 1
        self._end_if_unused()

    async def retire(self) -> None:
        """End it as soon as no agent process uses it any more, which may be now."""
        self._is_retired = True
        self._end_if_unused()
        if self._closing is not None:
            await self._closing

    # --- making connections -------------------------------------------------------------------------------------

    def _connections(self) -> list[ServerConnection]:
        code = [] if self.code is None else [self.code]
        return list(dict.fromkeys((*code, *self.servers.values())))

    def _prepare(self, manifest: Manifest) -> None:
        capabilities, name = manifest.capabilities, self.plugin.name
        tools = capabilities.tools
        if tools is not None or manifest.hooks or capabilities.endpoints is not None:
            seconds = _CODE_CALL_SECONDS if tools is None else tools.timeout_seconds
            self.code = self._connection(name, self._connect_code(manifest), seconds)
            if tools is not None:
                self.servers[tool_server(name)] = self.code
        for server_name, server in capabilities.mcp_servers.items():
            full_name = mcp_server(name, server_name)
            connect = self._connect_server(full_name, server, manifest)
            self.servers[full_name] = self._connection(full_name, connect, server.timeout_seconds)

    def _connection(self, name: str, connect: Connect, call_seconds: float) -> ServerConnection:
        limits = ServerLimits(start_seconds=self._settings.start_seconds, call_seconds=call_seconds)
        return ServerConnection(
            name, connect, limits, on_state=lambda state, problem: self._on_state(name, state, problem)
        )

    def _connect_code(self, manifest: Manifest) -> Connect:
        capabilities, name = manifest.capabilities, self.plugin.name
        endpoints = capabilities.endpoints
        memory = [part.memory_mb for part in (capabilities.tools, endpoints) if part is not None]
        in_process = self.plugin.trusted and capabilities.tools is not None and capabilities.tools.in_process

        async def answer(what: str, params: JsonObject) -> JsonObject:
            return await self._platform.ask(name, what, params)

        @contextlib.asynccontextmanager
        async def connect() -> AsyncGenerator[Link]:
            place = self._place(name, manifest)
            spec = CodeSpec(
                plugin=name,
                root=str(place.root),
                data=str(place.data),
                tools=None if capabilities.tools is None else capabilities.tools.module,
                hooks=tuple(dict.fromkeys(hook.function for hook in manifest.hooks)),
                router=None if endpoints is None else f"{endpoints.module}:{endpoints.router}",
                config={**self.plugin.config, **await self._secrets(manifest)},
                max_result_bytes=self._settings.max_result_bytes,
            )
            if in_process:
                link = code_link_in_process(spec, answer)
            else:
                link = code_link(
                    self._platform.confinement,
                    place,
                    spec,
                    self._settings.limits,
                    memory_mb=max(memory, default=_CODE_MEMORY_MB),
                    answer=answer,
                )
            async with link as opened:
                yield opened

        return connect

    def _connect_server(self, full_name: str, server: StdioServer | RemoteServer, manifest: Manifest) -> Connect:
        @contextlib.asynccontextmanager
        async def connect() -> AsyncGenerator[Link]:
            place = self._place(full_name, manifest)
            values = self._values(place, await self._secrets(manifest))
            limits = self._settings.limits
            if isinstance(server, StdioServer):
                link = stdio_link(self._platform.confinement, place, server, limits, values=values)
            else:
                link = remote_link(place, server, limits, values=values)
            async with link as opened:
                yield opened

        return connect

    def _place(self, name: str, manifest: Manifest) -> Place:
        data = self._settings.data / self.plugin.name
        data.mkdir(parents=True, exist_ok=True)
        permissions = manifest.permissions
        return Place(
            name=name,
            root=self.plugin.package.root,
            data=data,
            readable=tuple(Path(path) for path in permissions.paths.readable),
            writable=tuple(Path(path) for path in permissions.paths.writable),
            egress=EgressPolicy(
                hosts=[HostPattern.parse(text) for text in permissions.hosts], networks=self._settings.networks
            ),
        )

    async def _secrets(self, manifest: Manifest) -> dict[str, str]:
        found = {key: await self._platform.reveal(self.plugin.name, key) for key in manifest.permissions.secrets}
        return {key: value for key, value in found.items() if value is not None}

    def _values(self, place: Place, secrets: Mapping[str, str]) -> dict[str, str]:
        config = config_values({**self.plugin.config, **secrets})
        return {"plugin_root": str(place.root), "plugin_data": str(place.data), **config}

    # --- small things -------------------------------------------------------------------------------------------

    def _on_state(self, name: str, state: ServerState, problem: str | None) -> None:
        if self._is_retired or state is ServerState.CLOSED:
            return
        if state is ServerState.READY:
            self._problems.pop(name, None)
        elif problem is not None:
            ending = " It was tried several times and is given up." if state is ServerState.FAILED else ""
            self._problems[name] = f"{name}: {problem}.{ending}"
        self._on_health(self.plugin.name, "; ".join(self._problems.values()) or None)

    def _end_if_unused(self) -> None:
        if self._is_retired and self._users <= 0 and self._closing is None:
            self._closing = asyncio.create_task(self.aclose())


async def refuse_all(plugin: str, what: str, params: JsonObject) -> JsonObject:
    """Answer plugins where there is no platform to ask, as in a check.

    Raises:
        PlatformRefusedError: always.
    """
    raise PlatformRefusedError(f"{plugin} cannot ask for {what} here.")
