"""Live fan-out: committed events to any number of readers, each at its own pace."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import RecordedEvent


class Subscription:
    """One reader of one session. Made by :meth:`EventHub.subscribe`.

    ``async with hub.subscribe(session_id, after=n) as subscription: async for batch in subscription: ...``

    Iterating gives every later event that still stands once, in order: first what is on the tape, then what comes.
    It ends when the hub closes the session and raises :class:`SubscriberTooSlow` when the reader was given up.
    """

    @property
    def last_seq(self) -> int:
        """Number of the last event given out."""

    @property
    def evicted(self) -> asyncio.Event:
        """Set when the reader was given up as too slow.

        A sender that is stuck in a socket does not come back to ask for more, so whoever owns the socket waits for
        this beside it and closes with 4408.
        """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[RecordedEvent]:
        """Return the next events, at least one. The list is shared with other readers: do not change it.

        Several ``stream_event``s of one block that this reader has not seen yet come as one, with the last ``seq``.
        Cancelling loses nothing: the next call gives the same events.
        """


class EventHub:
    """Hands committed events to subscribers. A session without subscribers takes no memory."""

    def __init__(self, tape: TapeReader) -> None: ...

    def publish(self, events: Sequence[RecordedEvent]) -> None:
        """Give committed events, of any sessions, in order, to whoever reads them. Called by the log only."""

    def subscribe(self, session_id: str, *, after: int = 0) -> Subscription:
        """Return a reader of what comes after event ``after``; it takes effect when entered."""

    def subscriber_count(self, session_id: str) -> int:
        """Return how many readers the session has now."""

    def close_session(self, session_id: str) -> None:
        """End the iteration of every reader of a session that was deleted."""

    def close(self) -> None:
        """End the iteration of every reader, for shutdown."""
