"""The plugins folder: what lies there, and which of it changed since the last look."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - one of its parameters has no type

from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.folders import folder_fingerprint
from claude_sdk_pattern.plugins.package import PluginPackage

logger = structlog.get_logger(__name__)

# An editor or `git pull` writes many files; what is read in between is half of it.
_SETTLING_MS: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFolder:
    """A folder in the plugins folder. Equal fingerprints: nothing changed."""

    path: Path
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFolder:
    """What a folder turned out to be: a plugin, or no valid one, and why not."""

    folder: str
    package: PluginPackage | None = None
    problems: tuple[PluginProblem, ...] = ()


def scan(plugins_dir: Path) -> list[FoundFolder]:
    """Return the folders that may hold plugins. Those whose names begin with ``.`` or ``_`` are not looked at."""
    try:
        folders = sorted(path for path in plugins_dir.iterdir() if path.is_dir() and path.name[0] not in "._")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [FoundFolder(path=path, fingerprint=folder_fingerprint(path)) for path in folders]


def named(judged: Sequence[JudgedFolder], known: Mapping[str, str]) -> dict[str, JudgedFolder]:
    """Return what was found by the names of plugins.

    Of two with one name, the one whose folder is called so counts. One that cannot be read has the name it had
    before, by ``known``, or else that of its folder.
    """
    found: dict[str, JudgedFolder] = {}
    for one in sorted(judged, key=lambda one: (one.package is None or one.package.name != one.folder, one.folder)):
        name = known.get(one.folder, one.folder)[:64] if one.package is None else one.package.name
        if name not in found:
            found[name] = one
            continue
        problem = PluginProblem(
            file=".",
            message=f"says it is {name}, as the folder {found[name].folder} does",
            hint="give it another name, or remove one of them",
        )
        found.setdefault(one.folder[:64], JudgedFolder(folder=one.folder, problems=(problem,)))
    return found


async def looks(plugins_dir: Path, *, every_seconds: float) -> AsyncGenerator[bool]:
    """Yield whenever it is time to look: True at once after a change below the folder, False every few seconds.

    Where the system reports no changes, as on network file systems, there is only the second.
    """
    while True:
        if await asyncio.to_thread(plugins_dir.is_dir):
            try:
                async for changes in awatch(
                    plugins_dir, step=_SETTLING_MS, rust_timeout=int(every_seconds * 1000), yield_on_timeout=True
                ):
                    yield bool(changes)
                    if not await asyncio.to_thread(plugins_dir.is_dir):
                        break
            except OSError as error:
                # No more watches to be had, or a file system without them.
                logger.warning("plugins_not_watched", folder=str(plugins_dir), error=str(error))
        await asyncio.sleep(every_seconds)
        yield False
