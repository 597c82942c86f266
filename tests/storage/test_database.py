"""The connection pool against a real SQLite file and a real PostgreSQL."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import IntegrityError, InternalError, StatementError
from tests.support.rows import a_session, a_user

from claude_sdk_pattern.storage.database import Database, parse_url
from claude_sdk_pattern.storage.tables import SessionRow, UserRow

pytestmark = pytest.mark.anyio


async def test_row_written_in_one_session_is_read_in_another(database: Database) -> None:
    async with database.sessions.begin() as session:
        session.add(a_user("u1"))
    async with database.sessions() as session:
        assert (await session.scalars(select(UserRow.id))).all() == ["u1"]


async def test_foreign_keys_are_enforced(database: Database) -> None:
    with pytest.raises(IntegrityError):
        async with database.sessions.begin() as session:
            session.add(a_session("s1", owner_id="nobody"))


async def test_times_keep_their_instant_and_come_back_in_utc(database: Database) -> None:
    in_tokyo = datetime(2026, 1, 2, 3, 4, 5, 678_000, timezone(timedelta(hours=9)))
    async with database.sessions.begin() as session:
        user = a_user("u1")
        user.created_at = in_tokyo
        session.add(user)
    async with database.sessions() as session:
        read = (await session.scalars(select(UserRow.created_at))).one()
    assert read == in_tokyo
    assert read.tzinfo is UTC


async def test_naive_times_are_refused(database: Database) -> None:
    user = a_user("u1")
    user.created_at = datetime(2026, 1, 1)  # noqa: DTZ001 - the point of the test
    with pytest.raises(StatementError, match="naive"):
        async with database.sessions.begin() as session:
            session.add(user)


async def test_writers_that_read_first_wait_for_each_other_instead_of_failing(database: Database) -> None:
    async with database.sessions.begin() as session:
        session.add(a_user("u1"))
        await session.flush()
        session.add(a_session("s1", owner_id="u1"))

    async def add_a_cent() -> None:
        async with database.sessions.begin() as session:
            row = await session.get_one(SessionRow, "s1", with_for_update=True)
            row.cost_usd += 0.01

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(add_a_cent())
    async with database.sessions() as session:
        assert (await session.get_one(SessionRow, "s1")).cost_usd == pytest.approx(0.20)


async def test_sqlite_connections_are_durable_and_concurrent(sqlite_url: str) -> None:
    async with Database(sqlite_url) as database, database.engine.connect() as connection:
        settings = {
            name: await connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    full = 2
    assert settings == {"journal_mode": "wal", "synchronous": full, "foreign_keys": 1, "busy_timeout": 5000}


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("sqlite:///a.db", "sqlite+aiosqlite"),
        ("sqlite+aiosqlite:///a.db", "sqlite+aiosqlite"),
        ("postgresql://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+asyncpg://u:p@h/d", "postgresql+psycopg"),
    ],
)
def test_any_spelling_of_the_two_databases_gets_the_driver_of_the_project(given: str, driver: str) -> None:
    assert parse_url(given).drivername == driver


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://h/d"])
def test_databases_that_cannot_work_are_refused_with_a_reason(url: str) -> None:
    with pytest.raises(ValueError, match=r"must be a file|not supported"):
        parse_url(url)


def test_connection_string_keeps_credentials_and_options() -> None:
    database = Database("postgresql://ann:p%40ss%20word@db.example:5433/tapes?application_name=csp%20one")
    assert database.conninfo.split(" ", 1)[0] == "host=db.example"
    assert "password='p@ss word'" in database.conninfo
    assert "application_name='csp one'" in database.conninfo


async def test_a_server_that_is_frozen_in_a_transaction_loses_its_locks(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_sdk_pattern.storage.database.POSTGRES_IDLE_TIMEOUT_MS", 300)
    change = update(UserRow).where(UserRow.id == "u1")
    async with Database(postgresql_url) as frozen, Database(f"{postgresql_url}&options=-c%20jit%3Doff") as other:
        async with frozen.sessions.begin() as session:
            session.add(a_user("u1"))
        session = frozen.sessions()
        await session.execute(change.values(role="lost"))
        async with asyncio.timeout(20), other.sessions.begin() as waiting:
            await waiting.execute(change.values(role="kept"))
            assert (await waiting.execute(text("SHOW jit"))).scalar() == "off", "what the URL asks for holds too"
        # When it wakes, what it was about is refused, and it goes on.
        with pytest.raises(InternalError, match="idle-in-transaction"):
            await session.execute(select(UserRow.role))
        await session.close()
        async with frozen.sessions() as session:
            assert (await session.scalars(select(UserRow.role))).all() == ["kept"]
