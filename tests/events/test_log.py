"""Appending, reading, compaction and copying on a real SQLite file and a real PostgreSQL."""

import asyncio
import functools
import json
import math
import sqlite3
import threading
from collections.abc import Sequence
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, override

import pytest
from sqlalchemy import delete
from tests.support.postgres import PostgresServer
from tests.support.rows import store_sessions
from tests.support.tapes import (
    USER,
    WAIT_SECONDS,
    Tape,
    block,
    blocked_writes,
    delta,
    message,
    open_tape,
    record,
    success,
)

from claude_sdk_pattern.events.errors import (
    DuplicateClientId,
    TapeClosed,
    TapeNotEmpty,
    TapeOverloaded,
    TapeUnavailable,
    UnknownSession,
)
from claude_sdk_pattern.events.log import EventLog, LogLimits
from claude_sdk_pattern.events.recorded import AGENT, SYSTEM, RecordedEvent
from claude_sdk_pattern.events.sqlite_writer import SqliteWriter
from claude_sdk_pattern.events.types import Status, StreamEvent, Thinking, ToolUse
from claude_sdk_pattern.events.writers import DatabaseTrouble, Row
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionRow

pytestmark = pytest.mark.anyio

# A log that gives up soon, for tests of giving up.
IMPATIENT = LogLimits(retry_first_seconds=0.01, retry_max_seconds=0.05, give_up_after_seconds=0.2)


def _seqs(events: Sequence[RecordedEvent]) -> list[int]:
    return [event.seq for event in events]


def _types(events: Sequence[RecordedEvent]) -> list[str]:
    return [event.type for event in events]


async def test_appended_event_is_read_back_as_it_was_published(tape: Tape) -> None:
    appended = await tape.log.append("s1", message("c1", "grüße \u0000 🎉"), turn_id="t1", actor=USER)
    assert (appended.seq, appended.type, appended.turn_id, appended.actor) == (1, "user_message", "t1", USER)
    assert await tape.log.read("s1") == [appended]
    assert appended.event == message("c1", "grüße \u0000 🎉")


async def test_events_are_numbered_per_session_without_gaps(tape: Tape) -> None:
    futures = [
        tape.log.append(f"s{1 + index % 3}", block(str(index), f"b{index}"), turn_id="t1", actor=AGENT)
        for index in range(300)
    ]
    await asyncio.gather(*futures)
    for session_id in ("s1", "s2", "s3"):
        events = await tape.log.read(session_id)
        assert _seqs(events) == list(range(1, 101))
        assert [int(json.loads(event.payload)["content"]) % 3 for event in events] == [int(session_id[1]) - 1] * 100
        assert await tape.log.last_seq(session_id) == 100


async def test_sessions_that_append_at_once_stay_gapless_and_in_order(tape: Tape) -> None:
    sessions = [f"many-{index}" for index in range(25)]
    await store_sessions(tape.database, *sessions)

    async def talk(session_id: str) -> None:
        for index in range(40):
            future = tape.log.append(session_id, block(str(index)), turn_id="t1", actor=AGENT)
            # Some wait for each commit, some run ahead: commits of every size come about.
            if hash((session_id, index)) % 3 == 0:
                await future
        await tape.log.flush()

    async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as group:
        for session_id in sessions:
            group.create_task(talk(session_id))
    for session_id in sessions:
        events = await tape.log.read(session_id)
        assert _seqs(events) == list(range(1, 41))
        assert [json.loads(event.payload)["content"] for event in events] == [str(index) for index in range(40)]


async def test_numbering_goes_on_after_a_restart(database: Database) -> None:
    await store_sessions(database, "s1")
    for expected in (1, 2, 3):
        async with open_tape(database) as tape:
            assert (await tape.log.append("s1", success(), turn_id="t", actor=AGENT)).seq == expected


