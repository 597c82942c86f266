"""Gives a plugin the shape in which Claude Code loads it: a copy with a ``.claude-plugin/plugin.json``.

Claude Code loads folders of its own format as they are. Bare skills, and the skills of our own format, need a manifest
that says where they are.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.folders import IGNORED_FOLDERS
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.skill_format import skill_folders

NATIVE_MANIFEST: Final = ".claude-plugin/plugin.json"

READABLE_FOLDERS: Final = "folders"
"""Where in such a copy the folders are that agents may read; Claude Code looks for nothing there."""


def is_native(package: PluginPackage) -> bool:
    """Whether Claude Code can be given the plugin's own folder."""
    return package.format == "claude-code" and (package.root / NATIVE_MANIFEST).is_file()


def write_native_copy(package: PluginPackage, target: Path) -> None:
    """Write what Claude Code shall see of a plugin into a new folder.

    Of a plugin of our own format that is its skills and the folders that agents may read. Files are linked where the
    file system allows it: the copy is to be read, never written to.

    Raises:
        OSError: the target is there already, or cannot be written.
    """
    target.mkdir(parents=True)
    manifest: dict[str, Any] = {"name": package.name, "version": package.version}
    if package.description:
        manifest["description"] = package.description
    if package.format == "claude-code":
        copy_linked(package.root, target)
    else:
        for name, folder in native_skills(package):
            copy_linked(folder, target / "skills" / name)
        for path in package.inventory.folders:
            copy_linked(package.root / path, target / READABLE_FOLDERS / path)
    if not (target / NATIVE_MANIFEST).exists():
        (target / NATIVE_MANIFEST).parent.mkdir()
        (target / NATIVE_MANIFEST).write_text(json.dumps(manifest))


def native_skills(package: PluginPackage) -> Iterator[tuple[str, Path]]:
    """Yield the names and folders of the skills of a plugin that is not in Claude Code's format."""
    paths = package.manifest.capabilities.skills if package.manifest else (".",)
    for folder in (folder for path in paths for folder in skill_folders(package.root / path)):
        # A single skill may be called otherwise than its folder.
        yield package.name if folder == package.root else folder.name, folder


def copy_linked(source: Path, target: Path) -> None:
    """Copy a plugin's files into a folder. They are linked where the file system allows it.

    Raises:
        OSError: a file cannot be read or written.
    """
    ignored = shutil.ignore_patterns(*IGNORED_FOLDERS)
    shutil.copytree(source, target, symlinks=True, ignore=ignored, copy_function=_link_or_copy, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
