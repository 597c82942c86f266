"""(f) What the walls cost: starting an agent and its first token, behind bubblewrap and as a plain process, in turn."""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from tests.support.platform import Chat, Platform, running_platform

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.storage.schema import migrate

KINDS = ("process", "bubblewrap")

_SHORT = "say exactly: Short answers show the overhead best."


async def measure(folder: Path, *, quick: bool) -> dict[str, Any]:
    """Measure both kinds side by side, one of each in turn and each first as often as second. Times in ms.

    Claude Code's own sandbox around commands is off: it costs nothing before a command runs.
    """
    starts, turns = (4, 4) if quick else (20, 30)
    urls = {kind: f"sqlite+aiosqlite:///{folder / kind}.db" for kind in KINDS}
    for url in urls.values():
        await migrate(url)
    settings = {"prewarm_pool_size": 0, "sandbox_enabled": False}
    async with (
        running_platform(urls["process"], folder / "process", isolation="process", **settings) as plain,
        running_platform(urls["bubblewrap"], folder / "bubblewrap", isolation="bubblewrap", **settings) as walled,
    ):
        platforms = {"process": plain, "bubblewrap": walled}
        return {
            "connect_ms": _compared(await _connects(platforms, starts)),
            "first_token_ms": _compared(await _first_tokens(platforms, turns)),
        }


def rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the figures as rows of the table; the columns are plain process and bubblewrap."""
    return [
        (
            f"{label} as plain process / behind walls, ms",
            str(figures[name]["process"]["median"]),
            str(figures[name]["bubblewrap"]["median"]),
            f"x {figures[name]['ratio_of_medians']}",
        )
        for name, label in (("connect_ms", "connect"), ("first_token_ms", "first token"))
    ]


async def _connects(platforms: dict[str, Platform], count: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {kind: [] for kind in platforms}
    for number in range(count + 1):
        # Each goes first half of the time, since what went before leaves the machine busy for a moment.
        for kind, platform in sorted(platforms.items(), reverse=bool(number % 2)):
            factory = platform.services.manager.processes
            begun = time.perf_counter()
            process = await factory.start_fresh(
                AgentProfile(), model="claude-sonnet-4-5", permission_mode="acceptEdits", primed=False
            )
            took = (time.perf_counter() - begun) * 1000
            await factory.discard(process)
            if number:
                times[kind].append(took)
    return times


async def _first_tokens(platforms: dict[str, Platform], count: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {kind: [] for kind in platforms}
    plain, walled = [await platforms[kind].chat() for kind in KINDS]
    async with plain, walled:
        chats = dict(zip(KINDS, (plain, walled), strict=True))
        for number in range(count + 3):
            for kind, chat in sorted(chats.items(), reverse=bool(number % 2)):
                took = await _first_token(chat)
                # The first ones of a process are slower for other reasons.
                if number >= 3:
                    times[kind].append(took)
    return times


async def _first_token(chat: Chat) -> float:
    begun = time.perf_counter()
    accepted = await chat.say(_SHORT)
    await chat.until_type(events.StreamEvent, turn_id=accepted.turn_id)
    took = (time.perf_counter() - begun) * 1000
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    # The platform's own bookkeeping after a turn must not fall into the other's.
    await asyncio.sleep(0.3)
    return took


def _compared(times: dict[str, list[float]]) -> dict[str, Any]:
    found = {
        kind: {
            "median": round(statistics.median(values), 1),
            "min": round(min(values), 1),
            "max": round(max(values), 1),
            "count": len(values),
        }
        for kind, values in times.items()
    }
    plain, walled = (found[kind]["median"] for kind in KINDS)
    return {**found, "ratio_of_medians": round(walled / plain, 3)}
