"""Plugins of Claude Code's own format: ``.claude-plugin/plugin.json``, or its folders without one.

They are read for what they bring, and leniently: what Claude Code takes is not refused here. Whether it takes them is
asked of Claude Code itself; see :mod:`claude_sdk_pattern.plugins.cli_validation`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from claude_sdk_pattern.plugins import user_config
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import HOST_NAME, Permissions
from claude_sdk_pattern.plugins.manifest_reading import read_json
from claude_sdk_pattern.plugins.package import Inventory, PluginPackage
from claude_sdk_pattern.plugins.skill_format import (
    NO_VERSION,
    SKILL_FILE,
    checked_name,
    own_name,
    skill_folders,
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

_RUNS: Final = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`|^```!\s*(.+)", re.MULTILINE)
"""What Claude Code runs in a command or skill before the model is given it."""

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
    commands = _files(root, manifest.get("commands"), "commands")
    agents = _files(root, manifest.get("agents"), "agents")
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
            skills=tuple(sorted({called for _, called in skills})),
            commands=tuple(sorted({*_keys(manifest.get("commands")), *(called for _, called in commands)})),
            agents=tuple(sorted({_agent(file, called) for file, called in agents})),
            hooks=tuple(events),
            other=tuple(kind for kind, (path, key) in _OTHER.items() if key in manifest or (root / path).exists()),
        ),
        permissions=Permissions(
            tools=tuple(f"mcp__plugin_{name}_{server}__*" for server in servers),
            hosts=tuple(_hosts(manifest)),
            events=tuple(event for event in events if event in _SDK_EVENTS),  # pyright: ignore[reportArgumentType]
        ),
        dependencies=dict(_dependencies(manifest)),
        config_schema=user_config.config_schema(manifest.get("userConfig")),
        warnings=tuple(_warnings(root, manifest, [folder for folder, _ in skills], [file for file, _ in commands])),
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


def _skills(root: Path, manifest: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the folders of skills and their names: that of the folder, but for one that is pointed at itself."""
    found = {folder: folder.name for folder in skill_folders(root / "skills")}
    declared = [inside for path in _paths(manifest.get("skills")) if (inside := _inside(root, path)) is not None]
    for place in (root, *declared):
        if (place / SKILL_FILE).is_file():
            found.setdefault(place, own_name(place / SKILL_FILE) or place.name)
        elif place != root:
            found |= {folder: folder.name for folder in skill_folders(place)}
    yield from found.items()


def _keys(declared: Any) -> Iterator[str]:
    yield from cast("dict[str, Any]", declared) if isinstance(declared, dict) else {}


def _files(root: Path, declared: Any, folder: str) -> list[tuple[Path, str]]:
    """Return the Markdown files that are declared or lie in a folder, and their names, as in ``git:push``."""
    found: list[tuple[Path, str]] = []
    for path in [folder] if declared is None else _paths(declared):
        inside = _inside(root, path)
        if inside is not None and inside.is_file():
            found.append((inside, inside.stem))
        elif inside is not None:
            files = sorted(inside.rglob("*.md"))
            found += [(file, ":".join(file.relative_to(inside).with_suffix("").parts)) for file in files]
    return found


def _agent(file: Path, called: str) -> str:
    """Return the name of an agent: its own, below the folders it lies in."""
    above, separator, _ = called.rpartition(":")
    return f"{above}{separator}{own_name(file) or file.stem}"


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


def _warnings(
    root: Path, manifest: dict[str, Any], skills: list[Path], commands: list[Path]
) -> Iterator[PluginProblem]:
    for folder in skills:
        yield from skill_problems(root, folder)
    for file in (*(folder / SKILL_FILE for folder in skills), *commands):
        if (found := _RUNS.search(file.read_text("utf-8", "replace"))) is not None:
            yield PluginProblem(
                file=str(file.relative_to(root)),
                message=f"runs commands by itself when it is used: {(found[1] or found[2]).strip()[:100]}",
                hint="they run within the agent's walls, and the policy is not asked",
            )
    yield from user_config.secret_problems(manifest.get("userConfig"), file=MANIFEST)


def _text(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""
