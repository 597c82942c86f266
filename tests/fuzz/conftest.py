"""A server to be fuzzed, with somebody of each role, and how hard to try."""

import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.platform import PASSWORD, SECRET_KEY
from tests.support.server import Server, running_server

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.storage.database import Database

FACTOR = int(os.environ.get("CSP_TEST_FUZZ_FACTOR", "1"))
"""How many times as many examples to try as in the ordinary run, which is kept to half a minute."""

USERS = {"admin": "ada", "operator": "olga", "user": "alice"}
"""Who is signed in, by role."""


@pytest.fixture(scope="session")
async def server(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Server]:
    """A server process that takes few messages, since each is a turn of a real agent, and many requests."""
    folder = tmp_path_factory.mktemp("fuzz")
    shutil.copy(sqlite_template, folder / "test.db")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    async with Database(url) as database:
        await Accounts(database, secret_key=SECRET_KEY).users.add(USERS["operator"], PASSWORD, Role.OPERATOR)
    settings = {"max_sessions": "2", "rate_limit_user_messages_per_minute": "2", "log_level": "WARNING"}
    async with (
        running_scripted_model() as model,
        running_server(model.base_url, url, folder / "data", **settings) as running,
    ):
        yield running
