"""Compares what an agent process says it has loaded with what it was offered."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from claude_sdk_pattern.plugins.runtime.offer import Offer

# A server that is still connecting is none that failed; its tools come a moment later.
_FAILED_STATES = ("failed", "needs-auth", "disabled")


def problems_in(offer: Offer, init: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong, by plugin.

    Args:
        offer: what the process was given.
        init: the ``data`` of the CLI's ``init`` message.
    """
    found: dict[str, list[str]] = {name: [problem] for name, problem in offer.missing.items()}

    def note(plugin: str, problem: str) -> None:
        found.setdefault(plugin, []).append(problem)

    states = {str(server.get("name")): str(server.get("status")) for server in _entries(init, "mcp_servers")}
    for server in offer.servers:
        if server not in states or states[server] in _FAILED_STATES:
            note(offer.owners[server], f"the server {server} is {states.get(server, 'missing')}")
    for server, state in states.items():
        # Those that Claude Code starts itself are `plugin:<plugin>:<server>`.
        _, _, name = server.partition("plugin:")
        plugin = name.partition(":")[0]
        if plugin in offer.folders and state in _FAILED_STATES:
            note(plugin, f"the server {server} is {state}")
    loaded = {str(plugin.get("path")) for plugin in _entries(init, "plugins")}
    for plugin, folder in offer.folders.items():
        if str(folder) not in loaded:
            note(plugin, "its folder was not loaded")
    for error in _entries(init, "plugin_errors"):
        named = str(error.get("plugin")).partition("@")[0]
        by_path = (plugin for plugin, folder in offer.folders.items() if _is_below(error.get("path"), str(folder)))
        note(next(by_path, named), str(error.get("message"))[:500])
    agents = set(map(str, init.get("agents") or []))
    for agent in offer.agents:
        if agent not in agents:
            note(agent.partition(":")[0], f"the agent {agent} was not loaded")
    return {plugin: "; ".join(dict.fromkeys(problems)) for plugin, problems in found.items()}


def _entries(init: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return init.get(name) or []


def _is_below(path: Any, folder: str) -> bool:
    return isinstance(path, str) and PurePath(path).is_relative_to(folder)