async def test_deltas_that_wait_for_the_same_commit_become_one_event(tape: Tape) -> None:
    first = tape.log.append("s1", delta("a"), turn_id="t1", actor=AGENT)
    tape.log.append_nowait("s2", delta("of another session"), turn_id="t1", actor=AGENT)
    last = tape.log.append("s1", delta("b"), turn_id="t1", actor=AGENT)
    assert await first is await last
    assert [event.event for event in await tape.log.read("s1")] == [delta("ab")]


@pytest.mark.parametrize(
    "other",
    [
        (delta("x", "b2"), "t1"),
        (delta("x"), "t2"),
        (StreamEvent(block_id="b1", kind="thinking", delta="x"), "t1"),
        (Status(status="responding"), "t1"),
    ],
)
async def test_deltas_of_different_blocks_stay_apart_and_in_order(
    tape: Tape, other: tuple[StreamEvent | Status, str]
) -> None:
    event, turn_id = other
    tape.log.append_nowait("s1", delta("a"), turn_id="t1", actor=AGENT)
    tape.log.append_nowait("s1", event, turn_id=turn_id, actor=AGENT)
    tape.log.append_nowait("s1", delta("b"), turn_id="t1", actor=AGENT)
    await tape.log.flush()
    assert [recorded.event for recorded in await tape.log.read("s1")] == [delta("a"), event, delta("b")]


async def test_repeated_client_id_fails_alone_and_names_the_first_message(tape: Tape) -> None:
    await tape.log.append("s1", message("c1"), turn_id="t1", actor=USER)
    outcomes = await asyncio.gather(
        tape.log.append("s1", block("before"), turn_id="t1", actor=AGENT),
        tape.log.append("s1", message("c1"), turn_id="t2", actor=USER),
        tape.log.append("s1", message("c2"), turn_id="t3", actor=USER),
        tape.log.append("s1", message("c2"), turn_id="t4", actor=USER),
        tape.log.append("s2", message("c1"), turn_id="t5", actor=USER),
        tape.log.append("s1", block("after"), turn_id="t1", actor=AGENT),
        return_exceptions=True,
    )
    first, second, third, fourth, fifth, sixth = outcomes
    assert [event.seq for event in (first, third, fifth, sixth) if isinstance(event, RecordedEvent)] == [2, 3, 1, 4]
    assert isinstance(second, DuplicateClientId)
    assert (second.seq, second.turn_id) == (1, "t1")
    assert isinstance(fourth, DuplicateClientId)
    assert (fourth.seq, fourth.turn_id) == (3, "t3")
    assert await tape.log.client_ids("s1") == {"c1": (1, "t1"), "c2": (3, "t3")}


async def test_event_for_an_unknown_session_fails_alone(tape: Tape) -> None:
    lost = tape.log.append("nowhere", success(), turn_id="t1", actor=AGENT)
    kept = tape.log.append("s1", success(), turn_id="t1", actor=AGENT)
    with pytest.raises(UnknownSession):
        await lost
    assert (await kept).seq == 1


async def test_session_deleted_while_the_log_knows_it_fails_alone(tape: Tape) -> None:
    await tape.log.append("s1", success(), turn_id="t1", actor=AGENT)
    async with tape.database.sessions.begin() as session:
        await session.execute(delete(SessionRow).where(SessionRow.id == "s1"))
    lost = tape.log.append("s1", success(), turn_id="t2", actor=AGENT)
    kept = tape.log.append("s2", success(), turn_id="t1", actor=AGENT)
    with pytest.raises(UnknownSession):
        await lost
    assert (await kept).seq == 1
    assert await tape.log.read("s1") == []


@pytest.mark.parametrize("client_id", ["", "x" * 129, "a\x1eb", "a\x00b"])
async def test_ids_that_no_column_can_hold_are_refused_at_once(tape: Tape, client_id: str) -> None:
    with pytest.raises(ValueError, match="client_id must be"):
        tape.log.append("s1", message(client_id), turn_id="t1", actor=USER)
    await tape.log.append("s1", message("fine"), turn_id="t1", actor=USER)


async def test_cancelled_caller_does_not_take_its_event_back(tape: Tape) -> None:
    tape.log.append("s1", block("kept"), turn_id="t1", actor=AGENT).cancel()
    await tape.log.append("s1", success(), turn_id="t1", actor=AGENT)
    assert _types(await tape.log.read("s1")) == ["text", "result"]


