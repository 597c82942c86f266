"""Plugins of our own format: a ``plugin.json`` with a ``manifest_version``, and the files it names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import MANIFEST_FILE, Manifest
from claude_sdk_pattern.plugins.manifest_reading import MAX_MANIFEST_BYTES, read_manifest
from claude_sdk_pattern.plugins.package import Inventory, PluginPackage
from claude_sdk_pattern.plugins.skill_format import skill_folders, skill_names, skill_problems

PYTHON_FOLDER = "python"
"""Where a plugin may keep its Python modules, instead of its root."""


def is_here(root: Path) -> bool:
    """Whether a folder holds a plugin of this format; the manifest may be wrong in every other way."""
    file = root / MANIFEST_FILE
    try:
        data: Any = json.loads(file.read_bytes()[:MAX_MANIFEST_BYTES])
    except (OSError, ValueError, RecursionError):
        # What is no JSON at all is ours where nothing else could be meant.
        return file.is_file() and not (root / ".claude-plugin").is_dir()
    return isinstance(data, dict) and "manifest_version" in cast("dict[str, Any]", data)


def read(root: Path, name: str, digest: str) -> PluginPackage:
    """Return the plugin. ``name`` is of no importance here: the manifest has one.

    Raises:
        InvalidPluginError: the manifest is wrong, or a file that it names is not there.
        OSError: a file cannot be read.
    """
    manifest = read_manifest((root / MANIFEST_FILE).read_bytes())
    if problems := [*_missing_files(root, manifest)]:
        raise InvalidPluginError(problems)
    skills = [folder for path in manifest.capabilities.skills for folder in skill_folders(root / path)]
    return PluginPackage(
        name=manifest.name,
        version=manifest.version,
        description=manifest.description,
        format="platform",
        root=root,
        digest=digest,
        manifest=manifest,
        inventory=Inventory(
            has_tools=manifest.capabilities.tools is not None,
            mcp_servers=tuple(sorted(manifest.capabilities.mcp_servers)),
            skills=skill_names(root, skills, manifest.name),
            folders=manifest.capabilities.folders,
            agents=tuple(sorted(manifest.agents)),
            hooks=tuple(sorted({hook.event for hook in manifest.hooks})),
            endpoints=manifest.capabilities.endpoints is not None,
            profiles=tuple(sorted(manifest.profiles)),
            ui=tuple(sorted({part.slot for part in manifest.ui})),
        ),
        permissions=manifest.permissions,
        dependencies=dict(manifest.dependencies),
        platform_version=manifest.platform_version,
        config_schema=dict(manifest.config_schema),
        warnings=tuple(problem for folder in skills for problem in skill_problems(root, folder)),
    )


def _missing_files(root: Path, manifest: Manifest) -> Iterator[PluginProblem]:
    for index, path in enumerate(manifest.capabilities.skills):
        if not skill_folders(root / path):
            yield _missing(f"capabilities.skills[{index}]", f"{path} holds no SKILL.md", f"write {path}/NAME/SKILL.md")
    for index, path in enumerate(manifest.capabilities.folders):
        if not (root / path).is_dir():
            yield _missing(f"capabilities.folders[{index}]", f"{path} is no folder", "make it, or leave it out")
    for where, prompted in _prompted(manifest):
        if prompted is not None and not (root / prompted).is_file():
            yield _missing(f"{where}.prompt_file", f"{prompted} is not there", "write the file, or use `prompt`")
    for index, part in enumerate(manifest.ui):
        if not (root / part.bundle).is_file():
            yield _missing(f"ui[{index}].bundle", f"{part.bundle} is not there", "build the bundle")
        if part.style is not None and not (root / part.style).is_file():
            yield _missing(f"ui[{index}].style", f"{part.style} is not there", "write the file, or leave `style` out")
    for where, module in _modules(manifest):
        if not _has_module(root, module):
            path = f"{module.replace('.', '/')}.py"
            yield _missing(where, f"there is no module {module}", f"write {path} or {PYTHON_FOLDER}/{path}")


def _prompted(manifest: Manifest) -> Iterator[tuple[str, str | None]]:
    yield from ((f"agents.{name}", agent.prompt_file) for name, agent in manifest.agents.items())
    yield from ((f"profiles.{name}", profile.prompt_file) for name, profile in manifest.profiles.items())


def _modules(manifest: Manifest) -> Iterator[tuple[str, str]]:
    if manifest.capabilities.tools is not None:
        yield "capabilities.tools.module", manifest.capabilities.tools.module
    if manifest.capabilities.endpoints is not None:
        yield "capabilities.endpoints.module", manifest.capabilities.endpoints.module
    for index, hook in enumerate(manifest.hooks):
        yield f"hooks[{index}].function", hook.function.partition(":")[0]


def _has_module(root: Path, module: str) -> bool:
    path = module.replace(".", "/")
    return any(
        (base / f"{path}.py").is_file() or (base / path / "__init__.py").is_file()
        for base in (root, root / PYTHON_FOLDER)
    )


def _missing(path: str, message: str, hint: str) -> PluginProblem:
    return PluginProblem(file=MANIFEST_FILE, path=path, message=message, hint=hint)
