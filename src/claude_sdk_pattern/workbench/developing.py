"""Keeps a plugin that somebody is working on active, as it is at each moment: what changes is put to work at once."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - one of its parameters has no type

from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.plugins.errors import InvalidConfigError, InvalidPluginError, PluginError
from claude_sdk_pattern.plugins.folders import IGNORED_FOLDERS

type Say = Callable[[str], None]

_ACTOR: Final = "author"

# An editor writes a file in several steps, and `git` several files.
_SETTLING_MS: Final = 300


@contextlib.asynccontextmanager
async def kept_active(services: Services, *, folder: Path, config: Mapping[str, Any], say: Say) -> AsyncGenerator[None]:
    """Activate the plugin in a folder, and again whenever it changes, until the end; ``say`` is told what came of it.

    What is not valid or does not start is refused, and the version before stays at work. Sessions keep the version they
    began with.
    """
    task = asyncio.create_task(_keep_active(services, folder, config, say), name="plugin-dev")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _keep_active(services: Services, folder: Path, config: Mapping[str, Any], say: Say) -> None:
    known: str | None = None
    # Watched from before it is read: what changes in between is noticed.
    changes = awatch(folder, step=_SETTLING_MS, rust_timeout=500, yield_on_timeout=True)
    is_news = True
    async for changed in changes:
        is_news = is_news or any(not IGNORED_FOLDERS & set(Path(path).parts) for _, path in changed)
        if is_news:
            known = await _put_to_work(services, folder, config, say, known)
            is_news = False


async def _put_to_work(
    services: Services, folder: Path, config: Mapping[str, Any], say: Say, known: str | None
) -> str | None:
    """Activate what is in the folder now; return its digest, or the one before if it is refused."""
    registry = services.plugins
    try:
        found = (
            await registry.install_folder(folder, actor=_ACTOR, source="upload", origin=folder.name, name=folder.name)
        ).record
        if found.digest == known:
            return known
        if config:
            await registry.configure(found.name, config, actor=_ACTOR)
        active = (await registry.activate(found.name, actor=_ACTOR)).record
    except (InvalidPluginError, InvalidConfigError) as error:
        say("\n".join(["refused:", *(f"  {problem}" for problem in error.problems)]))
        return known
    except (PluginError, OSError) as error:
        say(f"refused: {error}")
        return known
    tools = ", ".join(tool.name for tool in services.plugin_runtime.tools_of(active.name))
    say(f"{active.name} {active.running_version} is active in new conversations" + (f": {tools}" if tools else ""))
    return found.digest