async def test_reading_can_be_limited_on_both_sides(tape: Tape) -> None:
    await record(tape.log, "s1", [block(str(index)) for index in range(10)])
    assert _seqs(await tape.log.read("s1", after=3)) == [4, 5, 6, 7, 8, 9, 10]
    assert _seqs(await tape.log.read("s1", after=3, until=6)) == [4, 5, 6]
    assert _seqs(await tape.log.read("s1", after=3, limit=2)) == [4, 5]
    assert await tape.log.read("s1", after=10) == []
    assert await tape.log.last_seq("s3") == 0


async def test_open_turns_are_those_without_a_result_oldest_first(tape: Tape) -> None:
    for session_id, turn_id, event in [
        ("s2", "t1", message("c1")),
        ("s1", "t2", message("c2")),
        ("s1", "t3", message("c3")),
        ("s1", "t2", success()),
        ("s1", None, Status(status="idle")),
        ("s3", "t1", message("c4")),
        ("s3", "t1", success()),
    ]:
        await tape.log.append(session_id, event, turn_id=turn_id, actor=USER)
    assert sorted(await tape.log.open_turns()) == [("s1", "t3"), ("s2", "t1")]


async def test_compaction_removes_superseded_deltas_and_nothing_else(tape: Tape) -> None:
    await record(
        tape.log,
        "s1",
        [
            message("c1"),
            StreamEvent(block_id="think", kind="thinking", delta="hm"),
            Thinking(block_id="think", content="hm"),
            delta("hel"),
            delta("lo"),
            StreamEvent(block_id="call", kind="tool_input", delta='{"a":'),
            block("hello"),
            StreamEvent(block_id="call", kind="tool_input", delta="1}"),
            ToolUse(tool_use_id="call", tool="Bash", input={"a": 1}),
            delta("cut off", "b2"),
            success(),
        ],
    )
    await record(tape.log, "s1", [delta("other turn")], turn_id="t2")
    await record(tape.log, "s2", [delta("other session")])
    assert await tape.log.compact("s1", "t1") == 5
    assert _seqs(await tape.log.read("s1")) == [1, 3, 7, 9, 10, 11, 12]
    assert await tape.log.compact("s1", "t1") == 0
    assert _seqs(await tape.log.read("s2")) == [1]


async def test_compaction_keeps_a_delta_that_came_after_its_complete_block(tape: Tape) -> None:
    await record(tape.log, "s1", [delta("early"), block("early"), delta("late"), success()])
    assert await tape.log.compact("s1", "t1") == 1
    assert _seqs(await tape.log.read("s1")) == [2, 3, 4]


async def test_compaction_of_a_long_turn_removes_all_of_it(tape: Tape) -> None:
    for index in range(1300):
        # A status between two deltas keeps them from joining.
        tape.log.append_nowait("s1", delta(str(index)), turn_id="t1", actor=AGENT)
        tape.log.append_nowait("s1", Status(status="responding"), turn_id="t1", actor=AGENT)
    await tape.log.append("s1", block("all"), turn_id="t1", actor=AGENT)
    assert await tape.log.compact("s1", "t1") == 1300
    assert len(await tape.log.read("s1")) == 1301


async def test_numbers_never_go_back_after_compaction_and_restart(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database) as tape:
        await record(tape.log, "s1", [delta("a"), block("ab"), delta("late")])
        await tape.log.compact("s1", "t1")
    async with open_tape(database) as tape:
        assert (await tape.log.append("s1", success(), turn_id="t1", actor=AGENT)).seq == 4


