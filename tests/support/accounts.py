"""Accounts for tests: real ones, with a clock that is set by hand and password hashes that cost next to nothing."""

from datetime import UTC, datetime, timedelta

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.storage.database import Database

SECRET_KEY = "a secret key that only the tests have ever seen"
PASSWORD = "correct horse battery"


class SettableClock:
    """A clock that stands still until it is set; call it to read it.

    It starts at the real time, because that is what access tokens are checked by.
    """

    def __init__(self) -> None:
        self.time = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, step: timedelta) -> None:
        """Let time pass."""
        self.time += step


def cheap_passwords() -> Passwords:
    """Return Argon2 with the least work it accepts."""
    return Passwords(PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),)))


def make_accounts(database: Database, clock: SettableClock | None = None) -> Accounts:
    """Return the accounts of a database."""
    return Accounts(database, secret_key=SECRET_KEY, passwords=cheap_passwords(), now=clock or SettableClock())
