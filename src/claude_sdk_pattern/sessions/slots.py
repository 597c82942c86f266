"""How many agent processes may live at once, who gives way when there are too many, and who is next in line.

A conversation holds a slot for as long as it has a process. When all slots are taken, the conversation that has been
idle longest gives its own up, unwatched ones first. When all are at work, the others wait in line: the next slot goes
to the person who has the fewest, and among equals to whoever came first, so that one with fifty open questions does
not keep everybody else out. Where nobody may hold more than so many, somebody who does gives up one of their own for
the next.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from claude_sdk_pattern.sessions.errors import TooManyWaitingError


class SlotHolder(Protocol):
    """A conversation, as far as slots are concerned."""

    @property
    def owner_id(self) -> str:
        """Whose conversation it is; slots are shared out fairly between owners."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether its process is at work, so that it cannot be taken away."""
        ...

    @property
    def is_watched(self) -> bool:
        """Whether anybody has it open, so that others should give way first."""
        ...

    @property
    def idle_since(self) -> float:
        """When it was last at work, on the event loop's clock, in seconds."""
        ...

    async def hibernate(self) -> None:
        """End its process; releases its slot. A busy one keeps both."""
        ...

    def on_queued(self, position: int) -> None:
        """Learn its place in line, counted from 1, whenever that changes."""
        ...


@dataclass(slots=True, eq=False)
class _Waiter:
    holder: SlotHolder
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    position: int = 0


class ProcessSlots:
    """A bound on live processes.

    Args:
        limit: how many conversations may hold a slot at once.
        max_waiting: how many more may wait for one.
        per_owner: how many conversations of one person may hold a slot at once; None for as many as there are.
    """

    def __init__(self, limit: int, *, max_waiting: int, per_owner: int | None = None) -> None:
        self._limit = limit
        self._per_owner = limit if per_owner is None else per_owner
        self._max_waiting = max_waiting
        self._holders: set[SlotHolder] = set()
        self._waiting: list[_Waiter] = []
        self._evictions: dict[SlotHolder, asyncio.Task[None]] = {}

    @property
    def used(self) -> int:
        """How many slots are taken."""
        return len(self._holders)

    @property
    def waiting(self) -> int:
        """How many conversations wait for a slot."""
        return len(self._waiting)

    def is_free_for(self, holder: SlotHolder) -> bool:
        """Whether a conversation would get a slot at once, and nobody would have to give one up or wait for it."""
        is_below = self._held_by(holder.owner_id) < self._per_owner
        return not self._waiting and len(self._holders) < self._limit and is_below

    def holds(self, holder: SlotHolder) -> bool:
        """Whether a conversation has a slot."""
        return holder in self._holders

    def check(self, holder: SlotHolder) -> None:
        """Find out whether a conversation could wait for a slot now.

        Raises:
            TooManyWaitingError: it has none, none can be had, and the line is full.
        """
        is_served = holder in self._holders or any(waiter.holder is holder for waiter in self._waiting)
        if not is_served and len(self._waiting) - self._available(holder.owner_id) >= self._max_waiting:
            raise TooManyWaitingError(len(self._waiting))

    async def acquire(self, holder: SlotHolder) -> None:
        """Take a slot, or wait in line for one.

        Raises:
            TooManyWaitingError: the line is full.
        """
        if holder in self._holders:
            return
        self.check(holder)
        waiter = _Waiter(holder)
        self._waiting.append(waiter)
        self._serve()
        try:
            await waiter.granted
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            else:
                self._holders.discard(holder)
            self._serve()
            raise

    def release(self, holder: SlotHolder) -> None:
        """Give a slot back; giving none back is fine."""
        self._holders.discard(holder)
        self._serve()

    def notify(self) -> None:
        """Learn that a holder has become idle and could be asked for its slot."""
        self._serve()

    async def aclose(self) -> None:
        """Wait until nobody is being sent away any more."""
        if self._evictions:
            await asyncio.gather(*self._evictions.values(), return_exceptions=True)

    def _available(self, owner_id: str) -> int:
        """Return how many slots are free for somebody, or could be made so."""
        gone = [*self._idle(), *self._evictions]
        free = max(0, self._limit - len(self._holders)) + len(gone)
        own = self._held_by(owner_id) - sum(holder.owner_id == owner_id for holder in gone)
        return max(0, min(free, self._per_owner - own))

    def _held_by(self, owner_id: str) -> int:
        return sum(holder.owner_id == owner_id for holder in self._holders)

    def _idle(self) -> list[SlotHolder]:
        """Return who could be sent away, the first to go first."""
        idle = [holder for holder in self._holders if not holder.is_busy and holder not in self._evictions]
        return sorted(idle, key=lambda holder: (holder.is_watched, holder.idle_since))

    def _serve(self) -> None:
        """Give out what is free, make room for those who then still wait, and tell the rest their place."""
        for waiter in self._line():
            if len(self._holders) < self._limit and self._held_by(waiter.holder.owner_id) < self._per_owner:
                self._waiting.remove(waiter)
                self._holders.add(waiter.holder)
                waiter.granted.set_result(None)
        leaving, idle = list(self._evictions), self._idle()
        for position, waiter in enumerate(self._line(), start=1):
            # Where room is being made, it is a matter of milliseconds.
            if not self._has_room_made(waiter.holder.owner_id, leaving, idle) and waiter.position != position:
                waiter.position = position
                waiter.holder.on_queued(position)

    def _has_room_made(self, owner_id: str, leaving: list[SlotHolder], idle: list[SlotHolder]) -> bool:
        """Find one who leaves for somebody's sake, among those who do anyway or who could; take them off the lists."""
        only_own = self._held_by(owner_id) >= self._per_owner
        for holders in (leaving, idle):
            for holder in holders:
                if holder.owner_id == owner_id or not only_own:
                    holders.remove(holder)
                    if holders is idle:
                        self._evictions[holder] = asyncio.create_task(self._evict(holder))
                    return True
        return False

    def _line(self) -> list[_Waiter]:
        """Return who waits in the order in which they will be served, as things stand."""
        held = Counter(holder.owner_id for holder in self._holders if holder.is_busy)
        rest, line = list(self._waiting), list[_Waiter]()
        while rest:
            # `min` keeps the first among equals, and the list is in order of arrival.
            chosen = min(rest, key=lambda waiter: held[waiter.holder.owner_id])
            rest.remove(chosen)
            line.append(chosen)
            held[chosen.holder.owner_id] += 1
        return line

    async def _evict(self, holder: SlotHolder) -> None:
        try:
            await holder.hibernate()
        finally:
            del self._evictions[holder]
            self._serve()
