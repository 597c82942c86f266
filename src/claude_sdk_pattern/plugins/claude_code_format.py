"""Plugins of Claude Code's own format: ``.claude-plugin/plugin.json``, or its folders without one.

They are read for what they bring, and leniently: what Claude Code takes is not refused here. Whether it takes them is
asked of Claude Code itself; see :mod:`claude_sdk_pattern.plugins.cli_validation`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import HOST_NAME, Permissions
from claude_sdk_pattern.plugins.manifest_reading import read_json
from claude_sdk_pattern.plugins.package import Inventory, PluginPackage
from claude_sdk_pattern.plugins.skill_format import (
    NO_VERSION,
    SKILL_FILE,
    checked_name,
    skill_folders,
    skill_names,
    skill_problems,
)
from claude_sdk_pattern.policy.hooks import HOOK_EVENTS

MANIFEST: Final = ".claude-plugin/plugin.json"

_PARTS: Final = ("skills", "commands", "agents", "hooks/hooks.json", ".mcp.json")
"""One of these makes a folder without a manifest a plugin."""

_OTHER: Final = {
    "lsp": (".lsp.json", "lspServers"),
    "output-styles": ("output-styles", "outputStyles"),
    "workflows": ("workflows", "workflows"),
    "monitors": ("monitors/monitors.json", "monitors"),
    "themes": ("themes", "themes"),
    "bin": ("bin", "binaries"),
    "channels": ("channels", "channels"),
}

_SDK_EVENTS: Final = frozenset[str](HOOK_EVENTS)


def is_here(root: Path) -> bool:
    """Whether a folder holds a plugin of this format."""
    return (root / MANIFEST).is_file() or any((root / part).exists() for part in _PARTS)


def read(root: Path, name: str, digest: str) -> PluginPackage:
    """Return the plugin; ``name`` counts if it has no manifest.

    Raises:
        InvalidPluginError: the manifest is no JSON object, or has no name that could be used.
        OSError: a file cannot be read.
    """
    manifest = _manifest(root)
    name = checked_name(str(manifest.get("name", name)), file=MANIFEST if manifest else ".")
    skills = [*_skills(root, manifest)]
    servers = sorted({server for part in _servers(root, manifest) for server in part})
    events = sorted({event for part in _hooks(root, manifest) for event in part})
    return PluginPackage(
        name=name,
        version=_text(manifest.get("version")) or NO_VERSION,
        description=_text(manifest.get("description"))[:2000],
        format="claude-code",
        root=root,
        digest=digest,
        inventory=Inventory(
            mcp_servers=tuple(servers),
            skills=skill_names(root, skills, name),
            commands=tuple(sorted(set(_named(root, manifest.get("commands"), "commands")))),
            agents=tuple(sorted(set(_named(root, manifest.get("agents"), "agents")))),
            hooks=tuple(events),
            other=tuple(kind for kind, (path, key) in _OTHER.items() if key in manifest or (root / path).exists()),
        ),
        permissions=Permissions(
            tools=tuple(f"mcp__plugin_{name}_{server}__*" for server in servers),
            hosts=tuple(_hosts(manifest)),
            events=tuple(event for event in events if event in _SDK_EVENTS),  # pyright: ignore[reportArgumentType]
        ),
        dependencies=dict(_dependencies(manifest)),
        warnings=tuple(_warnings(root, manifest, skills)),
    )


def _manifest(root: Path) -> dict[str, Any]:
    file = root / MANIFEST
    if not file.is_file():
        return {}
    data = read_json(file.read_bytes(), file=MANIFEST)
    if not isinstance(data, dict):
        raise InvalidPluginError([PluginProblem(file=MANIFEST, message="has to be an object", hint="write { ... }")])
    found = cast("dict[str, Any]", data)
    if "name" not in found:
        raise InvalidPluginError(
            [PluginProblem(file=MANIFEST, path="name", message="is missing", hint='write "name": "my-plugin"')]
        )
    return found


def _skills(root: Path, manifest: dict[str, Any]) -> Iterator[Path]:
    if (root / SKILL_FILE).is_file():
        yield root
    yield from (folder for folder in skill_folders(root / "skills") if folder != root)
    for path in _paths(manifest.get("skills")):
        if (inside := _inside(root, path)) is not None and inside != root:
            yield from skill_folders(inside)


def _named(root: Path, declared: Any, folder: str) -> Iterator[str]:
    """Yield names of commands or agents: a map's keys, or the Markdown files that are declared or lie in the folder."""
    if isinstance(declared, dict):
        yield from cast("dict[str, Any]", declared)
        return
    for path in _paths(declared) if declared is not None else [folder]:
        inside = _inside(root, path)
        if inside is None:
            continue
        if inside.is_file():
            yield inside.stem
        else:
            yield from (file.stem for file in inside.rglob("*.md") if file.stem != "README")