async def test_compaction_while_the_session_is_written_to_keeps_it_gapless(tape: Tape) -> None:
    async def talk() -> None:
        for turn in range(10):
            for index in range(20):
                await tape.log.append("s1", delta(str(index)), turn_id=f"t{turn}", actor=AGENT)
            await tape.log.append("s1", block("whole"), turn_id=f"t{turn}", actor=AGENT)
            compactions.append(asyncio.create_task(tape.log.compact("s1", f"t{turn}")))

    compactions: list[asyncio.Task[int]] = []
    async with asyncio.timeout(WAIT_SECONDS):
        await talk()
        assert sum(await asyncio.gather(*compactions)) == 200
    assert _seqs(await tape.log.read("s1")) == [21 * turn for turn in range(1, 11)]
    assert (await tape.log.append("s1", success(), turn_id="t", actor=AGENT)).seq == 211


async def test_copy_holds_the_same_events_and_closes_what_it_cut_off(tape: Tape) -> None:
    await record(tape.log, "s1", [message("c1"), block("one"), success()], "t1")
    await record(tape.log, "s1", [message("c2"), delta("tw"), block("two"), success()], "t2")
    assert await tape.log.copy("s1", "s2", until=5) == 6
    copied = await tape.log.read("s2")
    assert [(event.seq, event.payload, event.ts_ms) for event in copied[:5]] == [
        (event.seq, event.payload, event.ts_ms) for event in await tape.log.read("s1", until=5)
    ]
    closing = copied[5]
    assert (closing.type, closing.turn_id, closing.actor) == ("result", "t2", SYSTEM)
    assert json.loads(closing.payload)["subtype"] == "interrupted"
    assert await tape.log.open_turns() == []


async def test_copy_of_a_whole_tape_adds_nothing_and_can_be_continued(tape: Tape) -> None:
    await record(tape.log, "s1", [message("c1"), success()])
    assert await tape.log.copy("s1", "s2") == 2
    assert await tape.log.client_ids("s2") == {}
    assert (await tape.log.append("s2", message("c1"), turn_id="t2", actor=USER)).seq == 3
    assert await tape.log.copy("s3", "s3") == 0


async def test_copy_into_a_tape_with_events_or_no_session_changes_nothing(tape: Tape) -> None:
    await record(tape.log, "s1", [message("c1")])
    await record(tape.log, "s2", [success()])
    with pytest.raises(TapeNotEmpty):
        await tape.log.copy("s1", "s2")
    with pytest.raises(UnknownSession):
        await tape.log.copy("s1", "nowhere")
    assert len(await tape.log.read("s2")) == 1


async def test_short_lock_delays_events_and_loses_none(tape: Tape) -> None:
    async with blocked_writes(tape.database):
        futures = [tape.log.append("s1", block(str(index)), turn_id="t1", actor=AGENT) for index in range(3)]
        waiting, _ = await asyncio.wait(futures, timeout=0.1)
        assert not waiting
    assert [event.seq for event in await asyncio.gather(*futures)] == [1, 2, 3]


async def test_too_much_waiting_is_refused_and_what_waits_is_kept(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database, log_limits=LogLimits(max_pending_events=3)) as tape:
        async with blocked_writes(database):
            futures = [tape.log.append("s1", block(str(index)), turn_id="t1", actor=AGENT) for index in range(3)]
            with pytest.raises(TapeOverloaded) as refusal:
                tape.log.append_nowait("s1", block("3"), turn_id="t1", actor=AGENT)
        assert refusal.value.pending_events == 3
        assert [event.seq for event in await asyncio.gather(*futures)] == [1, 2, 3]
        assert (await tape.log.append("s1", block("4"), turn_id="t1", actor=AGENT)).seq == 4


async def test_deltas_count_towards_the_bytes_that_may_wait(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database, log_limits=LogLimits(max_pending_bytes=5_000)) as tape:
        for _ in range(5):
            tape.log.append_nowait("s1", delta("x" * 1000), turn_id="t1", actor=AGENT)
        with pytest.raises(TapeOverloaded):
            tape.log.append_nowait("s1", delta("x"), turn_id="t1", actor=AGENT)
        await tape.log.flush()
        assert [event.event for event in await tape.log.read("s1")] == [delta("x" * 5000)]


