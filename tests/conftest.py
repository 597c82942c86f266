"""Fixtures that several rooms share: the event loop's kind, and an empty migrated database of each kind."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Generator
from itertools import count
from pathlib import Path

import pytest
from tests.support.postgres import PostgresServer, running_postgres

from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import migrate

_POSTGRES_TEMPLATE = "migrated_template"
_database_numbers = count(1)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests and fixtures on asyncio; session scope, so that fixtures of any scope may be async."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    """A real PostgreSQL, started once for all tests that need it."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """Name of a migrated database to copy: migrating once and copying is much faster than migrating each time."""
    postgres_server.create_database(_POSTGRES_TEMPLATE)
    asyncio.run(migrate(postgres_server.url(_POSTGRES_TEMPLATE)))
    return _POSTGRES_TEMPLATE


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    asyncio.run(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """URL of a fresh migrated SQLite database."""
    path = tmp_path / "test.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite+aiosqlite:///{path}"


@pytest.fixture
def postgresql_url(postgres_server: PostgresServer, postgres_template: str) -> Generator[str]:
    """URL of a fresh migrated PostgreSQL database."""
    name = f"test_{next(_database_numbers)}"
    postgres_server.create_database(name, template=postgres_template)
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of a fresh migrated database; the test runs once for each kind."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncGenerator[Database]:
    """An open, empty, migrated database; the test runs once for each kind."""
    async with Database(database_url) as opened:
        yield opened
