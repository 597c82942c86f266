"""Properties of whole tapes, on a real SQLite file and a real PostgreSQL."""

import asyncio
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.folding import fold, same
from tests.support.histories import Step, event_of, steps
from tests.support.rows import store_sessions
from tests.support.tapes import Tape, collect

from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import AGENT
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio

_session_numbers = count(1)

# Each example gets a session of its own in the database of the test. Real commits take time, so there are few.
few_examples = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


async def _new_session(database: Database) -> str:
    session_id = f"replay-{next(_session_numbers)}"
    await store_sessions(database, session_id)
    return session_id


async def _write(log: EventLog, session_id: str, taken: list[Step], waits: list[bool]) -> None:
    """Append steps, waiting for the commit after some of them: deltas between two waits may join."""
    for step, is_waiting in zip(taken, waits, strict=False):
        future = log.append(session_id, event_of(step), turn_id=step[0], actor=AGENT)
        if is_waiting:
            await future
    await log.flush()


@few_examples
@given(taken=steps(), waits=st.lists(st.booleans(), min_size=40, max_size=40), split=st.floats(0, 1))
async def test_tape_split_anywhere_replays_to_the_same_whole(
    tape: Tape, taken: list[Step], waits: list[bool], split: float
) -> None:
    session_id = await _new_session(tape.database)
    await _write(tape.log, session_id, taken, waits)
    whole = await tape.log.read(session_id)
    cut = round(split * len(whole))
    first, rest = await tape.log.read(session_id, until=cut), await tape.log.read(session_id, after=cut)
    assert [*first, *rest] == whole
    snapshot = fold(first)
    if rest:
        async with tape.hub.subscribe(session_id, after=cut) as subscription:
            rest = await collect(subscription, whole[-1].seq)
    assert same(fold(rest, snapshot), fold(whole))


@few_examples
@given(taken=steps(), waits=st.lists(st.booleans(), min_size=40, max_size=40))
async def test_live_reader_sees_the_same_as_a_later_one(tape: Tape, taken: list[Step], waits: list[bool]) -> None:
    session_id = await _new_session(tape.database)
    async with tape.hub.subscribe(session_id) as subscription:
        await _write(tape.log, session_id, taken, waits)
        stored = await tape.log.read(session_id)
        live = await collect(subscription, stored[-1].seq) if stored else []
    assert same(fold(live), fold(stored))


@few_examples
@given(taken=steps(), waits=st.lists(st.booleans(), min_size=40, max_size=40))
async def test_compaction_never_changes_what_a_tape_says(tape: Tape, taken: list[Step], waits: list[bool]) -> None:
    session_id = await _new_session(tape.database)
    await _write(tape.log, session_id, taken, waits)
    before = await tape.log.read(session_id)
    deleted = sum([await tape.log.compact(session_id, turn_id) for turn_id in ("t1", "t2")])
    after = await tape.log.read(session_id)
    assert same(fold(after), fold(before))
    assert len(after) == len(before) - deleted
    complete = {(event.turn_id, event.block_id) for event in before if event.type in {"text", "thinking", "tool_use"}}
    assert not [
        event for event in after if event.type == "stream_event" and (event.turn_id, event.block_id) in complete
    ]
    if before:
        assert after[-1] == before[-1]


@few_examples
@given(taken=steps(), waits=st.lists(st.booleans(), min_size=40, max_size=40), split=st.floats(0, 1))
async def test_copy_up_to_any_point_says_what_was_said_up_to_there(
    tape: Tape, taken: list[Step], waits: list[bool], split: float
) -> None:
    source = await _new_session(tape.database)
    await _write(tape.log, source, taken, waits)
    until = round(split * len(await tape.log.read(source)))
    target = await _new_session(tape.database)
    async with asyncio.timeout(10):
        await tape.log.copy(source, target, until=until)
    copied, original = await tape.log.read(target), await tape.log.read(source, until=until)
    assert same(fold(copied), fold(original))