async def test_sqlite_that_stays_locked_fails_events_and_takes_later_ones(sqlite_url: str) -> None:
    async with Database(sqlite_url) as database:
        await store_sessions(database, "s1")
        async with open_tape(database, log_limits=IMPATIENT) as tape:
            async with blocked_writes(database):
                lost = tape.log.append("s1", block("lost"), turn_id="t1", actor=AGENT)
                with pytest.raises(TapeUnavailable, match="locked"):
                    await asyncio.wait_for(lost, WAIT_SECONDS)
            assert (await tape.log.append("s1", block("kept"), turn_id="t1", actor=AGENT)).seq == 1


async def test_commit_made_at_once_does_not_make_the_event_loop_wait_for_another_writer(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this machine is now.
    monkeypatch.setattr("claude_sdk_pattern.events.sqlite_writer._QUICK_SECONDS", math.inf)
    async with Database(sqlite_url) as database:
        await store_sessions(database, "s1")
        async with open_tape(database) as tape:
            await record(tape.log, "s1", [block("before")])
            async with blocked_writes(database):
                waiting = tape.log.append("s1", block("late"), turn_id="t1", actor=AGENT)
                # Reading needs the loop, and the writer would have it until its patience ends.
                for _ in range(10):
                    assert [event.event for event in await tape.log.read("s1")] == [block("before")]
                assert not waiting.done()
            assert (await asyncio.wait_for(waiting, WAIT_SECONDS)).seq == 2
            assert [event.event for event in await tape.log.read("s1")] == [block("before"), block("late")]


@pytest.mark.parametrize(
    ("seconds", "is_in_thread"),
    [([0.001] * 14 + [1.0], False), ([0.001] * 7 + [1.0] * 8, True)],
    ids=["one of fifteen was slow", "most were slow"],
)
async def test_most_of_the_last_commits_decide_whether_the_event_loop_waits_for_the_next(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, seconds: list[float], is_in_thread: bool
) -> None:
    ticks = chain.from_iterable((0.0, took) for took in chain(seconds, repeat(0.0)))
    monkeypatch.setattr("claude_sdk_pattern.events.sqlite_writer.time", SimpleNamespace(perf_counter=ticks.__next__))
    threads: list[int] = []
    attempt = sqlite3.Connection.execute

    class Watched(sqlite3.Connection):
        @override
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if sql.startswith("INSERT"):
                threads.append(threading.get_ident())
            return attempt(self, sql, parameters)

    connect = functools.partial(sqlite3.connect, factory=Watched)
    async with Database(sqlite_url) as database:
        await store_sessions(database, "s1")
        monkeypatch.setattr("claude_sdk_pattern.events.sqlite_writer.sqlite3.connect", connect)
        async with open_tape(database) as tape:
            for number in range(len(seconds) + 1):
                await tape.log.append("s1", block(str(number)), turn_id="t1", actor=AGENT)
    assert len(threads) == len(seconds) + 1
    assert (threads[-1] != threading.get_ident()) is is_in_thread


async def test_postgresql_that_is_down_fails_events_and_takes_later_ones(
    postgresql_url: str, postgres_server: PostgresServer
) -> None:
    async with Database(postgresql_url) as database:
        await store_sessions(database, "s1")
        name = database.url.database or ""
        async with open_tape(database, log_limits=IMPATIENT) as tape:
            await record(tape.log, "s1", [block("before")])
            postgres_server.allow_connections(name, False)
            postgres_server.disconnect_everyone(name)
            lost = tape.log.append("s1", block("lost"), turn_id="t1", actor=AGENT)
            with pytest.raises(TapeUnavailable, match="not currently accepting connections"):
                await asyncio.wait_for(lost, WAIT_SECONDS)
            with pytest.raises(TapeUnavailable):
                await tape.log.read("s1")
            postgres_server.allow_connections(name, True)
            assert (await tape.log.append("s1", block("after"), turn_id="t1", actor=AGENT)).seq == 2


async def test_lost_postgresql_connection_is_made_anew_without_anybody_noticing(
    postgresql_url: str, postgres_server: PostgresServer
) -> None:
    async with Database(postgresql_url) as database:
        await store_sessions(database, "s1")
        async with open_tape(database) as tape:
            await record(tape.log, "s1", [block("before")])
            postgres_server.disconnect_everyone(database.url.database or "")
            assert (await tape.log.append("s1", block("after"), turn_id="t1", actor=AGENT)).seq == 2


class _LosesTheAnswer(SqliteWriter):
    """A real writer whose first commit goes through, but looks as if it had failed."""

    has_failed = False

    @override
    async def _insert(self, rows: Sequence[Row]) -> None:
        await super()._insert(rows)
        if not self.has_failed:
            self.has_failed = True
            self._forget_heads()
            raise DatabaseTrouble


async def test_commit_whose_answer_was_lost_is_not_written_twice(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_sdk_pattern.events.log.SqliteWriter", _LosesTheAnswer)
    async with Database(sqlite_url) as database:
        await store_sessions(database, "s1", "s2")
        async with open_tape(database) as tape:
            futures = [
                tape.log.append(session_id, event, turn_id="t1", actor=USER)
                for session_id, event in [("s1", message("c1")), ("s1", message("c1")), ("s2", block("x"))]
            ]
            first, second, third = await asyncio.gather(*futures, return_exceptions=True)
            assert isinstance(second, DuplicateClientId)
            assert await tape.log.read("s1") == [first]
            assert await tape.log.read("s2") == [third]
            assert (await tape.log.append("s1", success(), turn_id="t1", actor=AGENT)).seq == 2


async def test_two_logs_that_write_one_tape_lose_nothing_and_leave_no_gap(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database) as one, open_tape(database) as other:
        futures = [
            tape.log.append("s1", message(f"c{index // 2}"), turn_id=f"t{index}", actor=USER)
            for index in range(20)
            for tape in (one, other)
        ]
        outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), WAIT_SECONDS)
        recorded = await one.log.read("s1")
    assert _seqs(recorded) == list(range(1, 11))
    assert sum(isinstance(outcome, DuplicateClientId) for outcome in outcomes) == 30


