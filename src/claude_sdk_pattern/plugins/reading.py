"""Reads the plugin in a folder, whichever of the formats it has."""

from pathlib import Path

from claude_sdk_pattern.plugins import claude_code_format, platform_format, skill_format
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.folders import folder_digest
from claude_sdk_pattern.plugins.package import PluginFormat, PluginPackage

_READERS = {
    "platform": platform_format.read,
    "claude-code": claude_code_format.read,
    "skills": skill_format.read,
}


def read_package(root: Path, *, name: str | None = None) -> PluginPackage:
    """Return the plugin in a folder. Nothing of it is executed.

    Args:
        root: the folder.
        name: of a plugin that does not say its own; by default the folder's.

    Raises:
        InvalidPluginError: it is none; ``problems`` are all that were found.
    """
    root = root.resolve()
    kind = plugin_format(root)
    if kind is None:
        hint = "put a plugin.json there, a .claude-plugin/plugin.json, or a folder with a SKILL.md"
        if (root / ".claude-plugin" / "marketplace.json").is_file():
            hint = "it is a marketplace: name it in CLAUDE_SDK_PATTERN_MARKETPLACES, or upload it as one"
        raise InvalidPluginError([PluginProblem(file=".", message="is no plugin", hint=hint)])
    try:
        return _READERS[kind](root, name or root.name, folder_digest(root))
    except OSError as error:
        file = Path(error.filename).name if isinstance(error.filename, str) else "."
        raise InvalidPluginError(
            [PluginProblem(file=file, message=f"cannot be read: {error.strerror or error}")]
        ) from error


def plugin_format(root: Path) -> PluginFormat | None:
    """Return what format the plugin in a folder has; ``None`` if it is no plugin."""
    if platform_format.is_here(root):
        return "platform"
    if claude_code_format.is_here(root):
        return "claude-code"
    if skill_format.is_here(root):
        return "skills"
    # A plugin.json without a version of its own can only be meant as ours: its reader says what is missing.
    return "platform" if (root / "plugin.json").is_file() else None
