"""Bare skills: a folder with a ``SKILL.md``, or a folder of such folders. The other formats use it for theirs."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import yaml

from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.package import Inventory, PluginPackage

SKILL_FILE: Final = "SKILL.md"

PLUGIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\.[A-Za-z0-9_-]{1,32}){0,3}")
"""Names that can stand in a path and in front of a skill; Claude Code advises lower-case letters and hyphens."""

NO_VERSION: Final = "0.0.0"

_FRONTMATTER: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)

_MAX_SKILL_BYTES: Final = 1_048_576


def is_here(root: Path) -> bool:
    """Whether a folder is a skill, or holds nothing but folders of skills and files beside them."""
    return bool(skill_folders(root))


def skill_folders(root: Path) -> list[Path]:
    """Return the skills in a folder: itself if it is one, otherwise those of its folders that are."""
    if (root / SKILL_FILE).is_file():
        return [root]
    try:
        return sorted(path for path in root.iterdir() if (path / SKILL_FILE).is_file())
    except OSError:
        return []


def read(root: Path, name: str, digest: str) -> PluginPackage:
    """Return the plugin that these skills are.

    Raises:
        InvalidPluginError: the folder's name cannot be a plugin's.
        OSError: a file cannot be read.
    """
    checked_name(name, file=".")
    folders = skill_folders(root)
    first = frontmatter((folders[0] / SKILL_FILE).read_bytes()[:_MAX_SKILL_BYTES])
    metadata = first.get("metadata")
    version: Any = cast("dict[str, Any]", metadata).get("version") if isinstance(metadata, dict) else None
    return PluginPackage(
        name=name,
        version=str(version or NO_VERSION)[:64],
        description=str(first.get("description") or "")[:2000] if folders == [root] else "",
        format="skills",
        root=root,
        digest=digest,
        inventory=Inventory(skills=skill_names(root, folders, name)),
        warnings=tuple(problem for folder in folders for problem in skill_problems(root, folder)),
    )


def checked_name(name: str, *, file: str) -> str:
    """Return a plugin's name.

    Raises:
        InvalidPluginError: it cannot stand in a path or in front of a skill.
    """
    if not PLUGIN_NAME.fullmatch(name):
        raise InvalidPluginError(
            [
                PluginProblem(
                    file=file,
                    path="" if file == "." else "name",
                    message=f"{name[:80]!r} cannot be the name of a plugin",
                    hint="write letters, digits and hyphens, such as my-plugin",
                )
            ]
        )
    return name


def skill_names(root: Path, folders: Iterable[Path], plugin: str) -> tuple[str, ...]:
    """Return the names of skills, in order: those of their folders, for whatever a ``SKILL.md`` says of itself.

    The plugin's own folder has its name, as in the copy that Claude Code is given.
    """
    return tuple(sorted({plugin if folder == root else folder.name for folder in folders}))


def own_name(file: Path) -> str | None:
    """Return what a Markdown file with a frontmatter calls itself, as Claude Code writes it; None for nothing."""
    called = frontmatter(file.read_bytes()[:_MAX_SKILL_BYTES]).get("name")
    return re.sub(r"\s+", "-", called.strip()) if isinstance(called, str) and called.strip() else None


def skill_problems(root: Path, folder: Path) -> Iterator[PluginProblem]:
    """Yield what will keep people from finding a skill. Claude Code loads it nevertheless."""
    file = str((folder / SKILL_FILE).relative_to(root))
    text = (folder / SKILL_FILE).read_bytes()[:_MAX_SKILL_BYTES]
    found = frontmatter(text)
    if not found:
        yield PluginProblem(
            file=file, message="has no frontmatter", hint="begin it with ---, name, description and ---"
        )
    elif not found.get("description"):
        yield PluginProblem(
            file=file,
            path="description",
            message="is missing",
            hint="say when the skill is of use",
        )


def frontmatter(text: bytes) -> dict[str, Any]:
    """Return the YAML between ``---`` at the beginning of a Markdown file; nothing if there is none to be read."""
    found = _FRONTMATTER.match(text.decode("utf-8-sig", "replace"))
    if found is None:
        return {}
    try:
        data = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        # Claude Code is more forgiving, with colons in descriptions above all.
        return dict(re.findall(r"^([\w-]+):[ \t]*(\S.*?)[ \t]*$", found[1], re.MULTILINE))
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}
