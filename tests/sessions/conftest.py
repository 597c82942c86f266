"""A platform with the real CLI for the tests of sessions."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.platform import Chat, Platform, running_platform


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform on SQLite with one warm process."""
    async with running_platform(sqlite_url, tmp_path / "data") as running:
        yield running


@pytest.fixture
async def chat(platform: Platform) -> AsyncGenerator[Chat]:
    """A new session on a platform whose pool is filled."""
    await platform.services.manager.pool.wait_filled()
    async with await platform.chat() as opened:
        yield opened