async def test_closing_writes_what_waits_and_refuses_more(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database) as tape:
        for index in range(50):
            tape.log.append_nowait("s1", block(str(index)), turn_id="t1", actor=AGENT)
        await tape.log.aclose()
        assert len(await tape.log.read("s1")) == 50
        with pytest.raises(TapeClosed):
            tape.log.append_nowait("s1", block("late"), turn_id="t1", actor=AGENT)
        await tape.log.aclose()


async def test_cancelled_closing_leaves_nobody_waiting(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database) as tape, blocked_writes(database):
        futures = [tape.log.append("s1", block("being written"), turn_id="t1", actor=AGENT)]
        await asyncio.wait(futures, timeout=0.05)
        futures.append(tape.log.append("s1", block("waiting"), turn_id="t1", actor=AGENT))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tape.log.aclose(), 0.1)
        outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), WAIT_SECONDS)
        assert all(isinstance(outcome, TapeUnavailable) for outcome in outcomes)


async def test_log_that_was_never_used_closes(database: Database) -> None:
    async with open_tape(database) as tape:
        assert isinstance(tape.log, EventLog)
        await tape.log.flush()


async def test_a_turn_whose_event_was_given_up_is_known_as_damaged_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PostgreSQL waits so long for a lock before the log hears of it.
    monkeypatch.setattr("claude_sdk_pattern.events.postgres_writer._STATEMENT_TIMEOUT_MS", 500)
    await store_sessions(database, "s1")
    async with open_tape(database, log_limits=IMPATIENT) as tape:
        await tape.log.append("s1", block("kept"), turn_id="t1", actor=AGENT)
        async with blocked_writes(database):
            tape.log.append_nowait("s1", block("lost"), turn_id="t2", actor=AGENT)
            tape.log.append_nowait("s1", block("lost"), turn_id=None, actor=AGENT)
            await tape.log.flush()
        assert not tape.log.is_damaged("s1", "t1")
        assert not tape.log.is_damaged("s2", "t2")
        assert tape.log.is_damaged("s1", "t2")
        assert not tape.log.is_damaged("s1", "t2")
