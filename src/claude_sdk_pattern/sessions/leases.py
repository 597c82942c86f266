"""Leases: a session is worked on by one server at a time.

Whoever works on a session holds its lease, a row that says until when, by the database's clock. A server renews all it
holds in one statement, three times within the life of a lease. One that was killed renews nothing, and when its leases
have expired others may take them.

A server that was only paused, or cut off from the database, does not know that it lost them. Hence each lease is also
timed here, from before the database was asked, so that it ends here first: :meth:`Leases.holds` says no from then on,
and whoever is about to write asks it.
"""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import structlog
from sqlalchemy import ColumnElement, Integer, delete, literal_column, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DataError, IntegrityError
from uuid_utils import uuid4

from claude_sdk_pattern.sessions.errors import SessionElsewhereError, SessionNotFoundError
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionLeaseRow

logger = structlog.get_logger(__name__)

_BEATS_PER_LEASE = 3

# Milliseconds since 1970 as the database counts them while it executes the statement. Written for SQLite 3.40, which
# has no function for it.
_NOW_MS = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
}


def _boot_clock() -> float:
    """Return seconds on a clock that also runs while the machine sleeps, which asyncio's does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True, eq=False)
class _Lease:
    """A lease this server holds: until when it may count on it, on its own clock, in seconds."""

    valid_until: float


class Leases:
    """The leases of this server. ``async with Leases(...)`` renews them until the end; it does not give them back.

    Args:
        database: where the rows are.
        node_id: names this server's data folder. A lease of the same node is taken over at once: only one server at a
            time runs on a folder, so the one that held it is dead.
        lease_seconds: how long a lease lasts that is not renewed.
        clock: seconds that pass, also while the machine sleeps.
    """

    def __init__(
        self, database: Database, *, node_id: str, lease_seconds: float, clock: Callable[[], float] = _boot_clock
    ) -> None:
        self.node_id = node_id
        self.on_lost: Callable[[str], None] = lambda _: None
        """Called with the id of a session whose lease was lost: stop working on it, at once, and write nothing."""
        self._database = database
        self._run_id = str(uuid4())
        self._seconds = lease_seconds
        self._clock = clock
        self._held: dict[str, _Lease] = {}
        self._heart: asyncio.Task[None] | None = None
        self._now_ms: ColumnElement[int] = literal_column(_NOW_MS[database.dialect], Integer)

    async def __aenter__(self) -> Self:
        self._heart = asyncio.create_task(self._beat(), name="lease-heartbeat")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)

    @property
    def beat_seconds(self) -> float:
        """How often leases are renewed."""
        return self._seconds / _BEATS_PER_LEASE

    def holds(self, session_id: str) -> bool:
        """Whether this server holds the lease now. A lease that has run out is lost by asking."""
        lease = self._held.get(session_id)
        if lease is None:
            return False
        if self._clock() < lease.valid_until:
            return True
        # Not to be had back by a renewal that is under way: whoever asked may have left something unwritten.
        self._lose(session_id, "it could not be renewed in time")
        return False

    async def acquire(self, session_id: str) -> str | None:
        """Take the lease if it is free, expired or this node's own.

        Returns the node that held it last and did not give it back, None if there is none: what that one was doing
        broke off.

        Raises:
            SessionElsewhereError: another server holds it.
            SessionNotFoundError: there is no such session.
        """
        asked_at = self._clock()
        try:
            taken = await self._database.write(lambda connection: connection.execute(self._taking(session_id)).first())
        except (IntegrityError, DataError) as error:
            raise SessionNotFoundError(f"no session {session_id}") from error
        if taken is None:
            raise SessionElsewhereError(await self._seconds_left(session_id))
        self._held[session_id] = _Lease(asked_at + self._seconds)
        return taken[0]

    async def release(self, session_id: str) -> None:
        """Give a lease back; one that was lost meanwhile is left alone."""
        self.let_expire(session_id)
        statement = delete(SessionLeaseRow).where(SessionLeaseRow.session_id == session_id, *self._is_this_run())
        await self._database.write(lambda connection: connection.execute(statement))

    def let_expire(self, session_id: str) -> None:
        """Stop renewing a lease: a turn could not be closed, and whoever finds the lease expired will close it."""
        self._held.pop(session_id, None)

    async def expired(self) -> list[str]:
        """Return the sessions whose lease nobody renews any more."""
        query = select(SessionLeaseRow.session_id).where(SessionLeaseRow.expires_at_ms <= self._now_ms)
        async with self._database.reading() as session:
            return list((await session.scalars(query)).all())

    async def forget_earlier_runs(self) -> None:
        """Give back what an earlier run of this node held when it was killed."""
        statement = delete(SessionLeaseRow).where(
            SessionLeaseRow.node_id == self.node_id, SessionLeaseRow.run_id != self._run_id
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def renew(self) -> None:
        """Renew every lease that is held. One that another server has taken is lost."""
        held = dict(self._held)
        if not held:
            return
        asked_at = self._clock()
        statement = (
            update(SessionLeaseRow)
            .where(SessionLeaseRow.session_id.in_(list(held)), *self._is_this_run())
            .values(expires_at_ms=self._expires_at_ms())
            .returning(SessionLeaseRow.session_id)
        )
        renewed = await self._database.write(lambda connection: set(connection.scalars(statement)))
        for session_id, lease in held.items():
            # Released or taken anew while the database was working on it: then this answer is about another lease.
            if self._held.get(session_id) is not lease:
                continue
            if session_id in renewed:
                lease.valid_until = max(lease.valid_until, asked_at + self._seconds)
            else:
                self._lose(session_id, "another server has taken it")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(min(self.beat_seconds, self._seconds_valid()))
            self._lose_expired()
            give_up_at = self._clock() + self._seconds
            renewal = asyncio.create_task(self.renew())
            try:
                # A database that hangs must not keep this from noticing that time is up.
                while not renewal.done() and self._clock() < give_up_at:
                    await asyncio.wait({renewal}, timeout=min(self.beat_seconds, self._seconds_valid()))
                    self._lose_expired()
            finally:
                renewal.cancel()
                [failure] = await asyncio.gather(renewal, return_exceptions=True)
            if isinstance(failure, Exception):
                logger.warning("leases_not_renewed", leases=len(self._held), error=str(failure).partition("\n")[0])

    def _seconds_valid(self) -> float:
        """Return how long the lease that ends first may be counted on."""
        ends = min((lease.valid_until for lease in self._held.values()), default=math.inf)
        return max(0.0, ends - self._clock())

    def _lose_expired(self) -> None:
        for session_id in list(self._held):
            self.holds(session_id)

    def _lose(self, session_id: str, reason: str) -> None:
        del self._held[session_id]
        logger.warning("lease_lost", session_id=session_id, reason=reason)
        self.on_lost(session_id)

    async def _seconds_left(self, session_id: str) -> int:
        query = select(SessionLeaseRow.expires_at_ms - self._now_ms).where(SessionLeaseRow.session_id == session_id)
        async with self._database.reading() as session:
            left_ms = await session.scalar(query)
        return max(1, math.ceil((left_ms or 0) / 1000))

    def _taking(self, session_id: str) -> Any:
        row = SessionLeaseRow
        insert = sqlite.insert if self._database.dialect == "sqlite" else postgresql.insert
        statement = insert(row).values(
            session_id=session_id,
            node_id=self.node_id,
            run_id=self._run_id,
            taken_from=None,
            expires_at_ms=self._expires_at_ms(),
        )
        return statement.on_conflict_do_update(
            index_elements=[row.session_id],
            set_={
                "taken_from": row.node_id,
                "node_id": self.node_id,
                "run_id": self._run_id,
                "expires_at_ms": self._expires_at_ms(),
            },
            where=or_(row.node_id == self.node_id, row.expires_at_ms <= self._now_ms),
        ).returning(row.taken_from)

    def _expires_at_ms(self) -> ColumnElement[int]:
        return self._now_ms + round(self._seconds * 1000)

    def _is_this_run(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        # The run as well: should two servers come to share a node id, the one that started later keeps its leases.
        return SessionLeaseRow.node_id == self.node_id, SessionLeaseRow.run_id == self._run_id
