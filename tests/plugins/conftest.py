"""Fixtures of this room."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.plugins import Deployment, deployed

from claude_sdk_pattern.storage.database import Database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty plugins folder."""
    path = tmp_path / "plugins folder"
    path.mkdir()
    return path


@pytest.fixture
async def server(database: Database, folder: Path, tmp_path: Path) -> AsyncGenerator[Deployment]:
    """The plugins of a running server; the test runs once for each database."""
    async with deployed(database, folder, tmp_path / "data") as deployment:
        yield deployment
