"""Platforms with the real CLI for the tests of sessions.

Starting one takes seconds, so tests share one and keep apart by their sessions. What a test does to the platform itself
it does to one of its own.
"""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.platform import Chat, Platform, lent, running_platform, running_platform_in


@pytest.fixture(scope="session")
async def shared_platform(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Platform]:
    """A platform on SQLite with one warm process."""
    folder = tmp_path_factory.mktemp("platform")
    # Neither a model that fails in one test nor a kind of session that it had is of concern to the next.
    settings = {"breaker_failures": 1000, "pool_key_seconds": 0}
    async with running_platform_in(folder, sqlite_template, **settings) as running:
        yield running


@pytest.fixture
async def platform(shared_platform: Platform) -> AsyncGenerator[Platform]:
    """The shared platform, without sessions."""
    async with lent(shared_platform) as running:
        yield running


@pytest.fixture
async def own_platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform of the test's own, with one warm process."""
    async with running_platform(sqlite_url, tmp_path / "data") as running:
        yield running


@pytest.fixture
async def chat(platform: Platform) -> AsyncGenerator[Chat]:
    """A new session on the shared platform, whose pool is filled."""
    await platform.warm()
    async with await platform.chat() as opened:
        yield opened
