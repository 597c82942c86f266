"""What a plugin turns out to be when it is activated for a moment: what it really offers, and what it may do."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.runtime.runtime import OfferedTool
from claude_sdk_pattern.workbench.bench import Bench, running_bench

START_SECONDS: Final = 20.0
"""How long each server of a plugin may take to be there. On the author's machine nothing else is waited for."""

_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A plugin that could be activated.

    Attributes:
        package: what it is, and what it declares.
        tools: what its Python and its servers offer.
        trouble: what did not work although it could be activated.
    """

    package: PluginPackage
    tools: tuple[OfferedTool, ...]
    trouble: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it as an object for programs."""
        package = self.package
        return {
            "name": package.name,
            "version": package.version,
            "format": package.format,
            "digest": package.digest,
            "tools": [asdict(tool) for tool in self.tools],
            "inventory": asdict(package.inventory),
            "permissions": package.permissions.model_dump(mode="json"),
            "dependencies": package.dependencies,
            "warnings": [asdict(warning) for warning in package.warnings],
            "trouble": self.trouble,
        }


async def inspect(folder: Path, config: Mapping[str, Any], *, start_seconds: float = START_SECONDS) -> Inspection:
    """Activate the plugin in a folder on a platform of its own and return what is found.

    Args:
        folder: the plugin's.
        config: values of its configuration, secrets among them.
        start_seconds: how long each of its servers may take to be there.

    Raises:
        InvalidPluginError, InvalidConfigError: it, or the configuration, is not valid.
        ActivationError: it cannot be imported or started, or takes longer than it may.
    """
    async with running_bench(
        plugin_start_timeout_seconds=start_seconds, plugin_activation_timeout_seconds=2 * start_seconds
    ) as bench:
        registry, runtime = bench.services.plugins, bench.services.plugin_runtime
        name = await bench.activate(folder, config)
        overview = await registry.find(name)
        assert overview.package is not None  # noqa: S101 - it is active
        # What is kept is read anew, without what Claude Code said of it.
        package = replace(overview.package, warnings=overview.record.warnings)
        if package.format == "claude-code" and package.inventory.mcp_servers:
            await _have_claude_code_start_them(bench, name, start_seconds)
        trouble = (await registry.find(name)).record.trouble
        return Inspection(package=package, tools=runtime.tools_of(name), trouble=trouble)


async def _have_claude_code_start_them(bench: Bench, name: str, seconds: float) -> None:
    """Let Claude Code tell the tools of servers that it starts, as it does at the first turn after they are there."""
    with contextlib.suppress(TimeoutError):
        async with bench.chat() as chat, asyncio.timeout(seconds):
            while True:
                await chat.ask("say exactly: here")
                if bench.services.plugin_runtime.tools_of(name):
                    return
                await asyncio.sleep(_PAUSE_SECONDS)