def _servers(root: Path, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield _servers_in(_json(root, ".mcp.json"))
    declared = manifest.get("mcpServers")
    for part in cast("list[Any]", declared) if isinstance(declared, list) else [declared]:
        if isinstance(part, dict):
            yield cast("dict[str, Any]", part)
        elif isinstance(part, str) and part.endswith(".json"):
            yield _servers_in(_json(root, part))


def _servers_in(data: dict[str, Any]) -> dict[str, Any]:
    servers = data.get("mcpServers", data)
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _hooks(root: Path, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield _events_in(_json(root, "hooks/hooks.json"))
    declared = manifest.get("hooks")
    for part in cast("list[Any]", declared) if isinstance(declared, list) else [declared]:
        if isinstance(part, dict):
            yield _events_in(cast("dict[str, Any]", part))
        elif isinstance(part, str):
            yield _events_in(_json(root, part))


def _events_in(data: dict[str, Any]) -> dict[str, Any]:
    events: Any = data.get("hooks", data)
    if not isinstance(events, dict):
        return {}
    return {event: groups for event, groups in cast("dict[str, Any]", events).items() if isinstance(groups, list)}


def _json(root: Path, path: str) -> dict[str, Any]:
    """Return the object in a file; nothing where there is none: whether that is an error Claude Code says."""
    file = _inside(root, path)
    if file is None or not file.is_file():
        return {}
    try:
        data = read_json(file.read_bytes(), file=path)
    except InvalidPluginError:
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _paths(declared: Any) -> list[str]:
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [path for path in cast("list[Any]", declared) if isinstance(path, str)]
    return []


def _inside(root: Path, path: str) -> Path | None:
    """Return a path of a manifest, or ``None`` if it leads out of the folder."""
    inside = (root / path).resolve()
    return inside if inside.is_relative_to(root) else None


def _hosts(manifest: dict[str, Any]) -> Iterator[str]:
    network = manifest.get("network")
    hosts: Any = cast("dict[str, Any]", network).get("hosts") if isinstance(network, dict) else None
    # What is no name of a host, Claude Code only shows; here it opens nothing.
    yield from (host.lower() for host in _paths(hosts) if HOST_NAME.fullmatch(host.lower()))


def _dependencies(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    declared = manifest.get("dependencies")
    for part in cast("list[Any]", declared) if isinstance(declared, list) else []:
        if isinstance(part, str):
            yield part, "*"
        elif isinstance(part, dict) and isinstance(cast("dict[str, Any]", part).get("name"), str):
            known = cast("dict[str, Any]", part)
            yield known["name"], _text(known.get("version")) or "*"


def _warnings(root: Path, manifest: dict[str, Any], skills: list[Path]) -> Iterator[PluginProblem]:
    for folder in skills:
        yield from skill_problems(root, folder)
    if manifest.get("userConfig"):
        yield PluginProblem(
            file=MANIFEST, path="userConfig", message="is not used here: parts that need its values will not work"
        )


def _text(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""
