"""The read side of the tape: queries that change nothing. The hub and the log both stand on it."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Row, Select, func, literal_column, select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import aliased

from claude_sdk_pattern.events.errors import TapeUnavailable
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import EventRow

_COLUMNS = (
    EventRow.session_id,
    EventRow.seq,
    EventRow.type,
    EventRow.turn_id,
    EventRow.actor,
    EventRow.ts_ms,
    EventRow.block_id,
    EventRow.payload,
)


class TapeReader:
    """Reads committed events. Holds no state, so any number may exist beside the writer.

    Every method raises :class:`TapeUnavailable` when the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self,
        session_id: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Collection[str] | None = None,
    ) -> list[RecordedEvent]:
        """Return the events with ``after < seq <= until``, in order, at most ``limit``, only of ``types``."""
        query = select(*_COLUMNS).where(EventRow.session_id == session_id, EventRow.seq > after)
        if until is not None:
            query = query.where(EventRow.seq <= until)
        if types is not None:
            query = query.where(EventRow.type.in_(types))
        query = query.order_by(EventRow.seq).limit(limit)
        return [_recorded(row) for row in await self._all(query)]

    async def last_seq(self, session_id: str) -> int:
        """Return the number of the last event, 0 for an empty tape or an unknown session."""
        query = select(func.max(EventRow.seq)).where(EventRow.session_id == session_id)
        ((last_seq,),) = await self._all(query)
        return last_seq or 0

    async def client_ids(self, session_id: str) -> dict[str, tuple[int, str | None]]:
        """Return ``client_id -> (seq, turn_id)`` of every message on the tape."""
        query = select(EventRow.client_id, EventRow.seq, EventRow.turn_id).where(
            EventRow.session_id == session_id, EventRow.client_id.is_not(None)
        )
        return {client_id: (seq, turn_id) for client_id, seq, turn_id in await self._all(query)}

    async def open_turns(self, session_id: str | None = None) -> list[tuple[str, str]]:
        """Return ``(session_id, turn_id)`` of every turn without a ``result``, oldest first, of one or all sessions."""
        return [(opened_in, turn_id) for opened_in, turn_id in await self._all(open_turns_query(session_id))]

    async def _all(self, query: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
        try:
            async with self._database.engine.connect() as connection:
                return (await connection.execute(query)).all()
        except (OperationalError, InterfaceError) as error:
            raise TapeUnavailable(str(error.orig)) from error


def open_turns_query(session_id: str | None) -> Select[str, str]:
    """Build the query of :meth:`TapeReader.open_turns`."""
    result = aliased(EventRow)
    is_closed = (
        select(result.seq)
        .where(
            result.session_id == EventRow.session_id,
            result.turn_id == EventRow.turn_id,
            result.type == "result",
        )
        .exists()
    )
    query = (
        select(EventRow.session_id, cast("ColumnElement[str]", EventRow.turn_id))
        # A literal, not a parameter: a planner takes a partial index only for a condition it can see.
        .where(EventRow.type == literal_column("'user_message'"), EventRow.turn_id.is_not(None), ~is_closed)
        .order_by(EventRow.ts_ms, EventRow.session_id, EventRow.seq)
    )
    return query if session_id is None else query.where(EventRow.session_id == session_id)


def _recorded(row: Row[*tuple[Any, ...]]) -> RecordedEvent:
    session_id, seq, kind, turn_id, actor, ts_ms, block_id, payload = row
    return RecordedEvent(
        session_id=session_id,
        seq=seq,
        type=kind,
        turn_id=turn_id,
        actor=actor,
        ts_ms=ts_ms,
        block_id=block_id,
        payload=payload.encode(),
    )
