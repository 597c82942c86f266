"""PluginRuntime: the active plugins of this server at work, and what of them each agent process gets.

The registry starts and stops plugins here (:class:`~claude_sdk_pattern.plugins.activation.Activator`). An agent process
uses the plugins of its set from its start to its end: one that is stopped or replaced meanwhile goes on for it.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from claude_agent_sdk import AgentDefinition
from claude_agent_sdk.types import McpSdkServerConfig

from claude_sdk_pattern.isolation.hosts import HostPattern
from claude_sdk_pattern.plugins.author import JsonObject
from claude_sdk_pattern.plugins.errors import ActivationError
from claude_sdk_pattern.plugins.hosted.protocol import (
    HookParams,
    HookRequest,
    HookResult,
    HttpParams,
    HttpRequest,
    HttpResult,
)
from claude_sdk_pattern.plugins.native import READABLE_FOLDERS
from claude_sdk_pattern.plugins.personas import offered_profiles
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.runtime.apps import is_for, page_of
from claude_sdk_pattern.plugins.runtime.forwarding import Reports, ToolFailure, forwarding_server
from claude_sdk_pattern.plugins.runtime.names import agent_name, owner_of, owners, server_names
from claude_sdk_pattern.plugins.runtime.native_folders import NativeFolders, needs_folder
from claude_sdk_pattern.plugins.runtime.offer import Offer, OfferedTool, agents_of, environment_of
from claude_sdk_pattern.plugins.runtime.plugin_app import PluginApp
from claude_sdk_pattern.plugins.runtime.plugin_at_work import (
    HealthReport,
    Platform,
    PluginAtWork,
    RunningSettings,
)
from claude_sdk_pattern.plugins.runtime.policy_layers import folders_layer, hooks_of, policy_layer
from claude_sdk_pattern.plugins.runtime.server_connection import CallFailedError, ServerConnection, ServerStartError
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.hooks import Hook

logger = structlog.get_logger(__name__)

type CallReport = Callable[[str, str, float], None]

# How long what a check has started waits to be put to work.
_TRIAL_SECONDS = 30.0

MAX_OPTIONS_BYTES = 64 * 1024
"""How long the configurations of plugins in Claude Code's format may be together. They are part of one argument of its
command line, and Linux takes none over 128 KiB."""

# Sets are few: one for all that is active, and those of sessions that have some of it turned off.
_MAX_KEPT_GATES = 100


class PluginRuntime:
    """Plugins at work.

    Args:
        settings: how they run.
        platform: what they get from the rest of the server.
        folders: where what Claude Code is given of them is made.
        on_health: is told what is wrong with a plugin.
        on_call: is told of each call of a tool: the plugin, how it ended, and how many seconds it took.
        redact: takes the values of secrets out of a text.
    """

    def __init__(
        self,
        settings: RunningSettings,
        platform: Platform,
        *,
        folders: Path,
        on_health: HealthReport,
        on_call: CallReport,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._settings = settings
        self._platform = platform
        self._folders = NativeFolders(folders.absolute())
        self._on_health = on_health
        self._on_call = on_call
        self._redact = redact
        self._at_work: dict[str, PluginAtWork] = {}
        self._trials: dict[str, PluginAtWork] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        self._gates: dict[tuple[PermissionGate, str], PermissionGate] = {}
        self._told_tools: dict[str, frozenset[str]] = {}

    @property
    def active(self) -> PluginSet:
        """The plugins that are at work now."""
        return PluginSet.of(at_work.plugin for at_work in self._at_work.values())

    async def aclose(self) -> None:
        """End everything that runs."""
        at_work = [*self._at_work.values(), *self._trials.values()]
        self._at_work, self._trials = {}, {}
        await asyncio.gather(*(one.aclose() for one in at_work), return_exceptions=True)
        await asyncio.gather(*self._retiring, return_exceptions=True)

    # --- for the registry (Activator) ---------------------------------------------------------------------------

    async def check(self, plugin: ActivePlugin, others: PluginSet) -> None:
        """Try whether a plugin can be put to work beside the others.

        Raises:
            ActivationError: it cannot.
        """
        try:
            for host in plugin.package.permissions.hosts:
                HostPattern.parse(host)
            agents_of(plugin)
            environment = environment_of(plugin)
            for profile in offered_profiles(PluginSet((plugin,))):
                profile.persona()
            self._folders.single(plugin.package)
        except (OSError, ValueError) as error:
            raise ActivationError(str(error)) from error
        for other in others:
            if other.name != plugin.name and (shared := environment.keys() & environment_of(other).keys()):
                raise ActivationError(f"The variable {min(shared)} is set by the plugin {other.name}.")
        if plugin.package.format == "claude-code" and len(json.dumps([plugin.config])) > MAX_OPTIONS_BYTES:
            raise ActivationError(f"Its configuration has more than {MAX_OPTIONS_BYTES} bytes.")
        taken = owners(other for other in others if other.name != plugin.name)
        for name in server_names(plugin):
            if name in taken:
                raise ActivationError(f"The server name {name} is taken by the plugin {taken[name]}.")
        await self._forget_trial(plugin.name)
        trial = PluginAtWork(plugin, self._settings, self._platform, on_health=self._on_health)
        try:
            await trial.start()
        except ServerStartError as error:
            raise ActivationError(self._redact(str(error))) from error
        # Starting takes seconds, and what follows a check is a start.
        self._trials[plugin.name] = trial
        asyncio.get_running_loop().call_later(_TRIAL_SECONDS, self._end_trial, trial)

    async def started(self, plugin: ActivePlugin) -> None:
        """Put a plugin to work; another version of it ends when no agent process uses it any more.

        Raises:
            ActivationError: it did not start.
        """
        at_work = self._trials.pop(plugin.name, None)
        if at_work is not None and not (_identity(at_work.plugin) == _identity(plugin) and at_work.is_whole):
            await at_work.aclose()
            at_work = None
        try:
            self._folders.single(plugin.package)
            environment_of(plugin)
            if at_work is None:
                at_work = PluginAtWork(plugin, self._settings, self._platform, on_health=self._on_health)
                await at_work.start()
        except (ServerStartError, OSError, ValueError) as error:
            raise ActivationError(self._redact(str(error))) from error
        self._retire(self._at_work.get(plugin.name))
        self._at_work[plugin.name] = at_work

    async def stopped(self, plugin: ActivePlugin) -> None:
        """Take a plugin away. Agent processes that use it keep it to their end."""
        await self._forget_trial(plugin.name)
        self._told_tools.pop(plugin.name, None)
        self._retire(self._at_work.pop(plugin.name, None))

    async def _forget_trial(self, name: str) -> None:
        trial = self._trials.pop(name, None)
        if trial is not None:
            await trial.aclose()

    def _end_trial(self, trial: PluginAtWork) -> None:
        if self._trials.get(trial.plugin.name) is trial:
            del self._trials[trial.plugin.name]
            self._retire(trial)

    def _retire(self, at_work: PluginAtWork | None) -> None:
        if at_work is not None:
            task = asyncio.create_task(at_work.retire())
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    # --- for sessions -------------------------------------------------------------------------------------------

    async def prepare(self, plugins: PluginSet) -> None:
        """Do what takes time before :meth:`offer`, which says what went wrong."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._folders.prepare, plugins)

    def offer(self, plugins: PluginSet, on_failure: Callable[[ToolFailure], None]) -> Offer:
        """Return what an agent process gets of a set; it uses it until it calls ``release``.

        Args:
            plugins: the set.
            on_failure: is told of calls that a tool did not answer.
        """
        servers: dict[str, McpSdkServerConfig] = {}
        agents: dict[str, AgentDefinition] = {}
        folders: dict[str, Path] = {}
        hooks: list[Hook] = []
        missing: dict[str, str] = {}
        options: dict[str, Mapping[str, Any]] = {}
        used: list[PluginAtWork] = []
        apps: dict[str, str] = {}
        environment: dict[str, str] = {}
        tool_count = 0
        place: Path | None = None
        if any(needs_folder(plugin.package) for plugin in plugins):
            try:
                place = self._folders.use(plugins)
            except OSError as error:
                missing |= {plugin.name: str(error) for plugin in plugins if needs_folder(plugin.package)}
        reports = Reports(on_failure=on_failure, on_call=self._on_call, redact=self._redact)
        for plugin in plugins:
            try:
                agents |= agents_of(plugin)
                environment |= environment_of(plugin)
            except (OSError, ValueError) as error:
                missing[plugin.name] = str(error)
                continue
            if needs_folder(plugin.package) and place is not None:
                if plugin.package.format == "claude-code" and plugin.config:
                    if len(json.dumps([*options.values(), plugin.config])) > MAX_OPTIONS_BYTES:
                        missing[plugin.name] = "its configuration is too long beside those of the others"
                        continue
                    options[plugin.name] = plugin.config
                folders[plugin.name] = place / plugin.name
            at_work = self._at_work.get(plugin.name)
            if at_work is None or _identity(at_work.plugin) != _identity(plugin):
                # Stopped or replaced a moment ago.
                if _has_parts_at_work(plugin):
                    missing[plugin.name] = "it was stopped or changed meanwhile"
                continue
            at_work.use()
            used.append(at_work)
            hooks += hooks_of(plugin, partial(_run_hook, at_work))
            for name, connection in at_work.servers.items():
                tool_count += sum(is_for(tool, "model") for tool in connection.tools)
                apps |= _apps(plugin, name, connection)
                servers[name] = forwarding_server(
                    plugin.name, name, connection, reports, max_result_bytes=self._settings.max_result_bytes
                )

        # Whoever releases twice leaves once.
        is_using = [] if place is None else [place]

        def release() -> None:
            for one in used:
                one.leave()
            used.clear()
            if is_using:
                self._folders.leave(is_using.pop())

        return Offer(
            servers=servers,
            owners=owners(plugins),
            apps=apps,
            tool_count=tool_count,
            agents=agents,
            native_agents=[
                agent_name(plugin.name, agent)
                for plugin in plugins
                if plugin.package.format == "claude-code" and plugin.name in folders
                for agent in plugin.package.inventory.agents
            ],
            folders=folders,
            place=place,
            readable=[
                folders[plugin.name] / READABLE_FOLDERS / path
                for plugin in plugins
                if plugin.name in folders
                for path in plugin.package.inventory.folders
            ],
            environment=environment,
            options=options,
            starts_servers=any(_starts_servers(plugin) for plugin in plugins if plugin.name in folders),
            hooks=hooks,
            missing=missing,
            release=release,
        )

    def gate(self, base: PermissionGate, plugins: PluginSet) -> PermissionGate:
        """Return the gate of sessions with this set: what the plugins declare laid over the policy."""
        key = (base, plugins.key)
        gate = self._gates.get(key)
        if gate is None:
            layers = [policy_layer(plugin) for plugin in plugins]
            if any(needs_folder(plugin.package) for plugin in plugins):
                layers.append(folders_layer(self._folders.place(plugins)))
            if len(self._gates) >= _MAX_KEPT_GATES:
                self._gates.clear()
            gate = self._gates[key] = base.with_layers(layers)
        return gate

    def told_as_broken(self, plugin: str, problem: str) -> None:
        """Note what an agent process found wrong with a plugin."""
        self._on_health(plugin, problem)

    def told_of_tools(self, owners: Mapping[str, str], tools: Collection[str]) -> None:
        """Note which tools an agent process has, for the servers that Claude Code starts itself.

        Args:
            owners: the plugin behind each server, as the process's offer has it.
            tools: names of all tools of the process.
        """
        found: dict[str, set[str]] = {}
        for tool in tools:
            if (owner := owner_of(tool, owners)) is not None:
                found.setdefault(owner, set()).add(tool)
        # A server that was not ready yet when an agent began has not lost its tools.
        self._told_tools |= {
            name: frozenset(seen) | self._told_tools.get(name, frozenset()) for name, seen in found.items()
        }

    # --- for operators and authors ------------------------------------------------------------------------------

    def tools_of(self, name: str) -> tuple[OfferedTool, ...]:
        """Return what tools a plugin really has, by their names; nothing for one that is not at work.

        Those of its Python and its servers are known from its start, those of servers that Claude Code starts from
        when the first agent has started them.
        """
        at_work = self._at_work.get(name)
        if at_work is None:
            return ()
        described = {
            f"mcp__{server}__{tool.name}": tool.description or ""
            for server, connection in at_work.servers.items()
            for tool in connection.tools
        }
        if at_work.plugin.package.format == "claude-code":
            described |= dict.fromkeys(self._told_tools.get(name, ()), "")
        declared = at_work.plugin.package.permissions.tools
        return tuple(
            OfferedTool(
                name=tool,
                description=description,
                is_declared=any(fnmatchcase(tool, pattern) for pattern in declared),
            )
            for tool, description in sorted(described.items())
        )

    # --- for endpoints ------------------------------------------------------------------------------------------

    def find(self, name: str) -> ActivePlugin | None:
        """Return the plugin of this name if it is at work."""
        at_work = self._at_work.get(name)
        return None if at_work is None else at_work.plugin

    def parts_of(self, name: str) -> PluginAtWork | None:
        """Return what runs of the plugin of this name."""
        return self._at_work.get(name)

    def app_of(self, name: str, tool: str) -> PluginApp | None:
        """Return the app that a tool of an active plugin shows.

        Args:
            name: the plugin's.
            tool: the tool, as agents name it.
        """
        at_work = self._at_work.get(name)
        if at_work is None:
            return None
        reports = Reports(on_failure=lambda failure: None, on_call=self._on_call, redact=self._redact)
        for server, connection in at_work.servers.items():
            if (uri := _apps(at_work.plugin, server, connection).get(tool)) is None:
                continue
            return PluginApp(
                plugin=name,
                server=server,
                tool=next(one for one in connection.tools if tool == f"mcp__{server}__{one.name}"),
                uri=uri,
                hosts=[HostPattern.parse(host) for host in at_work.plugin.package.permissions.hosts],
                connection=connection,
                reports=reports,
                max_result_bytes=self._settings.max_result_bytes,
            )
        return None

    def hooks(self, plugins: PluginSet) -> list[Hook]:
        """Return the hooks of those plugins of a set that are at work, for calls that no agent process makes."""
        found = ((plugin, self._at_work.get(plugin.name)) for plugin in plugins)
        return [
            hook
            for plugin, at_work in found
            if at_work is not None
            for hook in hooks_of(plugin, partial(_run_hook, at_work))
        ]

    async def answer_http(self, name: str, params: HttpParams, *, timeout_seconds: float) -> HttpResult:
        """Have a plugin's router answer an HTTP request.

        Raises:
            CallFailedError: it did not.
        """
        at_work = self._at_work.get(name)
        if at_work is None or at_work.code is None:
            raise CallFailedError("unavailable", f"The plugin {name} is not at work.")
        request, what = HttpRequest(params=params), f"The plugin {name}"
        return await at_work.code.request(request, HttpResult, timeout_seconds=timeout_seconds, what=what)


