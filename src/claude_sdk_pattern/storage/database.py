"""The database as the rooms above see it: an engine, a session factory, and which of the two kinds it is."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal, Self

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

Dialect = Literal["sqlite", "postgresql"]

DRIVERS: dict[Dialect, str] = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}

# Longer than any transaction of ours; a writer that waits longer has found one that hangs.
SQLITE_BUSY_TIMEOUT_MS = 5_000

# Likewise. A server that is frozen in the middle of a transaction keeps its locks, and whoever takes its sessions over
# would wait for them until it wakes.
POSTGRES_IDLE_TIMEOUT_MS = 10_000

_WRITING = "sqlite_begin_immediate"

# Only one can write at a time; the others are there for when the first waits for a lock that somebody else holds.
_WRITER_THREADS = 4


class Database:
    """A connection pool. Open it with ``async with``, or call :meth:`aclose` when done.

    ``engine`` and ``reading`` read; on SQLite a transaction of theirs takes a lock only when it writes, and must not
    read first and write then: another writer in between makes that fail at once. ``write_engine`` and ``sessions``
    read and write:
    they take SQLite's write lock when a transaction begins and so wait their turn. On PostgreSQL there is no
    difference. All share one pool.

    What is written while agents answer goes through :meth:`write`.
    """

    def __init__(self, url: str) -> None:
        self.url: URL = parse_url(url)
        self.dialect: Dialect = "sqlite" if self.url.get_backend_name() == "sqlite" else "postgresql"
        if self.dialect == "postgresql":
            self.engine: AsyncEngine = create_async_engine(
                self.url, pool_pre_ping=True, connect_args={"options": _postgres_options(self.url)}
            )
        else:
            self.engine = create_async_engine(self.url)
            event.listen(self.engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(self.engine.sync_engine, "begin", _begin_sqlite)
        self.write_engine: AsyncEngine = self.engine.execution_options(**{_WRITING: True})
        self.sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(self.write_engine, expire_on_commit=False)
        self.reading: async_sessionmaker[AsyncSession] = async_sessionmaker(self.engine, expire_on_commit=False)
        self._writer = _SqliteWriter(self.url) if self.dialect == "sqlite" else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def sqlite_path(self) -> str:
        """Path of the SQLite file."""
        return self.url.database or ""

    @property
    def conninfo(self) -> str:
        """The URL as libpq's connection string, for a PostgreSQL connection outside the pool."""
        _, options = self.engine.dialect.create_connect_args(self.url)
        return make_conninfo(**{name: value for name, value in options.items() if name != "context"})

    async def write[T](self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction of its own and return what it returns.

        A transaction that goes back to the event loop between its statements holds SQLite's only write lock for as
        long as the loop is busy, and the tape waits for it. This one runs in a thread from its beginning to its end.

        Raises:
            SQLAlchemyError: the database refused it or did not answer; nothing was written, or only the answer lost.
        """
        if self._writer is not None:
            return await self._writer.run(work)
        async with self.write_engine.begin() as connection:
            return await connection.run_sync(work)

    async def aclose(self) -> None:
        """Close every connection. Safe to call twice."""
        if self._writer is not None:
            await self._writer.aclose()
        await self.engine.dispose()


class _SqliteWriter:
    """Short transactions in threads."""

    def __init__(self, url: URL) -> None:
        engine = create_engine(url.set(drivername="sqlite"))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        self._engine: Engine = engine.execution_options(**{_WRITING: True})
        self._threads = ThreadPoolExecutor(_WRITER_THREADS, thread_name_prefix="database-writer")

    async def run[T](self, work: Callable[[Connection], T]) -> T:
        def transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._threads, transaction)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()


def _postgres_options(url: URL) -> str:
    given = url.query.get("options", "")
    own = f"-c idle_in_transaction_session_timeout={POSTGRES_IDLE_TIMEOUT_MS}"
    return " ".join([*([given] if isinstance(given, str) else given), own])


def parse_url(url: str) -> URL:
    """Return the URL with the driver this project uses.

    Raises:
        ValueError: neither SQLite in a file nor PostgreSQL.
    """
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            if parsed.database in {None, "", ":memory:"}:
                raise ValueError("an SQLite database must be a file: several connections share it")
            return parsed.set(drivername=DRIVERS["sqlite"])
        case "postgresql":
            return parsed.set(drivername=DRIVERS["postgresql"])
        case other:
            raise ValueError(f"{other} is not supported: use sqlite or postgresql")


def sqlite_pragmas(busy_timeout_ms: int) -> tuple[str, ...]:
    """Return what each SQLite connection is set up with. The write-ahead log is a property of the file."""
    return (
        f"PRAGMA busy_timeout={busy_timeout_ms}",
        # FULL flushes at each commit, which is what "stored" means here. Group commit makes it cost next to nothing.
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
    )


def _prepare_sqlite(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    # The driver would otherwise begin transactions on its own, late and without the lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in sqlite_pragmas(SQLITE_BUSY_TIMEOUT_MS):
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options: dict[str, Any] = dict(connection.get_execution_options())
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITING) else "BEGIN")
