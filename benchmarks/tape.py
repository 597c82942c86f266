"""How fast the tape is: events per second through log and hub, against one ORM commit per event, and the delay.

``python -m benchmarks.tape [DATABASE_URL]`` measures one database (default: a new SQLite file) and prints JSON.
:func:`measure` is what the benchmark command calls.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import func, select

from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import AGENT
from claude_sdk_pattern.events.types import Event, StreamEvent, Text
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import migrate
from claude_sdk_pattern.storage.tables import EventRow, SessionRow, UserRow

# About what one piece of streamed text takes, so that an event is some 200 bytes of JSON.
_CONTENT = "x" * 120

# Appends between two looks at the event loop: a reader of a subprocess gets about this much at a time.
_BURST = 20

# Half of what may wait: full speed without being refused.
_MAX_WAITING = 2_000


async def measure(
    database_url: str,
    *,
    events: int = 20_000,
    naive_events: int = 300,
    paced_seconds: float = 10.0,
    paced_events_per_second: int = 100,
) -> dict[str, Any]:
    """Migrate and measure a database; it keeps the sessions that the measurement makes.

    Returns ``dialect``; ``events_per_second`` with ``1`` and ``20`` sessions, each with a subscriber that saw every
    event, and of ``naive`` single commits; ``times_faster_than_naive``; ``deltas_per_second`` for deltas, which join
    while they wait; ``latency_ms`` from append to delivery at a steady pace, ``p50`` and ``p99``.
    """
    await migrate(database_url)
    async with Database(database_url) as database:
        hub = EventHub(TapeReader(database))
        async with EventLog(database, hub) as log:
            one = await _throughput(database, hub, log, sessions=1, events=events)
            twenty = await _throughput(database, hub, log, sessions=20, events=events)
            deltas = await _delta_throughput(database, hub, log, events=events)
            latency = await _latency(
                database, hub, log, round(paced_seconds * paced_events_per_second), paced_events_per_second
            )
        naive = await _naive_throughput(database, naive_events)
    return {
        "dialect": database.dialect,
        "events_per_second": {"1": round(one), "20": round(twenty), "naive": round(naive)},
        "times_faster_than_naive": {"1": round(one / naive, 1), "20": round(twenty / naive, 1)},
        "deltas_per_second": round(deltas),
        "latency_ms": {name: round(value, 2) for name, value in latency.items()},
    }


async def _new_sessions(database: Database, how_many: int) -> list[str]:
    now, owner = datetime.now(UTC), str(uuid4())
    session_ids = [str(uuid4()) for _ in range(how_many)]
    async with database.sessions.begin() as session:
        session.add(UserRow(id=owner, username=owner, password_hash="", role="user", created_at=now))
        await session.flush()
        session.add_all(
            SessionRow(
                id=session_id,
                owner_id=owner,
                title="",
                model="",
                permission_mode="default",
                created_at=now,
                last_active_at=now,
            )
            for session_id in session_ids
        )
    return session_ids


async def _throughput(database: Database, hub: EventHub, log: EventLog, *, sessions: int, events: int) -> float:
    """Return events per second from the first append to the last delivery; deltas play no part, each event counts."""
    session_ids = await _new_sessions(database, sessions)
    each = events // sessions
    event = Text(block_id="b", content=_CONTENT)
    async with asyncio.TaskGroup() as group:
        seen = [group.create_task(_see(hub, session_id, each)) for session_id in session_ids]
        await asyncio.sleep(0)
        began = time.perf_counter()
        for number in range(each):
            for session_id in session_ids:
                log.append_nowait(session_id, event, turn_id="t", actor=AGENT)
            if number % max(1, _BURST // sessions) == 0:
                await asyncio.sleep(0)
            if number * sessions % _MAX_WAITING < sessions:
                await log.flush()
    took = time.perf_counter() - began
    assert [task.result() for task in seen] == [each] * sessions
    return each * sessions / took


async def _see(hub: EventHub, session_id: str, last_seq: int) -> int:
    """Read a session to its end as a client's connection does, frames included; return how many events came."""
    count = 0
    async with hub.subscribe(session_id) as subscription:
        async for batch in subscription:
            count += len([event.frame for event in batch])
            if subscription.last_seq >= last_seq:
                break
    return count


async def _delta_throughput(database: Database, hub: EventHub, log: EventLog, *, events: int) -> float:
    """Return deltas per second, joined or not, until a subscriber has all their text."""
    (session_id,) = await _new_sessions(database, 1)
    event = StreamEvent(block_id="b", kind="text", delta=_CONTENT)
    async with asyncio.TaskGroup() as group:
        group.create_task(_see_text(hub, session_id, events * len(_CONTENT)))
        await asyncio.sleep(0)
        began = time.perf_counter()
        for number in range(events):
            log.append_nowait(session_id, event, turn_id="t", actor=AGENT)
            if number % _BURST == 0:
                await asyncio.sleep(0)
            if number % _MAX_WAITING == 0:
                await log.flush()
    return events / (time.perf_counter() - began)


async def _see_text(hub: EventHub, session_id: str, characters: int) -> None:
    async with hub.subscribe(session_id) as subscription:
        async for batch in subscription:
            characters -= sum(len(json.loads(event.payload)["delta"]) for event in batch)
            if characters <= 0:
                return


async def _latency(database: Database, hub: EventHub, log: EventLog, events: int, per_second: int) -> dict[str, float]:
    """Append at a steady pace; return percentiles of the milliseconds until a subscriber had each event."""
    (session_id,) = await _new_sessions(database, 1)
    appended: list[float] = []
    delays: list[float] = []

    async def receive() -> None:
        async with hub.subscribe(session_id) as subscription:
            async for batch in subscription:
                now = time.perf_counter()
                delays.extend((now - appended[event.seq - 1]) * 1000 for event in batch)
                if len(delays) == events:
                    return

    async with asyncio.TaskGroup() as group:
        group.create_task(receive())
        began = time.perf_counter()
        for number in range(events):
            await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
            appended.append(time.perf_counter())
            log.append_nowait(session_id, Text(block_id="b", content=_CONTENT), turn_id="t", actor=AGENT)
    return {"p50": _percentile(delays, 50), "p99": _percentile(delays, 99)}


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


async def _naive_throughput(database: Database, events: int) -> float:
    """Return events per second when each is numbered and committed through the ORM on its own."""
    (session_id,) = await _new_sessions(database, 1)
    event: Event = Text(block_id="b", content=_CONTENT)
    began = time.perf_counter()
    for _ in range(events):
        async with database.sessions.begin() as session:
            last = await session.scalar(select(func.max(EventRow.seq)).where(EventRow.session_id == session_id))
            session.add(
                EventRow(
                    session_id=session_id,
                    seq=(last or 0) + 1,
                    type="text",
                    turn_id="t",
                    block_id="b",
                    client_id=None,
                    actor=AGENT,
                    ts_ms=time.time_ns() // 1_000_000,
                    payload=event.encode().decode(),
                )
            )
    return events / (time.perf_counter() - began)


async def _main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = arguments[0] if arguments else f"sqlite:///{Path(folder) / 'tape.db'}"
        print(json.dumps(await measure(url), indent=2))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
