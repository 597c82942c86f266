"""Migrations against a real SQLite file and a real PostgreSQL."""

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect
from tests.support.postgres import PostgresServer

from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import (
    SchemaMismatch,
    current_revision,
    downgrade,
    head_revision,
    migrate,
    require_current_schema,
)
from claude_sdk_pattern.storage.tables import Base

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database that was never migrated; the SQLite file and its folder do not exist."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'new folder' / 'empty.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    server.drop_database("empty")
    server.create_database("empty")
    return server.url("empty")


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_server_default": True})
    return list(compare_metadata(context, Base.metadata))


def _table_names(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names()) - {"alembic_version"}


async def test_migrated_schema_is_exactly_what_the_models_declare(database: Database) -> None:
    async with database.engine.connect() as connection:
        assert await connection.run_sync(_differences) == []


async def test_comparison_of_schema_and_models_notices_a_missing_column(database: Database) -> None:
    async with database.write_engine.begin() as connection:
        await connection.exec_driver_sql("ALTER TABLE sessions DROP COLUMN forked_from")
    async with database.engine.connect() as connection:
        assert len(await connection.run_sync(_differences)) == 1


async def test_upgrade_creates_every_table_and_downgrade_removes_every_one(empty_url: str) -> None:
    await migrate(empty_url)
    async with Database(empty_url) as database, database.engine.connect() as connection:
        assert await connection.run_sync(_table_names) == set(Base.metadata.tables)
    await downgrade(empty_url, "base")
    async with Database(empty_url) as database, database.engine.connect() as connection:
        assert await connection.run_sync(_table_names) == set()
    await migrate(empty_url)
    async with Database(empty_url) as database:
        await require_current_schema(database)


async def test_servers_that_migrate_at_once_all_succeed(empty_url: str) -> None:
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(migrate(empty_url))
    async with Database(empty_url) as database:
        assert await current_revision(database) == head_revision()


async def test_database_that_was_never_migrated_is_refused(empty_url: str, tmp_path: Path) -> None:
    (tmp_path / "new folder").mkdir()
    async with Database(empty_url) as database:
        with pytest.raises(SchemaMismatch) as refusal:
            await require_current_schema(database)
    assert refusal.value.current is None
    assert refusal.value.head == head_revision()
