"""(i) One person's many turns beside another's few: what the others wait for them."""

import asyncio
import contextlib
import statistics
from pathlib import Path
from typing import Any

from benchmarks.servers import RunningPlatform, running_platform
from benchmarks.turns import Through, platform_client

_SHORT = "say exactly: Short answers show the overhead best."
_LONG = "stream 50 tokens at 50 tokens per second"
_PATIENCE_SECONDS = 180.0


async def measure(model_url: str, folder: Path, *, quick: bool) -> dict[str, Any]:
    """Measure one person's first tokens alone, and while another begins 50 turns in as many sessions, ten times."""
    rounds, turns = (3, 10) if quick else (10, 50)
    alone: list[float] = []
    beside: list[float] = []
    # What an operator sets who has more people than slots.
    async with (
        running_platform(model_url, folder, max_sessions_per_user="4") as server,
        contextlib.AsyncExitStack() as stack,
    ):
        quiet = await stack.enter_async_context(platform_client(server))
        for _ in range(rounds + 2):
            alone.append((await quiet.turn(_SHORT)).first_token_ms)
            await asyncio.sleep(0.5)
        crowd = [await stack.enter_async_context(_other(server)) for _ in range(turns)]
        noise = asyncio.gather(*(talker.turn(_LONG, patience=_PATIENCE_SECONDS) for talker in crowd))
        while len(beside) < rounds and not noise.done():
            await asyncio.sleep(0.5)
            beside.append((await quiet.turn(_SHORT)).first_token_ms)
        overlapped = not noise.done()
        await noise
    if not overlapped:
        raise RuntimeError("the many turns ended too early to be measured beside")
    medians = statistics.median(alone[2:]), statistics.median(beside)
    return {
        "turns": turns,
        "alone_ms": round(medians[0], 1),
        "beside_ms": round(medians[1], 1),
        "ratio_of_medians": round(medians[1] / medians[0], 2),
    }


def _other(server: RunningPlatform) -> contextlib.AbstractAsyncContextManager[Through]:
    return platform_client(server, access_token=server.other_access_token)


def rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the figures as rows of the table."""
    label = f"first token beside {figures['turns']} turns of somebody else, ms"
    alone, beside = (str(figures[name]) for name in ("alone_ms", "beside_ms"))
    return [(label, f"alone: {alone}", beside, f"x {figures['ratio_of_medians']}")]
