"""Writes the tape to PostgreSQL through one connection of its own."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, LiteralString, override

import psycopg
from psycopg.conninfo import conninfo_to_dict

from claude_sdk_pattern.events.numbering import ClientKey, Recorded
from claude_sdk_pattern.events.writers import DatabaseTrouble, Row, TapeWriter

_CONNECT_TIMEOUT_SECONDS: Final = 5

# A commit that takes this long is waiting for a lock that nobody gives back.
_STATEMENT_TIMEOUT_MS: Final = 10_000

# Two characters that occur in no value: JSON escapes control characters, and the log refuses ids that hold any.
_SEPARATOR: Final = "\x1e"
_NULL: Final = "\x1d"

_COLUMN: LiteralString = "string_to_array(%s, E'\\x1e', E'\\x1d')"

# One statement, one round trip, one transaction. Each column travels as one string: measured against COPY, arrays,
# many-row VALUES and a pipeline, this is the fastest up to 100 rows and close to COPY at 1000.
_INSERT: LiteralString = f"""
    INSERT INTO events (session_id, seq, type, turn_id, block_id, client_id, actor, ts_ms, payload)
    SELECT * FROM unnest(
        {_COLUMN}, {_COLUMN}::bigint[], {_COLUMN}, {_COLUMN}, {_COLUMN}, {_COLUMN}, {_COLUMN}, {_COLUMN}::bigint[],
        {_COLUMN}
    )
"""  # noqa: S608 (constants)
_SELECT_ROW = """
    SELECT session_id, seq, type, turn_id, block_id, client_id, actor, ts_ms, payload
    FROM events WHERE session_id = %s AND seq = %s
"""
_SELECT_HEADS = """
    SELECT id, (SELECT coalesce(max(seq), 0) FROM events WHERE session_id = sessions.id)
    FROM sessions WHERE id = ANY(%s)
"""
_SELECT_CLIENT_IDS = """
    SELECT session_id, client_id, seq, turn_id FROM events
    WHERE (session_id, client_id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""


class PostgresWriter(TapeWriter):
    """One connection, opened when first needed and again after it broke."""

    def __init__(self, conninfo: str, may_write: Callable[[str], bool] | None = None) -> None:
        super().__init__(may_write)
        self._conninfo = conninfo
        given = conninfo_to_dict(conninfo).get("options") or ""
        # A server may be set to answer before the flush; what we publish must be on disk.
        self._options = f"{given} -c synchronous_commit=on -c statement_timeout={_STATEMENT_TIMEOUT_MS}"
        self._connection: psycopg.AsyncConnection | None = None

    @override
    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()

    @override
    async def _last_seqs(self, session_ids: Sequence[str]) -> dict[str, int]:
        async def select(connection: psycopg.AsyncConnection) -> dict[str, int]:
            cursor = await connection.execute(_SELECT_HEADS, [list(session_ids)])
            return dict(await cursor.fetchall())

        return await self._attempt(select)

    @override
    async def _client_ids(self, keys: Sequence[ClientKey]) -> dict[ClientKey, Recorded]:
        async def select(connection: psycopg.AsyncConnection) -> dict[ClientKey, Recorded]:
            sessions, client_ids = [list(column) for column in zip(*keys, strict=True)]
            cursor = await connection.execute(_SELECT_CLIENT_IDS, [sessions, client_ids])
            return {(session, client): (seq, turn) for session, client, seq, turn in await cursor.fetchall()}

        return await self._attempt(select)

    @override
    async def _insert(self, rows: Sequence[Row]) -> None:
        async def insert(connection: psycopg.AsyncConnection) -> None:
            await connection.execute(_INSERT, [_joined(column) for column in zip(*rows, strict=True)], prepare=True)

        await self._attempt(insert)

    @override
    async def _holds(self, row: Row) -> bool:
        async def select(connection: psycopg.AsyncConnection) -> bool:
            cursor = await connection.execute(_SELECT_ROW, row[:2])
            return await cursor.fetchone() == row

        return await self._attempt(select)

    async def _attempt[T](self, work: Callable[[psycopg.AsyncConnection], Awaitable[T]]) -> T:
        try:
            return await work(await self._opened())
        except psycopg.Error as error:
            self._forget_heads()
            await self.aclose()
            raise DatabaseTrouble(is_rolled_back=isinstance(error, psycopg.IntegrityError)) from error

    async def _opened(self) -> psycopg.AsyncConnection:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(
                self._conninfo,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT_SECONDS,
                tcp_user_timeout=_STATEMENT_TIMEOUT_MS,
                options=self._options,
            )
        return self._connection


def _joined(column: Sequence[str | int | None]) -> str:
    return _SEPARATOR.join([_NULL if value is None else str(value) for value in column])
