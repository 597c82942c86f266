"""Fixtures of this room."""

import pytest
from tests.support.accounts import PASSWORD, SettableClock, make_accounts

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.storage.database import Database


@pytest.fixture
def clock() -> SettableClock:
    """The time the accounts go by."""
    return SettableClock()


@pytest.fixture
def accounts(database: Database, clock: SettableClock) -> Accounts:
    """The accounts of an empty database."""
    return make_accounts(database, clock)


@pytest.fixture
async def alice(accounts: Accounts, anyio_backend: str) -> User:
    """A user with the role ``user`` and the usual password."""
    return await accounts.users.add("alice", PASSWORD, Role.USER)
