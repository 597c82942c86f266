"""Live fan-out: committed events to any number of readers, each at its own pace.

Nobody has a queue. A reader is a cursor; a session that has readers keeps its latest events once, for all of them;
a reader whose cursor is older than those reads the tape. So the slowest reader costs what the fastest does.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from claude_sdk_pattern.events.errors import SubscriberTooSlow
from claude_sdk_pattern.events.merging import merge_deltas
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.ring import Ring


@dataclass(frozen=True, slots=True, kw_only=True)
class HubLimits:
    """How much a session with readers keeps, and when a reader is given up.

    A reader that has caught up once is given up when more than ``slow_bytes`` of payload stay unread by it for
    longer than ``slow_seconds``. ``page_events`` is how much of the tape is read at a time.
    """

    ring_events: int = 1024
    ring_bytes: int = 1024 * 1024
    page_events: int = 500
    slow_bytes: int = 4 * 1024 * 1024
    slow_seconds: float = 20.0


class Subscription:
    """One reader of one session. Made by :meth:`EventHub.subscribe`.

    ``async with hub.subscribe(session_id, after=n) as subscription: async for batch in subscription: ...``

    Iterating gives every later event that still stands once, in order: first what is on the tape, then what comes.
    It ends when the hub closes the session and raises :class:`SubscriberTooSlow` when the reader was given up.
    One task iterates.
    """

    def __init__(self, hub: "EventHub", session_id: str, after: int) -> None:
        self.session_id = session_id
        self.last_seq = after
        """Number of the last event given out."""
        self.evicted = asyncio.Event()
        """Set when the reader was given up as too slow.

        A sender that is stuck in a socket does not come back to ask for more, so whoever owns the socket waits for
        this beside it and closes with 4408.
        """
        self._hub = hub
        self._channel: _Channel | None = None
        self._wake = asyncio.Event()
        self._is_over = False
        self._is_last_round = False
        # What the session had published, in bytes, when this reader last had it all; None until it first has.
        self._caught_up_at: int | None = None
        self._behind_since: float | None = None

    async def __aenter__(self) -> Self:
        # Before the first look at the tape: what is published from here on is in the ring, the rest is committed.
        self._channel = self._hub.enter(self)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._channel = None
        self._hub.leave(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[RecordedEvent]:
        """Return the next events, at least one. The list is shared with other readers: do not change it.

        Several ``stream_event``s of one block that this reader has not seen yet come as one, with the last ``seq``.
        Cancelling loses nothing: the next call gives the same events.

        Raises:
            SubscriberTooSlow: the reader was given up.
            TapeUnavailable: the tape could not be read; calling again tries again.
        """
        channel = self._channel
        if channel is None:
            raise RuntimeError("enter the subscription before iterating over it")
        while True:
            if self.evicted.is_set():
                raise SubscriberTooSlow(self.session_id, self.last_seq)
            if self._is_over:
                raise StopAsyncIteration
            # Cleared before looking, so that an event published between the look and the wait ends the wait.
            self._wake.clear()
            is_last_round = self._is_last_round
            batch = await self._next_batch(channel.ring)
            if batch:
                self.last_seq = batch[-1].seq
                return batch
            if is_last_round:
                raise StopAsyncIteration
            await self._wake.wait()

    async def _next_batch(self, ring: Ring) -> list[RecordedEvent]:
        if not ring.covers(self.last_seq):
            page = await self._hub.read_page(self.session_id, self.last_seq)
            if page:
                return page
        # The tape holds nothing that the ring does not: this reader has caught up.
        self._caught_up_at, self._behind_since = ring.total_bytes, None
        return ring.after(self.last_seq)

    def notify(self, published_bytes: int, now: float, limits: HubLimits) -> None:
        """Wake the reader, or give it up. Called by the hub, with the bytes published in all and the time."""
        self._wake.set()
        if self._caught_up_at is None or published_bytes - self._caught_up_at <= limits.slow_bytes:
            return
        if self._behind_since is None:
            self._behind_since = now
        if now - self._behind_since >= limits.slow_seconds:
            self.evicted.set()

    def end(self) -> None:
        """Let the iteration end once the reader asks for more, whatever it has not seen yet."""
        self._is_over = True
        self._wake.set()

    def finish(self) -> None:
        """Let the iteration end once the reader has everything. Called by the hub."""
        self._is_last_round = True
        self._wake.set()


@dataclass(slots=True)
class _Channel:
    """A session that has readers."""

    ring: Ring
    readers: set[Subscription] = field(default_factory=set[Subscription])


class EventHub:
    """Hands committed events to subscribers. A session without subscribers takes no memory."""

    def __init__(
        self, tape: TapeReader, *, limits: HubLimits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tape = tape
        self._limits = limits or HubLimits()
        self._clock = clock
        self._channels: dict[str, _Channel] = {}
        self._is_closed = False
        self._deserted = asyncio.Event()
        self._deserted.set()

    def publish(self, events: Sequence[RecordedEvent]) -> None:
        """Give committed events, of any sessions, in order, to whoever reads them. Called by the log only."""
        read: dict[str, list[RecordedEvent]] = {}
        for event in events:
            if event.session_id in self._channels:
                read.setdefault(event.session_id, []).append(event)
        now = self._clock()
        for session_id, news in read.items():
            channel = self._channels[session_id]
            channel.ring.extend(news)
            for reader in channel.readers:
                reader.notify(channel.ring.total_bytes, now, self._limits)

    def subscribe(self, session_id: str, *, after: int = 0) -> Subscription:
        """Return a reader of what comes after event ``after``; it takes effect when entered.

        ``after`` must not be beyond the tape: see :func:`claude_sdk_pattern.events.resume.resume_point`.
        """
        return Subscription(self, session_id, after)

    def subscriber_count(self, session_id: str) -> int:
        """Return how many readers the session has now."""
        channel = self._channels.get(session_id)
        return 0 if channel is None else len(channel.readers)

    def close_session(self, session_id: str) -> None:
        """End the iteration of every reader of a session that was deleted."""
        channel = self._channels.get(session_id)
        for reader in channel.readers if channel is not None else ():
            reader.end()

    def close(self) -> None:
        """End the iteration of every reader once it has read to the end, now and in future, for shutdown."""
        self._is_closed = True
        for channel in self._channels.values():
            for reader in channel.readers:
                reader.finish()

    async def wait_deserted(self) -> None:
        """Wait until nobody reads. After :meth:`close` that takes as long as the slowest reader."""
        await self._deserted.wait()

    def enter(self, subscription: Subscription) -> "_Channel":
        """Count a subscription among its session's readers. Called by the subscription."""
        channel = self._channels.get(subscription.session_id)
        if channel is None:
            ring = Ring(self._limits.ring_events, self._limits.ring_bytes)
            channel = self._channels[subscription.session_id] = _Channel(ring)
        channel.readers.add(subscription)
        self._deserted.clear()
        if self._is_closed:
            subscription.finish()
        return channel

    def leave(self, subscription: Subscription) -> None:
        """Forget a subscription, and with the last one everything about its session. Called by the subscription."""
        channel = self._channels.get(subscription.session_id)
        if channel is None:
            return
        channel.readers.discard(subscription)
        if not channel.readers:
            del self._channels[subscription.session_id]
        if not self._channels:
            self._deserted.set()

    async def read_page(self, session_id: str, after: int) -> list[RecordedEvent]:
        """Return the next part of the tape, deltas merged; empty at its end. Called by subscriptions."""
        return merge_deltas(await self._tape.read(session_id, after=after, limit=self._limits.page_events))
