"""The append side of the tape: numbering, group commit, publication, and what changes a tape afterwards."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import structlog
from sqlalchemy.exc import InterfaceError, OperationalError

from claude_sdk_pattern.events.drafts import Draft, Pending, Waiter, draft
from claude_sdk_pattern.events.errors import TapeClosed, TapeError, TapeOverloaded, TapeUnavailable
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.numbering import Outcome
from claude_sdk_pattern.events.postgres_writer import PostgresWriter
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import SYSTEM, RecordedEvent
from claude_sdk_pattern.events.sqlite_writer import SqliteWriter
from claude_sdk_pattern.events.types import Event, Result
from claude_sdk_pattern.events.upkeep import copy_events, delete_superseded
from claude_sdk_pattern.events.writers import DatabaseTrouble, TapeWriter
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.retrying import Patience, retried

_logger = structlog.get_logger(__name__)

_TROUBLE = (DatabaseTrouble, OperationalError, InterfaceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimits:
    """How much may wait for the database, and how long the log keeps trying.

    ``max_pending_bytes`` is for ordinary events, ``max_pending_large_bytes`` for those over 1 MiB: each alone makes the
    log refuse events of its kind. The latter is three times the longest line that an agent process may send.
    ``tool_result_bytes`` is how much of a tool result readers get; None: all of it.

    Retries begin after ``retry_first_seconds``, each waits twice as long as the one before up to
    ``retry_max_seconds``, and a batch is given up ``give_up_after_seconds`` after its first attempt.
    """

    max_pending_events: int = 10_000
    max_pending_bytes: int = 4 * 1024 * 1024
    max_pending_large_bytes: int = 192 * 1024 * 1024
    tool_result_bytes: int | None = None
    retry_first_seconds: float = 0.02
    retry_max_seconds: float = 1.0
    give_up_after_seconds: float = 10.0


class EventLog:
    """The one writer of all tapes of this process.

    ``hub = EventHub(TapeReader(database)); async with EventLog(database, hub) as log: ...``. The caller keeps
    ownership of the database and the hub and closes them after the log.

    ``may_write`` tells by its id whether a session's tape is this server's to write; asked for each commit, on the
    event loop. Without it all are.
    """

    def __init__(
        self,
        database: Database,
        hub: EventHub,
        *,
        limits: LogLimits | None = None,
        may_write: Callable[[str], bool] | None = None,
    ) -> None:
        self._database = database
        self._hub = hub
        self._limits = limits or LogLimits()
        self._patience = Patience(
            first_seconds=self._limits.retry_first_seconds,
            longest_seconds=self._limits.retry_max_seconds,
            give_up_after_seconds=self._limits.give_up_after_seconds,
        )
        self._reader = TapeReader(database, tool_result_bytes=self._limits.tool_result_bytes)
        self._writer = _writer_for(database, may_write)
        self._pending = Pending()
        self._wake = asyncio.Event()
        # Held while anything changes a tape, so that appends and upkeep take turns instead of waiting for locks.
        self._changing = asyncio.Lock()
        self._flusher: asyncio.Task[None] | None = None
        # Done when the newest batch is; batches end in the order they began.
        self._newest_batch: asyncio.Future[None] | None = None
        # Turns of which an event was given up, until whoever runs them asks.
        self._damaged: set[tuple[str, str]] = set()
        self._is_closing = False
        self._closing = asyncio.Lock()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def append(
        self, session_id: str, event: Event, *, turn_id: str | None = None, actor: str
    ) -> asyncio.Future[RecordedEvent]:
        """Put an event on the tape. Never blocks; call it on the event loop's thread.

        The future is resolved once the event is committed and published. Cancelling it (or the task that awaits it)
        does not take the event back. It fails with :class:`DuplicateClientId`, :class:`UnknownSession`,
        :class:`TapeTakenOver` or :class:`TapeUnavailable`. Neighbouring ``stream_event``s of one block that wait for
        the same commit become one event, so several futures may resolve to the same event.

        Raises:
            TapeOverloaded: too much waits already.
            TapeClosed: the log is shut down.
            ValueError: an id is empty, longer than its column, or not printable.
        """
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._enqueue(session_id, event, turn_id, actor).waiters.append(waiter)
        return waiter

    def append_nowait(self, session_id: str, event: Event, *, turn_id: str | None = None, actor: str) -> None:
        """Like :meth:`append` for callers that need no answer, such as deltas; a later failure is only logged."""
        self._enqueue(session_id, event, turn_id, actor)

    async def read(
        self,
        session_id: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Collection[str] | None = None,
    ) -> list[RecordedEvent]:
        """Return the committed events with ``after < seq <= until``, in order, at most ``limit``, only of ``types``.

        Long tool results are short, as all readers get them; :meth:`get` returns one as it is.
        """
        return await self._reader.read(session_id, after=after, until=until, limit=limit, types=types)

    async def get(self, session_id: str, seq: int) -> RecordedEvent | None:
        """Return one committed event, whole however long it is; None if there is none with this number."""
        return await self._reader.get(session_id, seq)

    async def last_seq(self, session_id: str) -> int:
        """Return the number of the last committed event, 0 for an empty tape or an unknown session."""
        return await self._reader.last_seq(session_id)

    async def client_ids(self, session_id: str) -> dict[str, tuple[int, str | None]]:
        """Return ``client_id -> (seq, turn_id)`` of every message on the tape."""
        return await self._reader.client_ids(session_id)

    async def open_turns(self, session_id: str | None = None) -> list[tuple[str, str]]:
        """Return ``(session_id, turn_id)`` of every turn without a ``result``, oldest first, of one or all sessions."""
        return await self._reader.open_turns(session_id)

    async def latest(self, session_id: str, types: Collection[str], *, before: int, limit: int) -> list[RecordedEvent]:
        """Return the last ``limit`` events of these types with ``seq < before``, newest first."""
        return await self._reader.latest(session_id, types, before=before, limit=limit)

    async def compact(self, session_id: str, turn_id: str) -> int:
        """Delete the deltas of a turn whose complete block is on the tape; return how many.

        The highest-numbered event of a session is never deleted: after a restart numbering goes on from it.

        Raises:
            TapeUnavailable: the database did not answer within the retry time; some may be deleted.
        """
        # What completes the last blocks may still wait for its commit, and nobody comes back for deltas left over.
        await self.flush()
        deleted = 0
        while chunk := await self._retried(
            lambda: self._database.write(lambda connection: delete_superseded(connection, session_id, turn_id))
        ):
            deleted += chunk
        return deleted

    async def copy(self, source: str, target: str, *, until: int | None = None) -> int:
        """Copy a tape up to and including ``until`` into the empty tape of the existing session ``target``.

        Numbers, times and actors stay; ``client_id`` no longer counts for idempotency. Turns that have no ``result``
        within the copy get an ``interrupted`` one. Returns the target's last ``seq``.

        Raises:
            UnknownSession: there is no session ``target``.
            TapeNotEmpty: ``target`` has events.
            TapeUnavailable: the database did not answer within the retry time.
        """
        copied = await self._retried(
            lambda: self._database.write(lambda connection: copy_events(connection, source, target, until))
        )
        interrupted = Result(subtype="interrupted", is_error=False)
        closing = [self.append(target, interrupted, turn_id=turn_id, actor=SYSTEM) for turn_id in copied.open_turns]
        results = await asyncio.gather(*closing)
        return results[-1].seq if results else copied.last_seq

    def is_damaged(self, session_id: str, turn_id: str) -> bool:
        """Return whether an event of a turn was given up because the database did not answer; say so once.

        Events that still wait are not lost yet: call :meth:`flush` before.
        """
        key = (session_id, turn_id)
        is_damaged = key in self._damaged
        self._damaged.discard(key)
        return is_damaged

    async def flush(self) -> None:
        """Wait until everything appended before this call is committed and published, or has failed."""
        if self._newest_batch is not None:
            await asyncio.shield(self._newest_batch)

    async def aclose(self) -> None:
        """Refuse further appends, write what waits, release the connection. Safe to call twice.

        Takes at most about twice the retry time when the database does not answer. If cancelled, what still waits
        fails with :class:`TapeUnavailable`.
        """
        self._is_closing = True
        self._wake.set()
        async with self._closing:
            if self._is_closed:
                return
            try:
                if self._flusher is not None:
                    await self._flusher
            finally:
                self._is_closed = True
                await self._writer.aclose()

    def _enqueue(self, session_id: str, event: Event, turn_id: str | None, actor: str) -> Draft:
        if self._is_closing:
            raise TapeClosed
        pending, limits = self._pending, self._limits
        if pending.events >= limits.max_pending_events or pending.bytes >= limits.max_pending_bytes:
            raise TapeOverloaded(pending.events, pending.bytes)
        made = pending.join(session_id, event, turn_id, actor)
        if made is not None:
            return made
        made = draft(session_id, event, turn_id, actor, time.time_ns() // 1_000_000)
        if made.is_large and pending.large_bytes >= limits.max_pending_large_bytes:
            raise TapeOverloaded(pending.events, pending.large_bytes)
        if not pending:
            self._newest_batch = asyncio.get_running_loop().create_future()
            self._wake.set()
        pending.add(made)
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_until_closed(), name="tape-flusher")
        return made

    async def _flush_until_closed(self) -> None:
        try:
            while self._pending or not self._is_closing:
                await self._wake.wait()
                self._wake.clear()
                # Whatever came while one commit was under way makes up the next: no timer, no batch size to tune.
                while self._pending:
                    await self._commit_pending()
        except asyncio.CancelledError as error:
            # The shutdown itself was cancelled: nobody may wait for what will not be written.
            self._give_up(self._pending.take(), error)
            _finish(self._newest_batch)
            raise

    async def _commit_pending(self) -> None:
        drafts, batch = self._pending.take(), self._newest_batch
        try:
            for made in drafts:
                made.seal()
            self._announce(drafts, await self._retried(lambda: self._writer.write(drafts)))
        except asyncio.CancelledError as error:
            self._give_up(drafts, error)
            raise
        except Exception as error:  # noqa: BLE001 - every tape hangs on this task: no error may end it
            self._give_up(drafts, error)
        finally:
            self._pending.settle(drafts)
            _finish(batch)

    def _announce(self, drafts: list[Draft], outcomes: list[Outcome]) -> None:
        short = self._limits.tool_result_bytes
        ends = [
            (made, made.recorded(outcome, short) if isinstance(outcome, int) else outcome)
            for made, outcome in zip(drafts, outcomes, strict=True)
        ]
        # Whoever waits for an event goes on before those who watch are told: the agent gets a message before its echo
        # is sent. Both happen before anything else runs.
        for made, end in ends:
            if isinstance(end, RecordedEvent):
                _resolve(made, end)
            else:
                _reject(made, end)
        self._hub.publish([end for _, end in ends if isinstance(end, RecordedEvent)])

    def _give_up(self, drafts: list[Draft], error: BaseException) -> None:
        if not drafts:
            return
        _logger.error("tape_batch_lost", events=len(drafts), exc_info=error)
        self._damaged.update((made.session_id, made.turn_id) for made in drafts if made.turn_id is not None)
        for made in drafts:
            # One exception for each: a shared one would collect the traceback of everybody it is raised in.
            lost = TapeUnavailable(str(error))
            lost.__cause__ = error
            for waiter in made.waiters:
                if not waiter.done():
                    waiter.set_exception(lost)

    async def _retried[T](self, attempt: Callable[[], Awaitable[T]]) -> T:
        async def alone() -> T:
            async with self._changing:
                return await attempt()

        def warn(error: Exception, delay: float) -> None:
            _logger.warning("tape_retry", reason=str(error.__cause__ or error), delay_seconds=delay)

        try:
            return await retried(alone, self._patience, on=_TROUBLE, before_retry=warn)
        except _TROUBLE as error:
            reason = error.__cause__ or error
            raise TapeUnavailable(str(reason)) from reason


def _finish(batch: asyncio.Future[None] | None) -> None:
    if batch is not None and not batch.done():
        batch.set_result(None)


def _resolve(made: Draft, event: RecordedEvent) -> None:
    for waiter in made.waiters:
        if not waiter.done():
            waiter.set_result(event)


def _reject(made: Draft, error: TapeError) -> None:
    if not made.waiters:
        _logger.warning("tape_event_refused", session_id=made.session_id, type=made.type, reason=str(error))
    for waiter in made.waiters:
        if not waiter.done():
            waiter.set_exception(error)


def _writer_for(database: Database, may_write: Callable[[str], bool] | None) -> TapeWriter:
    if database.dialect == "sqlite":
        return SqliteWriter(database.sqlite_path, may_write)
    return PostgresWriter(database.conninfo, may_write)
