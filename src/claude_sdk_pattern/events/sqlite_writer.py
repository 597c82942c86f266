"""Writes the tape to SQLite through the plain driver: small commits at once if the disk is quick, others in a thread.

In a thread a commit waits several times for the interpreter's lock while the event loop is busy, which takes longer
than the commit itself. On the event loop it keeps everybody waiting for the disk. So the disk decides, by what most of
the last commits took.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from statistics import median_low
from typing import override

from claude_sdk_pattern.events.numbering import ClientKey, Recorded
from claude_sdk_pattern.events.writers import COLUMNS, DatabaseTrouble, Row, TapeWriter
from claude_sdk_pattern.storage.database import sqlite_pragmas

# Shorter than the pool's: the log tries again itself, and closing it must not wait for long.
_BUSY_TIMEOUT_MS = 1_000

# What most of the last commits may have taken for the next to be made on the event loop, and how much it may carry.
# Nobody sees that a token is two milliseconds late. Most, and not the average: now and then a commit moves the
# write-ahead log into the database, takes ten times as long, and says nothing about the next. Two, because in the
# thread a commit of half a millisecond is seen to take up to that.
_QUICK_SECONDS = 0.002
_LAST_COMMITS = 15
_QUICK_ROWS = 8
_QUICK_CHARACTERS = 64 * 1024

_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 (constants)
_SELECT_ROW = f"SELECT {', '.join(COLUMNS)} FROM events WHERE session_id = ? AND seq = ?"  # noqa: S608 (constants)
_SELECT_HEAD = (
    "SELECT (SELECT coalesce(max(seq), 0) FROM events WHERE session_id = sessions.id) FROM sessions WHERE id = ?"
)
_SELECT_CLIENT_ID = "SELECT seq, turn_id FROM events WHERE session_id = ? AND client_id = ?"


class SqliteWriter(TapeWriter):
    """One connection, used by one thread at a time: its own, or the event loop's."""

    def __init__(self, path: str, may_write: Callable[[str], bool] | None = None) -> None:
        super().__init__(may_write)
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tape-writer")
        self._connection: sqlite3.Connection | None = None
        self._last_seconds: deque[float] = deque(maxlen=_LAST_COMMITS)

    @override
    async def aclose(self) -> None:
        await self._in_thread(self._close)
        self._thread.shutdown()

    @override
    async def _last_seqs(self, session_ids: Sequence[str]) -> dict[str, int]:
        def select() -> dict[str, int]:
            connection = self._opened()
            found = ((id_, connection.execute(_SELECT_HEAD, (id_,)).fetchone()) for id_ in session_ids)
            return {id_: row[0] for id_, row in found if row is not None}

        return await self._attempt(select)

    @override
    async def _client_ids(self, keys: Sequence[ClientKey]) -> dict[ClientKey, Recorded]:
        def select() -> dict[ClientKey, Recorded]:
            connection = self._opened()
            found = ((key, connection.execute(_SELECT_CLIENT_ID, key).fetchone()) for key in keys)
            return {key: row for key, row in found if row is not None}

        return await self._attempt(select, at_once=self._is_disk_quick)

    @override
    async def _insert(self, rows: Sequence[Row]) -> None:
        def insert() -> None:
            connection, begun = self._opened(), time.perf_counter()
            if len(rows) == 1:
                # A transaction by itself, in one call.
                connection.execute(_INSERT, rows[0])
            else:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_INSERT, rows)
                connection.execute("COMMIT")
            self._last_seconds.append(time.perf_counter() - begun)

        is_small = len(rows) <= _QUICK_ROWS and sum(len(row[-1]) for row in rows) <= _QUICK_CHARACTERS
        if self._is_disk_quick and is_small and await self._attempt(lambda: self._try_now(insert), at_once=True):
            return
        await self._attempt(insert)

    @property
    def _is_disk_quick(self) -> bool:
        # Quick until found slow.
        return not self._last_seconds or median_low(self._last_seconds) <= _QUICK_SECONDS

    def _try_now(self, insert: Callable[[], None]) -> bool:
        """Insert unless somebody else writes now; return whether it was done."""
        connection = self._opened()
        connection.execute("PRAGMA busy_timeout=0")
        try:
            insert()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return False
        finally:
            connection.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
        return True

    @override
    async def _holds(self, row: Row) -> bool:
        def select() -> bool:
            return self._opened().execute(_SELECT_ROW, row[:2]).fetchone() == row

        return await self._attempt(select)

    async def _attempt[T](self, work: Callable[[], T], *, at_once: bool = False) -> T:
        try:
            return work() if at_once else await self._in_thread(work)
        except sqlite3.Error as error:
            self._forget_heads()
            await self._in_thread(self._close)
            raise DatabaseTrouble(is_rolled_back=isinstance(error, sqlite3.IntegrityError)) from error

    async def _in_thread[T](self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # Opening must not make a new empty file where the database used to be.
            uri = f"file:{_quoted(self._path)}?mode=rw"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            self._connection = connection
            # A no-op but for a file that was restored from a backup; readers would block such a file's writer.
            for pragma in (*sqlite_pragmas(_BUSY_TIMEOUT_MS), "PRAGMA journal_mode=WAL"):
                connection.execute(pragma)
        return self._connection

    def _close(self) -> None:
        # Closing rolls back what was begun, and a connection that met an I/O error is not to be trusted further.
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
