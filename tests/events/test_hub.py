"""Live readers on a real SQLite file and a real PostgreSQL; only the clock of slowness is set by hand."""

import asyncio
import random

import pytest
from tests.support.rows import store_sessions
from tests.support.tapes import WAIT_SECONDS, Tape, block, collect, delta, open_tape, record, success

from claude_sdk_pattern.events.errors import SubscriberTooSlow
from claude_sdk_pattern.events.hub import EventHub, HubLimits, Subscription
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent
from claude_sdk_pattern.events.types import StreamEvent
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio

SMALL = HubLimits(ring_events=4, page_events=3)
"""Limits that make readers change between ring and tape all the time."""


async def _read_all(subscription: Subscription, last_seq: int) -> list[int]:
    return [event.seq for event in await collect(subscription, last_seq)]


async def test_subscriber_gets_what_is_on_the_tape_and_then_what_comes(tape: Tape) -> None:
    await record(tape.log, "s1", [block("1"), block("2")])
    async with tape.hub.subscribe("s1") as subscription:
        assert await _read_all(subscription, 2) == [1, 2]
        await record(tape.log, "s1", [block("3")])
        await record(tape.log, "s2", [block("of another session")])
        await record(tape.log, "s1", [block("4")])
        live = await collect(subscription, 4)
    assert live == await tape.log.read("s1", after=2)


