"""The read side of the tape: queries that change nothing. The hub and the log both stand on it."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, literal_column, null, select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import aliased

from claude_sdk_pattern.events.errors import TapeUnavailable
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.shortening import TAIL_CHARACTERS, TOOL_RESULT, from_ends, is_long, shortened
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import EventRow

_ENVELOPE = (
    EventRow.session_id,
    EventRow.seq,
    EventRow.type,
    EventRow.turn_id,
    EventRow.actor,
    EventRow.ts_ms,
    EventRow.block_id,
)


class TapeReader:
    """Reads committed events. Holds no state, so any number may exist beside the writer.

    Every method raises :class:`TapeUnavailable` when the database does not answer.

    Args:
        database: where the tapes are.
        tool_result_bytes: how much of a tool result readers get; None: all of it.
    """

    def __init__(self, database: Database, *, tool_result_bytes: int | None = None) -> None:
        self._database = database
        self._tool_result_bytes = tool_result_bytes

    async def read(
        self,
        session_id: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Collection[str] | None = None,
    ) -> list[RecordedEvent]:
        """Return the events with ``after < seq <= until``, in order, at most ``limit``, only of ``types``.

        Long tool results are short.
        """
        query = select(*_ENVELOPE, *_payload(self._tool_result_bytes)).where(
            EventRow.session_id == session_id, EventRow.seq > after
        )
        if until is not None:
            query = query.where(EventRow.seq <= until)
        if types is not None:
            query = query.where(EventRow.type.in_(types))
        query = query.order_by(EventRow.seq).limit(limit)
        return [_recorded(row, await self._short_payload(row)) for row in await self._all(query)]

    async def get(self, session_id: str, seq: int) -> RecordedEvent | None:
        """Return one event, whole; None if there is none with this number."""
        query = select(*_ENVELOPE, EventRow.payload).where(EventRow.session_id == session_id, EventRow.seq == seq)
        return next((_recorded(row, row.payload.encode()) for row in await self._all(query)), None)

    async def latest(self, session_id: str, types: Collection[str], *, before: int, limit: int) -> list[RecordedEvent]:
        """Return the last ``limit`` events of these types with ``seq < before``, newest first."""
        query = select(*_ENVELOPE, EventRow.payload).where(
            EventRow.session_id == session_id, EventRow.type.in_(types), EventRow.seq < before
        )
        rows = await self._all(query.order_by(EventRow.seq.desc()).limit(limit))
        return [_recorded(row, row.payload.encode()) for row in rows]

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

    async def _short_payload(self, row: Row[*tuple[Any, ...]]) -> bytes:
        payload, limit = row.payload.encode(), self._tool_result_bytes
        if limit is None:
            return payload
        if row.tail is None:
            return shortened(payload, limit) if is_long(row.type, payload, limit) else payload
        short = from_ends(payload, row.tail.encode(), limit)
        if short is not None:
            return short.encode()
        # Content blocks take the whole: one at a time, so that those of a page never are in memory together.
        whole = await self.get(row.session_id, row.seq)
        return payload if whole is None else await asyncio.to_thread(shortened, whole.payload, limit)

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


def _payload(limit: int | None) -> Sequence[ColumnElement[Any]]:
    """Return the payload, or only the beginning of one that has to be short, and then its end."""
    whole = EventRow.payload.expression
    if limit is None:
        return whole, null().label("tail")
    # Databases count characters. A payload has as many bytes at least; one between the two counts comes whole.
    is_cut = and_(EventRow.type == TOOL_RESULT, func.length(whole) > limit)
    head = case((is_cut, func.substr(whole, 1, limit)), else_=whole)
    tail = case((is_cut, func.substr(whole, func.length(whole) - TAIL_CHARACTERS + 1)), else_=None)
    return head.label("payload"), tail.label("tail")


def _recorded(row: Row[*tuple[Any, ...]], payload: bytes) -> RecordedEvent:
    return RecordedEvent(
        session_id=row.session_id,
        seq=row.seq,
        type=row.type,
        turn_id=row.turn_id,
        actor=row.actor,
        ts_ms=row.ts_ms,
        block_id=row.block_id,
        payload=payload,
    )
