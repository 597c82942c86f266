"""``python -m benchmarks [--quick]``: measure everything, print a table, and write the figures as JSON.

Every comparison is made in one run, turn about, on the scripted model: (a) first token and result through the
platform against a held SDK client, and the first message of a new session against a later one; (b) the delay that the
platform adds to each token at 50 tokens a second; (c) the same with 1, 10 and 100 viewers; (d) the tape by itself;
(e) what starting and waking cost, and being many and being long; (f) what the walls around an agent cost.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform as machine
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import claude_agent_sdk
from tests.support.postgres import running_postgres

from benchmarks import gate, isolation, life_cycle, neighbours, plugins, tape
from benchmarks.servers import RunningPlatform, running_model, running_platform
from benchmarks.turns import Talker, Timing, direct_client, platform_client

RESULTS = Path(__file__).parent / "results"

_PARTS = ("turns", "neighbours", "life_cycle", "isolation", "plugins", "tape")

# Of each kind in the comparison of turns.
_CONVERSATIONS = 4

# Comes as one burst of everything: what belongs to the end of an answer is on the way with its first token.
_SHORT = "say exactly: Short answers show the overhead best."
# As models answer: token by token.
_STREAMED = "stream 20 tokens at 50 tokens per second"


def main() -> None:
    """Run the benchmarks from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, to see that it works")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS, metavar="PART", help=f"of {_PARTS}")
    parser.add_argument("--turns", type=int, help="of each kind that are compared (30, or 6 if quick)")
    arguments = parser.parse_args()
    quick, parts = bool(arguments.quick), frozenset[str](arguments.only)
    turns: int = arguments.turns or (6 if quick else 30)
    # The same server that the tests start, so that one command measures all.
    with running_postgres() as postgres:
        postgres.create_database("benchmark")
        figures = asyncio.run(_run(parts, quick=quick, turns=turns, postgres_url=postgres.url("benchmark")))
    print(_table(figures))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.json"
    path.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"\nwritten to {path}")


async def _run(parts: Collection[str], *, quick: bool, turns: int, postgres_url: str) -> dict[str, Any]:
    figures: dict[str, Any] = {"machine": _machine()}
    with tempfile.TemporaryDirectory(prefix="csp-bench-") as folder:
        root = Path(folder)
        async with running_model() as model_url:
            if "turns" in parts:
                figures |= await _one_session(model_url, root, turns, tokens=50 if quick else 300)
            if "neighbours" in parts:
                figures["neighbours"] = await neighbours.measure(model_url, root / "neighbours", quick=quick)
            if "life_cycle" in parts:
                figures["life_cycle"] = await life_cycle.measure(model_url, root / "life-cycle", quick=quick)
        if "isolation" in parts:
            figures["isolation"] = await isolation.measure(root, quick=quick)
        if "plugins" in parts:
            figures["plugins"] = await plugins.measure(root / "plugins", quick=quick)
        if "tape" in parts:
            urls = (f"sqlite+aiosqlite:///{root / 'tape.db'}", postgres_url)
            figures["tape"] = [await tape.measure(url, **_tape_size(quick)) for url in urls]
    return figures


