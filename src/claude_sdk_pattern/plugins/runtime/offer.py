"""What a set of plugins brings to one agent process: a value for the options, and what has to come of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_agent_sdk import AgentDefinition
from claude_agent_sdk.types import McpSdkServerConfig

from claude_sdk_pattern.plugins.manifest import Agent
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin
from claude_sdk_pattern.plugins.runtime.names import agent_name
from claude_sdk_pattern.plugins.runtime.placeholders import config_values, filled
from claude_sdk_pattern.policy.hooks import Hook

# Linux takes none over 128 KiB, and 2 MiB of arguments and variables in all.
_MAX_VARIABLE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool that a running plugin really has.

    Attributes:
        name: as agents see it.
        description: what it says of itself; empty for the servers that Claude Code starts, which tell names only.
        is_declared: the plugin's ``permissions.tools`` list it; agents are refused the others.
    """

    name: str
    description: str = ""
    is_declared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What goes into the options of one process.

    Attributes:
        servers: MCP servers, by name.
        owners: the plugin behind each server an agent may see, by the server's name.
        apps: addresses of the pages that tools show, by the tool's name.
        tool_count: how many tools these servers have. Those that Claude Code starts itself are not known before.
        agents: subagents, by name.
        native_agents: names of the subagents that Claude Code finds in ``folders`` by itself.
        folders: folders in Claude Code's format, by plugin; they lie in ``place``, and nothing else does.
        readable: folders in these that agents may read and are told of.
        environment: variables that the plugins set for the agent.
        options: values of the configuration of these folders' plugins, by plugin, which Claude Code hands on to their
            parts.
        starts_servers: whether Claude Code has to start MCP servers of these folders, within the agent's walls.
        hooks: what wants to be asked or told.
        missing: plugins of the set that cannot be used now, and why.
        release: to be called when the process has ended.
    """

    servers: Mapping[str, McpSdkServerConfig] = field(default_factory=dict[str, McpSdkServerConfig])
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    apps: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_count: int = 0
    agents: Mapping[str, AgentDefinition] = field(default_factory=dict[str, AgentDefinition])
    native_agents: Sequence[str] = ()
    folders: Mapping[str, Path] = field(default_factory=dict[str, Path])
    place: Path | None = None
    readable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    starts_servers: bool = False
    hooks: Sequence[Hook] = ()
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    release: Callable[[], None] = lambda: None


NOTHING_OFFERED = Offer()


def environment_of(plugin: ActivePlugin) -> dict[str, str]:
    """Return the variables that a plugin sets for agents.

    Raises:
        ValueError: one of them has a value that no variable can have.
    """
    manifest = plugin.package.manifest
    if manifest is None or not manifest.capabilities.environment:
        return {}
    values = config_values(plugin.config)
    found = {name: filled(text, values) for name, text in manifest.capabilities.environment.items()}
    for name, value in found.items():
        if "\0" in value or len(value.encode()) > _MAX_VARIABLE_BYTES:
            raise ValueError(
                f"The variable {name} would have a NUL character in it, or more than {_MAX_VARIABLE_BYTES} bytes."
            )
    return found


def agents_of(plugin: ActivePlugin) -> dict[str, AgentDefinition]:
    """Return the subagents of a plugin, by the names agents know them by.

    Raises:
        OSError: the file with a prompt cannot be read.
        UnicodeDecodeError: it is not text.
    """
    manifest = plugin.package.manifest
    if manifest is None:
        return {}
    return {
        agent_name(plugin.name, name): AgentDefinition(
            description=agent.description,
            prompt=_prompt(agent, plugin.package.root),
            tools=None if agent.tools is None else list(agent.tools),
            model=agent.model,
        )
        for name, agent in manifest.agents.items()
    }


def _prompt(agent: Agent, root: Path) -> str:
    return agent.prompt if agent.prompt is not None else (root / (agent.prompt_file or "")).read_text("utf-8")
