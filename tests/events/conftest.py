"""An open tape on each kind of database."""

from collections.abc import AsyncGenerator

import pytest
from tests.support.rows import store_sessions
from tests.support.tapes import Tape, open_tape

from claude_sdk_pattern.storage.database import Database


@pytest.fixture
async def tape(database: Database, anyio_backend: str) -> AsyncGenerator[Tape]:
    """A log and a hub on a database that has the sessions ``s1``, ``s2`` and ``s3``."""
    await store_sessions(database, "s1", "s2", "s3")
    async with open_tape(database) as opened:
        yield opened
