"""Slots for agent processes: bounded, handed on by those who are idle, and shared out fairly. Pure, with an event loop.

The conversations are stand-ins at a seam of ours: what a real one does with these calls is in ``test_conversation``.
"""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_sdk_pattern.sessions.errors import TooManyWaitingError
from claude_sdk_pattern.sessions.slots import ProcessSlots

pytestmark = pytest.mark.anyio


class Holder:
    """A conversation that is at work from the moment it has a slot until :meth:`rest`."""

    def __init__(self, slots: ProcessSlots, owner_id: str = "alice", *, is_watched: bool = False) -> None:
        self.slots = slots
        self.owner_id = owner_id
        self.is_watched = is_watched
        self.is_busy = False
        self.idle_since = 0.0
        self.positions: list[int] = []
        self.hibernated = 0

    async def work(self) -> None:
        await self.slots.acquire(self)
        self.is_busy = True

    def rest(self, *, at: float = 0.0) -> None:
        self.is_busy = False
        self.idle_since = at
        self.slots.notify()

    async def hibernate(self) -> None:
        await asyncio.sleep(0)
        if not self.is_busy:
            self.hibernated += 1
            self.slots.release(self)

    def on_queued(self, position: int) -> None:
        self.positions.append(position)


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_one_idle_for_longest_gives_way_and_unwatched_ones_before_watched() -> None:
    slots = ProcessSlots(3, max_waiting=10)
    old_watched, older, young = (Holder(slots, is_watched=True), Holder(slots), Holder(slots))
    for holder, moment in ((old_watched, 1.0), (older, 2.0), (young, 3.0)):
        await holder.work()
        holder.rest(at=moment)
    for expected in (older, young, old_watched):
        await Holder(slots).work()
        assert expected.hibernated == 1
    assert slots.used == 3


async def test_all_at_work_the_others_wait_and_know_their_place() -> None:
    slots = ProcessSlots(1, max_waiting=10)
    first, second, third = Holder(slots), Holder(slots), Holder(slots)
    await first.work()
    tasks = [asyncio.create_task(holder.work()) for holder in (second, third)]
    await settle()
    assert (second.positions, third.positions) == ([1], [2])
    first.rest()
    await settle()
    assert second.is_busy
    assert third.positions == [2, 1]
    second.rest()
    await asyncio.gather(*tasks)


async def test_somebody_with_many_open_questions_does_not_keep_others_out() -> None:
    slots = ProcessSlots(2, max_waiting=50)
    busy = [Holder(slots, "noisy") for _ in range(10)]
    tasks = [asyncio.create_task(holder.work()) for holder in busy]
    await settle()
    quiet = Holder(slots, "quiet")
    tasks.append(asyncio.create_task(quiet.work()))
    await settle()
    assert quiet.positions == [1]
    busy[0].rest()
    await settle()
    assert quiet.is_busy
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_nobody_holds_more_than_their_share_and_room_is_made_of_their_own() -> None:
    slots = ProcessSlots(3, max_waiting=10, per_owner=2)
    mine = [Holder(slots, "noisy") for _ in range(3)]
    others = Holder(slots, "quiet")
    await mine[0].work()
    await mine[1].work()
    third = asyncio.create_task(mine[2].work())
    await settle()
    assert (mine[2].is_busy, mine[2].positions) == (False, [1]), "with a slot free"
    await others.work()
    others.rest()
    await settle()
    assert (mine[2].is_busy, others.hibernated) == (False, 0), "nobody else has to go for it"
    mine[1].rest()
    await third
    assert (mine[1].hibernated, mine[2].is_busy) == (1, True)


async def test_a_slot_is_free_for_somebody_only_if_nobody_else_goes_without() -> None:
    slots = ProcessSlots(2, max_waiting=10, per_owner=1)
    mine, my_second, yours, late = Holder(slots), Holder(slots), Holder(slots, "bob"), Holder(slots, "carol")
    assert slots.is_free_for(mine)
    await mine.work()
    mine.rest()
    assert not slots.is_free_for(my_second), "more than their share"
    assert slots.is_free_for(yours)
    await yours.work()
    assert not slots.is_free_for(late), "somebody idle would have to go for it"


async def test_the_line_has_an_end() -> None:
    slots = ProcessSlots(1, max_waiting=1)
    first, second, third = Holder(slots), Holder(slots), Holder(slots)
    await first.work()
    waiting = asyncio.create_task(second.work())
    await settle()
    with pytest.raises(TooManyWaitingError):
        slots.check(third)
    with pytest.raises(TooManyWaitingError):
        await third.work()
    slots.check(second)
    first.rest()
    await waiting
    slots.check(third)


async def test_whoever_gives_up_waiting_takes_no_slot() -> None:
    slots = ProcessSlots(1, max_waiting=5)
    first, second, third = Holder(slots), Holder(slots), Holder(slots)
    await first.work()
    tasks = [asyncio.create_task(holder.work()) for holder in (second, third)]
    await settle()
    tasks[0].cancel()
    await settle()
    assert third.positions == [2, 1]
    # The grant and the cancellation fall into the same moment.
    first.rest()
    slots.release(first)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (slots.used, slots.waiting) == (0, 0)


@settings(max_examples=60, deadline=None)
@given(
    limit=st.integers(1, 3),
    per_owner=st.none() | st.integers(1, 3),
    steps=st.lists(st.tuples(st.sampled_from(["work", "rest", "cancel", "release"]), st.integers(0, 7)), max_size=60),
)
def test_never_more_than_the_limit_and_nobody_is_forgotten(
    limit: int, per_owner: int | None, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(_check(limit, per_owner, steps))


async def _check(limit: int, per_owner: int | None, steps: list[tuple[str, int]]) -> None:
    slots = ProcessSlots(limit, max_waiting=100, per_owner=per_owner)
    share = limit if per_owner is None else per_owner
    holders = [Holder(slots, owner_id=f"user-{number % 3}") for number in range(8)]
    tasks: dict[Holder, asyncio.Task[None]] = {}
    for step, number in steps:
        holder = holders[number]
        task = tasks.get(holder)
        if step == "work" and (task is None or task.done()) and not holder.is_busy:
            tasks[holder] = asyncio.create_task(holder.work())
        elif step == "cancel" and task is not None and not task.done():
            task.cancel()
        elif step == "rest" and holder.is_busy:
            holder.rest()
        elif step == "release" and holder.is_busy:
            holder.is_busy = False
            slots.release(holder)
        await settle()
        held = [holder for holder in holders if slots.holds(holder)]
        assert len(held) == slots.used <= limit
        assert all(slots.holds(holder) for holder in holders if holder.is_busy)
        at_work = Counter(holder.owner_id for holder in held if holder.is_busy)
        assert all(count <= share for count in Counter(holder.owner_id for holder in held).values())
        for owner_id in {holder.owner_id for holder, task in tasks.items() if not task.done()}:
            # Somebody waits only while all slots, or all that they may have, are taken by those at work.
            assert at_work.total() == limit or at_work[owner_id] == share
    for holder in holders:
        if holder.is_busy:
            holder.rest()
        await settle()
    while slots.waiting:
        for holder in holders:
            if holder.is_busy:
                holder.rest()
        await settle()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    await slots.aclose()