async def _run_hook(at_work: PluginAtWork, function: str, data: JsonObject, timeout_seconds: float) -> Any:
    if at_work.code is None:
        raise CallFailedError("unavailable", f"The plugin {at_work.plugin.name} has no Python.")
    request, what = HookRequest(params=HookParams(function=function, data=data)), f"The hook {function}"
    return (await at_work.code.request(request, HookResult, timeout_seconds=timeout_seconds, what=what)).reply


def _apps(plugin: ActivePlugin, server: str, connection: ServerConnection) -> dict[str, str]:
    if not plugin.package.permissions.apps:
        return {}
    pages = ((f"mcp__{server}__{tool.name}", page_of(tool)) for tool in connection.tools)
    return {tool: page for tool, page in pages if page is not None}


def _starts_servers(plugin: ActivePlugin) -> bool:
    return plugin.package.format == "claude-code" and bool(plugin.package.inventory.mcp_servers)


def _has_parts_at_work(plugin: ActivePlugin) -> bool:
    manifest = plugin.package.manifest
    return manifest is not None and (bool(server_names(plugin)) or bool(manifest.hooks))


def _identity(plugin: ActivePlugin) -> tuple[str, str, int, bool]:
    return plugin.name, plugin.package.digest, plugin.revision, plugin.trusted
