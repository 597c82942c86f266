"""How many agent processes may live at once, and who gives way when there are too many."""

import asyncio
from typing import Protocol


class SlotHolder(Protocol):
    """A conversation, as far as slots are concerned."""

    @property
    def is_busy(self) -> bool:
        """Whether its process is at work, so that it cannot be taken away."""
        ...

    @property
    def idle_since(self) -> float:
        """When it was last at work, on the event loop's clock, in seconds."""
        ...

    async def hibernate(self) -> None:
        """End its process; releases its slot."""
        ...


class ProcessSlots:
    """A bound on live processes. A conversation holds a slot for as long as it has a process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._holders: set[SlotHolder] = set()
        self._freed = asyncio.Condition()

    @property
    def used(self) -> int:
        """How many slots are taken."""
        return len(self._holders)

    @property
    def is_full(self) -> bool:
        """Whether a further process has to wait for another to end."""
        return len(self._holders) >= self._limit

    async def acquire(self, holder: SlotHolder) -> None:
        """Take a slot, from the conversation that has been idle longest if need be; wait while all are at work."""
        if holder in self._holders:
            return
        while self.is_full:
            if idle := self._idle():
                await min(idle, key=lambda other: other.idle_since).hibernate()
                continue
            async with self._freed:
                await self._freed.wait_for(lambda: not self.is_full or bool(self._idle()))
        self._holders.add(holder)

    async def release(self, holder: SlotHolder) -> None:
        """Give a slot back."""
        self._holders.discard(holder)
        await self.notify()

    def _idle(self) -> list[SlotHolder]:
        return [holder for holder in self._holders if not holder.is_busy]

    async def notify(self) -> None:
        """Tell those who wait that a holder has become idle or gone."""
        async with self._freed:
            self._freed.notify_all()
