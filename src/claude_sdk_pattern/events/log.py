"""The append side of the tape: numbering, group commit, publication, and what changes a tape afterwards."""

import asyncio
from types import TracebackType
from typing import Self

from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.storage.database import Database


class EventLog:
    """The one writer of all tapes of this process.

    ``hub = EventHub(TapeReader(database)); async with EventLog(database, hub) as log: ...``. The caller keeps
    ownership of the database and the hub and closes them after the log.
    """

    def __init__(self, database: Database, hub: EventHub) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def append(
        self, session_id: str, event: Event, *, turn_id: str | None = None, actor: str
    ) -> asyncio.Future[RecordedEvent]:
        """Put an event on the tape. Never blocks; call it on the event loop's thread.

        The future is resolved once the event is committed and published. Cancelling it (or the task that awaits it)
        does not take the event back. It fails with :class:`DuplicateClientId`, :class:`UnknownSession` or
        :class:`TapeUnavailable`. Neighbouring ``stream_event``s of one block that wait for the same commit become
        one event, so several futures may resolve to the same event.

        Raises:
            TapeOverloaded: too much waits already.
            TapeClosed: the log is shut down.
            ValueError: an id is longer than its column.
        """

    def append_nowait(self, session_id: str, event: Event, *, turn_id: str | None = None, actor: str) -> None:
        """Like :meth:`append` for callers that need no answer, such as deltas; a later failure is only logged."""

    async def read(
        self, session_id: str, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[RecordedEvent]:
        """Return the committed events with ``after < seq <= until``, in order, at most ``limit``."""

    async def last_seq(self, session_id: str) -> int:
        """Return the number of the last committed event, 0 for an empty tape or an unknown session."""

    async def client_ids(self, session_id: str) -> dict[str, tuple[int, str | None]]:
        """Return ``client_id -> (seq, turn_id)`` of every message on the tape."""

    async def open_turns(self) -> list[tuple[str, str]]:
        """Return ``(session_id, turn_id)`` of every turn without a ``result``, over all sessions, oldest first."""

    async def compact(self, session_id: str, turn_id: str) -> int:
        """Delete the deltas of a turn whose complete block is on the tape; return how many.

        The highest-numbered event of a session is never deleted: after a restart numbering goes on from it.
        """

    async def copy(self, source: str, target: str, *, until: int | None = None) -> int:
        """Copy a tape up to and including ``until`` into the empty tape of the existing session ``target``.

        Numbers, times and actors stay; ``client_id`` no longer counts for idempotency. Turns that have no ``result``
        within the copy get an ``interrupted`` one. Returns the target's last ``seq``.

        Raises:
            UnknownSession: there is no session ``target``.
            TapeNotEmpty: ``target`` has events.
            TapeUnavailable: the database did not answer within the retry time.
        """

    async def flush(self) -> None:
        """Wait until everything appended before this call is committed and published, or has failed."""

    async def aclose(self) -> None:
        """Refuse further appends, write what waits, release the connection. Safe to call twice."""
