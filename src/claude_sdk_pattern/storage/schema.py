"""Bring a database to the current schema, and tell whether it is there. Alembic, driven from code.

The migrations are part of the package, so an installed wheel migrates without a checkout and without an ini file.
"""

import asyncio
import sqlite3
from pathlib import Path
from typing import cast

import aiosqlite
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from claude_sdk_pattern.storage.database import Database

_MIGRATIONS = Path(__file__).parent / "migrations"

_SWITCH_TIMEOUT_SECONDS = 10
_SWITCH_RETRY_SECONDS = 0.02

# Any number will do, as long as every server of this project uses the same one.
_POSTGRESQL_LOCK = 5_127_406_183_204


class SchemaMismatch(Exception):
    """The database is not at the revision this version of the code was written for.

    ``current`` is ``None`` for an empty database. Run ``claude-sdk-pattern migrate``, or use the code that fits.
    """

    def __init__(self, current: str | None, head: str) -> None:
        super().__init__(f"the database is at revision {current or 'none'}, this version needs {head}")
        self.current = current
        self.head = head


async def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the database to ``revision`` in one transaction, creating the SQLite file and its folder if need be.

    Servers that start together may all call this: one works, the others wait and find nothing to do.
    """
    async with Database(url) as database:
        if database.dialect == "sqlite":
            Path(database.sqlite_path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            await _use_write_ahead_log(database)
        async with database.write_engine.begin() as connection:
            await connection.run_sync(_upgrade, revision)


async def downgrade(url: str, revision: str) -> None:
    """Undo migrations down to ``revision``; ``base`` undoes all and loses all data."""
    async with Database(url) as database, database.write_engine.begin() as connection:
        await connection.run_sync(_downgrade, revision)


async def current_revision(database: Database) -> str | None:
    """Return the revision of the database, ``None`` when it was never migrated."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_revision)


def head_revision() -> str:
    """Return the revision this version of the code needs."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise RuntimeError("the package holds no migrations")
    return head


async def require_current_schema(database: Database) -> None:
    """Do nothing if the database is at the current schema.

    Raises:
        SchemaMismatch: it is not; a server must not start on it.
    """
    current, head = await current_revision(database), head_revision()
    if current != head:
        raise SchemaMismatch(current, head)


async def _use_write_ahead_log(database: Database) -> None:
    """Switch an SQLite file to the write-ahead log, so that its readers and its writer do not block each other."""
    async with asyncio.timeout(_SWITCH_TIMEOUT_SECONDS):
        while True:
            try:
                async with database.engine.connect() as connection:
                    # Not inside a transaction, hence behind the pool's back.
                    driver = (await connection.get_raw_connection()).driver_connection
                    await cast("aiosqlite.Connection", driver).execute("PRAGMA journal_mode=WAL")
                    return
            except sqlite3.OperationalError:
                # SQLite does not wait here itself, whatever the busy timeout: another server is switching.
                await asyncio.sleep(_SWITCH_RETRY_SECONDS)


def _upgrade(connection: Connection, revision: str) -> None:
    _lock(connection)
    command.upgrade(_config(connection), revision)


def _downgrade(connection: Connection, revision: str) -> None:
    _lock(connection)
    command.downgrade(_config(connection), revision)


def _lock(connection: Connection) -> None:
    # SQLite needs nothing: the write engine's transaction holds the only write lock there is.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK})


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    # The ini format that Alembic reads options in gives the percent sign a meaning of its own.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
