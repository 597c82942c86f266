"""A log and a hub on a database, and short ways to fill and read them."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import text

from claude_sdk_pattern.events.hub import EventHub, HubLimits, Subscription
from claude_sdk_pattern.events.log import EventLog, LogLimits
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent, user_actor
from claude_sdk_pattern.events.types import Event, Result, StreamEvent, Text, UserMessage
from claude_sdk_pattern.storage.database import Database

WAIT_SECONDS = 20
"""Longest that a test waits for something that should happen at once."""

USER = user_actor("owner")


@dataclass(frozen=True, slots=True)
class Tape:
    """What a test works with."""

    database: Database
    hub: EventHub
    log: EventLog


@asynccontextmanager
async def open_tape(
    database: Database, *, log_limits: LogLimits | None = None, hub_limits: HubLimits | None = None
) -> AsyncGenerator[Tape]:
    """Open a log and a hub on a database and close them in order."""
    short = None if log_limits is None else log_limits.tool_result_bytes
    hub = EventHub(TapeReader(database, tool_result_bytes=short), limits=hub_limits)
    async with EventLog(database, hub, limits=log_limits) as log:
        yield Tape(database, hub, log)
    hub.close()


@asynccontextmanager
async def blocked_writes(database: Database) -> AsyncGenerator[None]:
    """Keep every other connection from writing to the tape, as a long transaction would."""
    async with database.write_engine.begin() as connection:
        if database.dialect == "postgresql":
            await connection.execute(text("LOCK TABLE events IN EXCLUSIVE MODE"))
        yield


async def collect(subscription: Subscription, until_seq: int) -> list[RecordedEvent]:
    """Read a subscription up to an event."""
    events: list[RecordedEvent] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not events or events[-1].seq < until_seq:
            events += await anext(subscription)
    return events


def delta(part: str, block: str = "b1") -> StreamEvent:
    """Return a text delta."""
    return StreamEvent(block_id=block, kind="text", delta=part)


def block(content: str, block: str = "b1") -> Text:
    """Return a complete text block."""
    return Text(block_id=block, content=content)


def message(client_id: str, content: str = "hello") -> UserMessage:
    """Return a user's message."""
    return UserMessage(text=content, client_id=client_id)


def success() -> Result:
    """Return the end of a turn."""
    return Result(subtype="success", is_error=False)


async def record(
    log: EventLog, session_id: str, events: Iterable[Event], turn_id: str | None = "t1"
) -> list[RecordedEvent]:
    """Append events, each in a commit of its own, so that no deltas join."""
    return [await log.append(session_id, event, turn_id=turn_id, actor=AGENT) for event in events]
