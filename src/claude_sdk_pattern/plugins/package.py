"""A plugin as it lies in a folder: a value that says what it is and what it brings, whatever its format."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.manifest import Manifest, Permissions

PluginFormat = Literal["platform", "claude-code", "skills"]
"""``platform``: our ``plugin.json``. ``claude-code``: Claude Code's layout. ``skills``: bare ``SKILL.md`` folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a plugin brings, by name. Tools are not here: what a server offers is known when it runs.

    Attributes:
        has_tools: it has Python tools of its own.
        folders: those that agents may read.
        hooks: the events its hooks are for, without repetition.
        other: parts of Claude Code's format that only its terminal uses, such as ``lsp``, ``monitors``, ``themes``.
    """

    has_tools: bool = False
    mcp_servers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    endpoints: bool = False
    profiles: tuple[str, ...] = ()
    ui: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPackage:
    """A plugin in a folder, read and found valid.

    Attributes:
        root: absolute path of the folder.
        digest: SHA-256 of all its files, in hex: equal digests are equal plugins.
        manifest: of our own format; ``None`` for the others.
        dependencies: names of plugins it needs, and the range of versions.
        platform_version: range of versions of this server it works with.
        permissions: what it declares, or what its parts amount to in the other formats.
        config_schema: JSON Schema of its configuration; empty for none.
        warnings: what is odd and no reason to refuse it.
    """

    name: str
    version: str
    description: str = ""
    format: PluginFormat
    root: Path
    digest: str
    manifest: Manifest | None = None
    inventory: Inventory = Inventory()
    permissions: Permissions = field(default_factory=Permissions)
    dependencies: dict[str, str] = field(default_factory=dict[str, str])
    platform_version: str = "*"
    config_schema: dict[str, object] = field(default_factory=dict[str, object])
    warnings: tuple[PluginProblem, ...] = ()