async def test_waiting_subscriber_is_woken_by_each_commit(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as subscription:
        for seq in range(1, 6):
            waiting = asyncio.ensure_future(anext(subscription))
            await asyncio.wait([waiting], timeout=0.02)
            assert not waiting.done()
            recorded = await tape.log.append("s1", block(str(seq)), turn_id="t1", actor=AGENT)
            assert await asyncio.wait_for(waiting, WAIT_SECONDS) == [recorded]


async def test_reconnecting_subscriber_gets_exactly_the_missed_events(tape: Tape) -> None:
    await record(tape.log, "s1", [block(str(index)) for index in range(6)])
    async with tape.hub.subscribe("s1", after=4) as subscription:
        assert await _read_all(subscription, 6) == [5, 6]


async def test_subscribers_that_join_at_random_moments_see_each_event_once(database: Database) -> None:
    await store_sessions(database, "s1")
    total = 150

    async def produce(log: EventLog) -> None:
        for index in range(total):
            future = log.append("s1", block(str(index)), turn_id="t1", actor=AGENT)
            if index % 7 == 0:
                await future
        await log.flush()

    async def join_late(tape: Tape, after_seq: int) -> list[int]:
        async with tape.hub.subscribe("s1") as trigger:
            await collect(trigger, after_seq)
        async with tape.hub.subscribe("s1", after=after_seq // 2) as subscription:
            return await _read_all(subscription, total)

    moments = [random.randint(1, total - 1) for _ in range(12)]  # noqa: S311 - not a secret
    async with open_tape(database, hub_limits=SMALL) as tape, asyncio.timeout(WAIT_SECONDS):
        producer = asyncio.create_task(produce(tape.log))
        seen = await asyncio.gather(*(join_late(tape, moment) for moment in moments))
        await producer
    for moment, seqs in zip(moments, seen, strict=True):
        assert seqs == list(range(moment // 2 + 1, total + 1))


async def test_slow_subscriber_neither_loses_events_nor_delays_others(database: Database) -> None:
    await store_sessions(database, "s1")
    async with (
        open_tape(database, hub_limits=SMALL) as tape,
        tape.hub.subscribe("s1") as slow,
        tape.hub.subscribe("s1") as fast,
    ):
        await record(tape.log, "s1", [block("0")])
        assert await _read_all(slow, 1) == [1]
        for index in range(1, 50):
            await record(tape.log, "s1", [block(str(index))])
            # The fast one is never more than this one event behind, though the slow one has not moved.
            while fast.last_seq < index + 1:
                await asyncio.wait_for(anext(fast), WAIT_SECONDS)
        assert slow.last_seq == 1
        assert await _read_all(slow, 50) == list(range(2, 51))


async def test_deltas_that_a_lagging_subscriber_missed_come_as_one(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as subscription:
        await record(tape.log, "s1", [block("start", "b0")])
        await collect(subscription, 1)
        await record(tape.log, "s1", [delta("a"), delta("b"), delta("x", "b2"), delta("c")])
        await record(tape.log, "s1", [block("abc"), delta("y", "b2")])
        missed = await collect(subscription, 7)
    assert [(event.seq, event.event) for event in missed] == [
        (4, delta("x", "b2")),
        (5, delta("abc")),
        (6, block("abc")),
        (7, delta("y", "b2")),
    ]


async def test_subscribers_that_lag_equally_share_what_was_merged(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as one, tape.hub.subscribe("s1") as other:
        await record(tape.log, "s1", [block("start")])
        await collect(one, 1)
        await collect(other, 1)
        await record(tape.log, "s1", [delta("a"), delta("b")])
        batch = await anext(one)
        assert [event.event for event in batch] == [delta("ab")]
        assert await anext(other) is batch


async def test_cancelled_read_loses_nothing(tape: Tape) -> None:
    seen: list[int] = []
    async with tape.hub.subscribe("s1") as subscription:
        for index in range(10):
            waiting = asyncio.ensure_future(anext(subscription))
            await asyncio.sleep(0)
            # It may have found something at once; then there is nothing left to cancel.
            if not waiting.cancel():
                seen += [event.seq for event in waiting.result()]
            await record(tape.log, "s1", [block(str(index))])
        seen += await _read_all(subscription, 10)
    assert seen == list(range(1, 11))


async def test_compaction_under_a_reader_leaves_it_with_every_event_that_still_stands(database: Database) -> None:
    await store_sessions(database, "s1")
    async with open_tape(database, hub_limits=SMALL) as tape, tape.hub.subscribe("s1") as subscription:
        deltas = [delta(str(index), f"b{index % 2}") for index in range(20)]
        await record(tape.log, "s1", [*deltas, block("0", "b0"), block("1", "b1"), success()])
        await anext(subscription)
        await tape.log.compact("s1", "t1")
        assert await _read_all(subscription, 23) == [21, 22, 23]


async def test_session_without_subscribers_takes_no_memory(tape: Tape) -> None:
    await record(tape.log, "s1", [block("1")])
    assert tape.hub.subscriber_count("s1") == 0
    async with tape.hub.subscribe("s1"), tape.hub.subscribe("s1"):
        assert tape.hub.subscriber_count("s1") == 2
        assert vars(tape.hub)["_channels"].keys() == {"s1"}
    assert tape.hub.subscriber_count("s1") == 0
    assert not vars(tape.hub)["_channels"]


async def test_readers_of_a_deleted_session_come_to_an_end_and_others_go_on(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as ended, tape.hub.subscribe("s2") as open_one:
        waiting = asyncio.ensure_future(anext(ended))
        await asyncio.sleep(0)
        tape.hub.close_session("s1")
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, WAIT_SECONDS)
        await record(tape.log, "s2", [block("1")])
        assert await _read_all(open_one, 1) == [1]


async def test_a_closed_hub_lets_its_readers_read_to_the_end_first(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as reader:
        await record(tape.log, "s1", [block("1"), block("2")])
        tape.hub.close()
        deserted = asyncio.ensure_future(tape.hub.wait_deserted())
        assert [event.seq async for batch in reader for event in batch] == [1, 2]
        assert not deserted.done()
    await asyncio.wait_for(deserted, WAIT_SECONDS)


async def test_a_closed_hub_wakes_readers_that_wait(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as reader:
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        tape.hub.close()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, WAIT_SECONDS)


async def test_closed_hub_ends_present_and_future_readers(tape: Tape) -> None:
    async with tape.hub.subscribe("s1") as present:
        tape.hub.close()
        assert [batch async for batch in present] == []
    async with tape.hub.subscribe("s1") as future:
        assert [batch async for batch in future] == []


async def test_subscription_must_be_entered_before_it_is_read(tape: Tape) -> None:
    with pytest.raises(RuntimeError, match="enter"):
        await anext(tape.hub.subscribe("s1"))


class _Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _published(seq: int, size: int = 1000) -> RecordedEvent:
    event = StreamEvent(block_id="b", kind="text", delta="x" * size)
    return RecordedEvent(
        session_id="s1",
        seq=seq,
        type="stream_event",
        turn_id="t1",
        actor=AGENT,
        ts_ms=0,
        block_id="b",
        payload=event.encode(),
    )


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def slow_hub(database: Database, clock: _Clock) -> EventHub:
    """A hub that gives up readers more than 5 kB behind for 10 s."""
    return EventHub(TapeReader(database), limits=HubLimits(slow_bytes=5_000, slow_seconds=10), clock=clock)


async def _catch_up(hub: EventHub, subscription: Subscription, seq: int) -> None:
    """Take the next batch, which is event ``seq``."""
    waiting = asyncio.ensure_future(anext(subscription))
    hub.publish([_published(seq)])
    assert [event.seq for event in await asyncio.wait_for(waiting, WAIT_SECONDS)] == [seq]


async def test_subscriber_too_far_behind_for_too_long_is_given_up(slow_hub: EventHub, clock: _Clock) -> None:
    async with slow_hub.subscribe("s1") as stuck:
        await _catch_up(slow_hub, stuck, 1)
        slow_hub.publish([_published(seq) for seq in range(2, 12)])
        clock.seconds = 9.9
        slow_hub.publish([_published(12)])
        assert not stuck.evicted.is_set()
        clock.seconds = 10.0
        slow_hub.publish([_published(13)])
        assert stuck.evicted.is_set()
        with pytest.raises(SubscriberTooSlow) as giving_up:
            await anext(stuck)
        assert giving_up.value.last_seq == 1


async def test_subscriber_that_catches_up_in_time_is_kept(slow_hub: EventHub, clock: _Clock) -> None:
    async with slow_hub.subscribe("s1") as late:
        await _catch_up(slow_hub, late, 1)
        for round_ in range(5):
            first = 2 + 10 * round_
            slow_hub.publish([_published(seq) for seq in range(first, first + 10)])
            clock.seconds += 9
            assert (await anext(late))[-1].seq == first + 9
        assert not late.evicted.is_set()


async def test_little_unread_is_no_reason_to_give_up_however_long_it_takes(slow_hub: EventHub, clock: _Clock) -> None:
    async with slow_hub.subscribe("s1") as idle:
        await _catch_up(slow_hub, idle, 1)
        for seq in (2, 3, 4):
            slow_hub.publish([_published(seq)])
            clock.seconds += 1000
        assert not idle.evicted.is_set()