async def _one_session(model_url: str, root: Path, turns: int, *, tokens: int) -> dict[str, Any]:
    async with running_platform(model_url, root / "data", max_sessions="20") as server:
        return {
            "turns": await _turns(model_url, server, root / "direct", turns, _STREAMED),
            "burst_turns": await _turns(model_url, server, root / "direct-burst", turns, _SHORT),
            "new_session": await _new_sessions(server, max(3, turns // 3)),
            "token_delay": await _token_delay(model_url, server, root / "paced", tokens),
            "viewers": await _viewers(server, tokens),
            "gate": {**gate.measure(), "turn_ms": await gate.measure_turns(server, turns=max(5, turns // 3))},
        }


def _tape_size(quick: bool) -> dict[str, Any]:
    return {"events": 2_000, "naive_events": 50, "paced_seconds": 2.0} if quick else {}


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "system": f"{machine.system()} {machine.release()} {machine.machine()}",
        "python": machine.python_version(),
        "claude_agent_sdk": claude_agent_sdk.__version__,
        "load_before": os.getloadavg()[0],
    }


async def _turns(model_url: str, server: RunningPlatform, folder: Path, count: int, text: str) -> dict[str, Any]:
    """(a) Turns, one of each kind in turn, on conversations that are warm; several, for one agent process is quicker
    than the next by up to a tenth, whatever stands around it."""
    timings: dict[str, list[Timing]] = {"direct": [], "platform": []}
    async with contextlib.AsyncExitStack() as stack:
        pairs: list[dict[str, Talker]] = [
            {
                "direct": await stack.enter_async_context(direct_client(model_url, folder / str(number))),
                "platform": await stack.enter_async_context(platform_client(server)),
            }
            for number in range(_CONVERSATIONS)
        ]
        for talkers in pairs:
            for talker in talkers.values():
                for _ in range(3):
                    await talker.turn(text)
        for number in range(count):
            for name, talker in pairs[number % _CONVERSATIONS].items():
                timings[name].append(await talker.turn(text))
                # The platform's own bookkeeping after a turn must not fall into the other's.
                await asyncio.sleep(0.5)
    return _compared(timings, lambda timing: timing.first_token_ms, "first_token_ms") | _compared(
        timings, lambda timing: timing.result_ms, "result_ms"
    )


def _compared(timings: dict[str, list[Timing]], of: Callable[[Timing], float], name: str) -> dict[str, Any]:
    direct, platform = (_spread([of(timing) for timing in timings[kind]]) for kind in ("direct", "platform"))
    ratio = round(platform["median"] / direct["median"], 3)
    return {name: {"direct": direct, "platform": platform, "ratio_of_medians": ratio}}


async def _new_sessions(server: RunningPlatform, count: int) -> dict[str, Any]:
    """The first message of a new session on a warm process, against later ones of the same session."""
    first: list[float] = []
    later: list[float] = []
    for _ in range(count):
        async with platform_client(server) as talker:
            # The pool refills in the background; this is about a pool that is full.
            await asyncio.sleep(3)
            first.append((await talker.turn(_SHORT)).first_token_ms)
            await talker.turn(_SHORT)
            later += [(await talker.turn(_SHORT)).first_token_ms for _ in range(3)]
    new, old = _spread(first), _spread(later)
    return {
        "first_message_ms": new,
        "later_messages_ms": old,
        "ratio_of_medians": round(new["median"] / old["median"], 3),
    }


async def _token_delay(model_url: str, server: RunningPlatform, folder: Path, tokens: int) -> dict[str, Any]:
    """(b) How old each token is when it arrives, at 50 tokens a second."""
    text = f"stream {tokens} tokens at 50 tokens per second with timestamps"
    async with direct_client(model_url, folder) as direct, platform_client(server) as through:
        delays: dict[str, list[float]] = {"direct": [], "platform": []}
        for _ in range(2):
            delays["direct"] += (await direct.turn(text)).token_delays_ms
            delays["platform"] += (await through.turn(text)).token_delays_ms
    spreads = {name: _spread(values) for name, values in delays.items()}
    added = {key: round(spreads["platform"][key] - spreads["direct"][key], 2) for key in ("median", "p99")}
    return {**spreads, "added_ms": added}


async def _viewers(server: RunningPlatform, tokens: int) -> dict[str, Any]:
    """(c) The same with several viewers; of each token the delay at the viewer that got it last counts too."""
    text = f"stream {tokens} tokens at 50 tokens per second with timestamps"
    found: dict[str, Any] = {}
    for count in (1, 10, 100):
        async with contextlib.AsyncExitStack() as stack:
            writer = await stack.enter_async_context(platform_client(server))
            await writer.turn(_SHORT)
            viewers = [
                await stack.enter_async_context(platform_client(server, writer.session_id)) for _ in range(count - 1)
            ]
            watching: list[Awaitable[Timing]] = [viewer.watch() for viewer in viewers]
            timings = await asyncio.gather(writer.turn(text), *watching)
        delays = [delay for timing in timings for delay in timing.token_delays_ms]
        found[str(count)] = {**_spread(delays), "tokens_received": len(delays), "tokens_sent": tokens * count}
    return found


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 2),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 2),
        "min": round(ordered[0], 2),
        "max": round(ordered[-1], 2),
        "count": len(ordered),
    }


def _table(figures: dict[str, Any]) -> str:
    rows: list[tuple[str, str, str, str]] = [("what", "direct SDK", "platform", "ratio or difference")]
    if "turns" in figures:
        rows += _one_session_rows(figures)
    for name, part in (
        ("neighbours", neighbours),
        ("life_cycle", life_cycle),
        ("isolation", isolation),
        ("plugins", plugins),
    ):
        if name in figures:
            rows += part.rows(figures[name])
    for entry in figures.get("tape", ()):
        speed = entry["events_per_second"]
        rows.append(
            (
                f"tape on {entry['dialect']}, events/s",
                f"naive {speed['naive']:,.0f}",
                f"1 session {speed['1']:,.0f}, 20 {speed['20']:,.0f}",
                f"x {entry['times_faster_than_naive']['1']:.0f}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _one_session_rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    for kind, name, label in (
        ("turns", "first_token_ms", "first token, ms"),
        ("turns", "result_ms", "result, ms"),
        ("burst_turns", "first_token_ms", "first token, the answer in one burst, ms"),
        ("burst_turns", "result_ms", "result, the answer in one burst, ms"),
    ):
        entry = figures[kind][name]
        rows.append(
            (f"{label} (median)", _ms(entry["direct"]), _ms(entry["platform"]), f"x {entry['ratio_of_medians']}")
        )
    new = figures["new_session"]
    rows.append(
        (
            "first message of a new session, ms",
            f"later: {_ms(new['later_messages_ms'])}",
            _ms(new["first_message_ms"]),
            f"x {new['ratio_of_medians']}",
        )
    )
    delay = figures["token_delay"]
    rows += [
        (
            f"age of a token at 50/s, ms ({key})",
            str(delay["direct"][key]),
            str(delay["platform"][key]),
            f"+ {delay['added_ms'][key]} ms",
        )
        for key in ("median", "p99")
    ]
    for count, entry in figures["viewers"].items():
        rows.append((f"{count} viewers: age of a token, ms", "", f"{entry['median']} / p99 {entry['p99']}", ""))
    return rows + gate.rows(figures["gate"])


def _ms(spread: dict[str, float]) -> str:
    return f"{spread['median']}"


if __name__ == "__main__":
    main()
