"""Gives a plugin the shape in which Claude Code loads it: a copy with a ``.claude-plugin/plugin.json``.

Claude Code loads folders of its own format as they are. Bare skills, and the skills of our own format, need a manifest
that says where they are.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.folders import IGNORED_FOLDERS
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.skill_format import skill_folders

NATIVE_MANIFEST: Final = ".claude-plugin/plugin.json"


def is_native(package: PluginPackage) -> bool:
    """Whether Claude Code can be given the plugin's own folder."""
    return package.format == "claude-code" and (package.root / NATIVE_MANIFEST).is_file()


def write_native_copy(package: PluginPackage, target: Path) -> None:
    """Write what Claude Code shall see of a plugin into a new folder.

    Of a plugin of our own format that is its skills. Files are linked where the file system allows it: the copy is to
    be read, never written to.

    Raises:
        OSError: the target is there already, or cannot be written.
    """
    target.mkdir(parents=True)
    manifest: dict[str, Any] = {"name": package.name, "version": package.version}
    if package.description:
        manifest["description"] = package.description
    if package.format == "claude-code":
        _copy(package.root, target)
    else:
        paths = package.manifest.capabilities.skills if package.manifest else (".",)
        folders = [folder for path in paths for folder in skill_folders(package.root / path)]
        for folder in folders:
            # A single skill may be called otherwise than its folder.
            name = package.name if folder == package.root else folder.name
            _copy(folder, target / "skills" / name)
    if not (target / NATIVE_MANIFEST).exists():
        (target / NATIVE_MANIFEST).parent.mkdir()
        (target / NATIVE_MANIFEST).write_text(json.dumps(manifest))


def _copy(source: Path, target: Path) -> None:
    ignored = shutil.ignore_patterns(*IGNORED_FOLDERS)
    shutil.copytree(source, target, symlinks=True, ignore=ignored, copy_function=_link_or_copy, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
