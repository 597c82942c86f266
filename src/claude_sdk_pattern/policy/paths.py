"""Whether the files a call names lie inside its session."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from claude_sdk_pattern.policy.calls import GateContext, JsonObject

type Access = Literal["read", "write"]

# The fields of Claude Code's file tools that name files. `Glob` and `Grep` look in `path`, by default the workspace.
_FIELDS: dict[str, Sequence[tuple[str, Access]]] = {
    "Read": (("file_path", "read"),),
    "NotebookRead": (("notebook_path", "read"),),
    "LS": (("path", "read"),),
    "Glob": (("path", "read"),),
    "Grep": (("path", "read"),),
    "Write": (("file_path", "write"),),
    "Edit": (("file_path", "write"),),
    "MultiEdit": (("file_path", "write"),),
    "NotebookEdit": (("notebook_path", "write"),),
}

# Fields with a pattern of files, which can climb out of the folder it begins in.
_PATTERNS: dict[str, tuple[str, ...]] = {"Glob": ("pattern",), "Grep": ("glob",)}

# Names of fields that hold a path in the tools of others.
_LIKELY = ("path", "file", "directory", "folder", "filename")

_WILDCARDS = frozenset("*?[{")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPath:
    """A path that a call names: as it was given, and where it leads when every link is followed."""

    given: str
    resolved: Path | None
    """None: it leads nowhere that can be told."""
    access: Access


def named_paths(
    tool: str, tool_input: JsonObject, context: GateContext, *, default: Access = "read"
) -> list[NamedPath]:
    """Return the paths in a call's input. ``default`` is what a tool that is not known here does with its files."""
    fields = _FIELDS.get(tool, [(name, default) for name in tool_input if name.lower().endswith(_LIKELY)])
    found = [
        NamedPath(given=given, resolved=resolve(given, context), access=access)
        for name, access in fields
        for given in _strings(tool_input.get(name))
    ]
    for name in _PATTERNS.get(tool, ()):
        for pattern in _strings(tool_input.get(name)):
            found += _of_pattern(pattern, _strings(tool_input.get("path")), context)
    return found


def resolve(given: str, context: GateContext) -> Path | None:
    """Return where a path leads, seen from the workspace, with all links followed; None if that cannot be told."""
    if "\0" in given:
        return None
    if given == "~" or given.startswith("~/"):
        if context.home is None:
            return None
        given = str(context.home) + given[1:]
    elif given.startswith("~"):
        return None
    try:
        return Path(os.path.realpath(os.path.join(context.workspace, given)))
    except (OSError, ValueError):
        return None


def is_inside(path: Path | None, context: GateContext, access: Access) -> bool:
    """Whether a resolved path belongs to the session, or to what the session may use besides."""
    if path is None:
        return False
    roots = [context.workspace, *context.writable, *(context.readable if access == "read" else ())]
    return any(path.is_relative_to(os.path.realpath(root)) for root in roots)


def shown(path: NamedPath, context: GateContext) -> str:
    """Return a path as rules see it: from the workspace on if it lies there, else the whole."""
    if path.resolved is None:
        return path.given
    workspace = os.path.realpath(context.workspace)
    if path.resolved.is_relative_to(workspace):
        return str(path.resolved.relative_to(workspace))
    return str(path.resolved)


def _of_pattern(pattern: str, folders: list[str], context: GateContext) -> Iterator[NamedPath]:
    """Yield what a pattern begins with, and the pattern itself as a path to nowhere if it climbs later on."""
    parts = PurePosixPath(pattern).parts
    fixed: list[str] = []
    for part in parts:
        if _WILDCARDS & set(part):
            break
        fixed.append(part)
    base = os.path.join(folders[0] if folders else "", *fixed) if fixed else ""
    if base:
        yield NamedPath(given=pattern, resolved=resolve(base, context), access="read")
    if ".." in parts[len(fixed) :] or "\0" in pattern or ("{" in pattern and ".." in pattern):
        yield NamedPath(given=pattern, resolved=None, access="read")


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str) and item]  # pyright: ignore[reportUnknownVariableType]
    return []
