"""Plugins for tests: folders of every format, archives of every kind, and a registry with an activator that tells."""

import contextlib
import io
import json
import zipfile
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.plugins.errors import ActivationError
from claude_sdk_pattern.plugins.judging import PackageJudge
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.registry import PluginRegistry
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.storage.database import Database

SECRET_KEY = "canary-signing-key-" + "0" * 32

SKILL = "---\nname: greeting\ndescription: Says hello the way it is done here.\n---\nSay hello.\n"


def manifest(name: str = "weather", **changes: Any) -> dict[str, Any]:
    """Return a valid manifest of a tool plugin, with changes."""
    return {
        "manifest_version": "1",
        "name": name,
        "version": "1.0.0",
        "description": "Tells the weather.",
        "type": "tool",
        "capabilities": {"tools": {"module": "tools"}},
        "permissions": {"tools": [f"mcp__{name}__*"]},
    } | changes


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, and return it."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def write_plugin(folder: Path, name: str = "weather", **changes: Any) -> Path:
    """Write a plugin of our own format into a folder named after it, and return that."""
    files = {"plugin.json": json.dumps(manifest(name, **changes)), "tools.py": f"NAME = {name!r}\n"}
    return write_files(folder / name, files)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of some files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


_WORKING_TOOL = """
from claude_agent_sdk import tool

@tool("forecast", "Say what the weather will be.", {})
async def forecast(arguments):
    return {"content": [{"type": "text", "text": "rain"}]}
"""


def zipped_plugin(name: str = "weather", **changes: Any) -> bytes:
    """Return an archive of a plugin of our own format, with a tool that works."""
    return zipped({"plugin.json": json.dumps(manifest(name, **changes)), "tools.py": _WORKING_TOOL})


@dataclass
class TellingActivator:
    """An activator that starts nothing, remembers what it was told, and fails where it is made to."""

    at_work: dict[str, ActivePlugin] = field(default_factory=dict[str, ActivePlugin])
    told: list[str] = field(default_factory=list[str])
    fails_check: dict[str, str] = field(default_factory=dict[str, str])
    fails_start: dict[str, str] = field(default_factory=dict[str, str])
    on_check: Callable[[ActivePlugin], Any] | None = None
    on_start: Callable[[ActivePlugin], Any] | None = None

    async def check(self, plugin: ActivePlugin, others: PluginSet) -> None:
        """Fail for the plugins in ``fails_check``."""
        self.told.append(f"check {plugin.name} {plugin.package.version}")
        if self.on_check is not None:
            await self.on_check(plugin)
        if plugin.name in self.fails_check:
            raise ActivationError(self.fails_check[plugin.name])

    async def started(self, plugin: ActivePlugin) -> None:
        """Fail for the plugins in ``fails_start``."""
        self.told.append(f"start {plugin.name} {plugin.package.version}")
        if self.on_start is not None:
            await self.on_start(plugin)
        if plugin.name in self.fails_start:
            raise ActivationError(self.fails_start[plugin.name])
        self.at_work[plugin.name] = plugin

    async def stopped(self, plugin: ActivePlugin) -> None:
        """Remember it."""
        self.told.append(f"stop {plugin.name}")
        self.at_work.pop(plugin.name, None)


@dataclass(kw_only=True)
class Deployment:
    """A server's plugins, with a folder to put some into."""

    registry: PluginRegistry
    activator: TellingActivator
    folder: Path

    def statuses(self, overviews: Any) -> dict[str, str]:
        """Return status by name."""
        return {one.record.name: one.record.status.value for one in overviews}

    async def seen(self) -> dict[str, str]:
        """Return the status of every plugin."""
        return self.statuses(await self.registry.overview())


def make_registry(
    database: Database, audit: AuditLog, folder: Path, data_dir: Path, activator: TellingActivator, **options: Any
) -> PluginRegistry:
    """Return a registry that is not open yet. Claude Code is not asked about plugins unless ``validate`` says so."""
    validate = options.pop("validate", None)
    return PluginRegistry(
        database,
        store=PackageStore(database, data_dir / "plugins"),
        secrets=SecretStore(database, secret_key=SECRET_KEY),
        judge=PackageJudge(platform_version="0.1.0", validate=validate),
        audit=audit,
        plugins_dir=folder,
        activators=[activator],
        activation_timeout_seconds=options.pop("activation_timeout_seconds", 10.0),
        **options,
    )


@contextlib.asynccontextmanager
async def deployed(database: Database, folder: Path, data_dir: Path, **options: Any) -> AsyncGenerator[Deployment]:
    """Run a registry as a server does."""
    activator = options.pop("activator", None) or TellingActivator()
    async with AuditLog(database) as audit:
        registry = make_registry(database, audit, folder, data_dir, activator, **options)
        async with registry:
            yield Deployment(registry=registry, activator=activator, folder=folder)
