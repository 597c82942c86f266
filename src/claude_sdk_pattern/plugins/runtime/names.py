"""What the parts of a plugin are called where an agent sees them."""

from collections.abc import Iterable, Mapping

from claude_sdk_pattern.plugins.plugin_set import ActivePlugin


def tool_server(plugin: str) -> str:
    """Return the name of the server with a plugin's own tools, which are then ``mcp__<plugin>__<tool>``."""
    return plugin


def mcp_server(plugin: str, server: str) -> str:
    """Return the name of an MCP server of a plugin, whose tools are then ``mcp__<plugin>-<server>__<tool>``."""
    return f"{plugin}-{server}"


def agent_name(plugin: str, agent: str) -> str:
    """Return the name of a plugin's subagent, as Claude Code names those of its own plugins."""
    return f"{plugin}:{agent}"


def server_names(plugin: ActivePlugin) -> tuple[str, ...]:
    """Return the names of all servers of a plugin.

    Those in Claude Code's own format are started by Claude Code, which gives them names of its own.
    """
    package = plugin.package
    if package.format == "claude-code":
        return tuple(f"plugin_{plugin.name}_{server}" for server in package.inventory.mcp_servers)
    own = [tool_server(plugin.name)] if package.inventory.has_tools else []
    return (*own, *(mcp_server(plugin.name, server) for server in package.inventory.mcp_servers))


def owners(plugins: Iterable[ActivePlugin]) -> dict[str, str]:
    """Return the plugin behind each server, by the server's name."""
    return {name: plugin.name for plugin in plugins for name in server_names(plugin)}


def owner_of(tool: str, servers: Mapping[str, str]) -> str | None:
    """Return the plugin whose tool this is, None for a tool of nobody's. ``servers`` as :func:`owners` has them."""
    _, _, rest = tool.partition("mcp__")
    return servers.get(rest.partition("__")[0]) if rest else None
