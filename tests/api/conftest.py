"""One real server for all tests of the API that need one, and people who are signed in to it."""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from tests.support.server import Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

FRIENDLY_ORIGIN = "https://friend.example"
MAX_QUEUED_MESSAGES = 3


@pytest.fixture(scope="session")
async def server(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Server]:
    """A server process on SQLite; tests share it and keep apart by their sessions."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(sqlite_template, folder / "test.db")
    settings = {
        "allowed_origins": FRIENDLY_ORIGIN,
        "max_queued_messages": str(MAX_QUEUED_MESSAGES),
        # Few enough for a small machine: sessions give their processes to each other.
        "max_sessions": "4",
        "log_level": "WARNING",
    }
    async with running_scripted_model() as model:
        url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
        async with running_server(model.base_url, url, folder / "data", **settings) as running:
            yield running


@pytest.fixture(scope="session")
async def alice(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    """A REST client of Alice, who owns what the tests make."""
    async with server.client("alice") as client:
        yield client


@pytest.fixture(scope="session")
async def bob(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    """A REST client of Bob, a user like Alice."""
    async with server.client("bob") as client:
        yield client


@pytest.fixture(scope="session")
async def ada(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    """A REST client of Ada, an administrator."""
    async with server.client("ada") as client:
        yield client
