"""A tape that changes hands, on each kind of database: the old writer may be asleep, but it never writes again."""

import pytest
from tests.support.rows import store_sessions
from tests.support.tapes import AGENT, Tape, block, delta, message, record, success

from claude_sdk_pattern.events.errors import DuplicateClientId, TapeTakenOver
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


async def test_a_tape_that_is_not_this_servers_takes_nothing_and_others_do(database: Database) -> None:
    await store_sessions(database, "mine", "theirs")
    hub = EventHub(TapeReader(database))
    async with EventLog(database, hub, may_write=lambda session_id: session_id == "mine") as log:
        refused = log.append("theirs", success(), turn_id="t1", actor=AGENT)
        taken = log.append("mine", success(), turn_id="t1", actor=AGENT)
        with pytest.raises(TapeTakenOver):
            await refused
        assert (await taken).seq == 1
        log.append_nowait("theirs", delta("unheard"), turn_id="t1", actor=AGENT)
        await log.flush()
        assert await log.read("theirs") == []


async def test_a_writer_that_fell_asleep_before_its_insert_finds_its_number_taken(tape: Tape) -> None:
    """It asks for permission, sleeps, and wakes when the next owner has begun: the moment no clock can guard."""
    answers = iter([True, True, False])
    asleep = EventLog(tape.database, tape.hub, may_write=lambda _: next(answers))
    async with asleep:
        await record(asleep, "s1", [block("mine")])
        # The next owner's first event. The sleeper was told yes, once more, before it.
        await record(tape.log, "s1", [block("theirs", "b2")])
        with pytest.raises(TapeTakenOver):
            await asleep.append("s1", block("too late", "b3"), turn_id="t1", actor=AGENT)
    assert [item.seq for item in await tape.log.read("s1")] == [1, 2]
    assert next(answers, "asked once for each attempt") == "asked once for each attempt"


async def test_a_message_that_was_taken_before_is_known_to_the_next_owner(tape: Tape) -> None:
    other = EventLog(tape.database, tape.hub)
    async with other:
        first = await other.append("s1", message("c1"), turn_id="t1", actor=AGENT)
        with pytest.raises(DuplicateClientId) as refusal:
            await tape.log.append("s1", message("c1"), turn_id="t2", actor=AGENT)
    assert (refusal.value.seq, refusal.value.turn_id) == (first.seq, "t1")


async def test_the_latest_events_of_some_types_come_newest_first_and_page_by_page(tape: Tape) -> None:
    for number in range(3):
        await record(tape.log, "s1", [block("x"), success()], f"t{number}")
    await record(tape.log, "s2", [success()])
    first = await tape.log.latest("s1", ("result",), before=100, limit=2)
    assert [item.seq for item in first] == [6, 4]
    rest = await tape.log.latest("s1", ("result",), before=4, limit=2)
    assert [item.seq for item in rest] == [2]
    assert [item.seq for item in await tape.log.latest("s1", ("result", "text"), before=3, limit=9)] == [2, 1]
