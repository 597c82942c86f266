"""Signing in with a password."""

from dataclasses import dataclass

import structlog
from sqlalchemy import select

from claude_sdk_pattern.accounts.errors import WrongCredentialsError
from claude_sdk_pattern.accounts.logins import Origin
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.rules import normal_username
from claude_sdk_pattern.accounts.throttle import SignInThrottle
from claude_sdk_pattern.accounts.users import Users
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import UserRow

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenUser:
    """A user whose password was right, and the hash it was checked against."""

    user_id: str
    password_hash: str


class SignIn:
    """Checks username and password. Unknown, wrong and disabled look the same and take the same time."""

    def __init__(self, database: Database, users: Users, passwords: Passwords, throttle: SignInThrottle) -> None:
        self._database = database
        self._users = users
        self._passwords = passwords
        self._throttle = throttle

    async def check(self, username: str, password: str, origin: Origin) -> ProvenUser:
        """Return the user whose name and password these are.

        Raises:
            WrongCredentialsError: no enabled user has this name and password.
            TooManyAttemptsError: wait; not even the right password is looked at.
            SignInOverloadedError: the server has too many passwords to check.
        """
        name = normal_username(username)
        await self._throttle.begin(name, origin.address)
        row = await self._find(name)
        check = await self._passwords.check(password, None if row is None else row.password_hash)
        if row is None or not check.is_correct or row.disabled_at is not None:
            # Not the name: people type their password there now and then.
            logger.info("sign_in_refused", user_id=None if row is None else row.id, address=origin.address)
            raise WrongCredentialsError
        await self._throttle.succeeded(name, origin.address)
        if check.upgraded_hash is None:
            return ProvenUser(user_id=row.id, password_hash=row.password_hash)
        await self._users.replace_hash(row.id, row.password_hash, check.upgraded_hash)
        return ProvenUser(user_id=row.id, password_hash=check.upgraded_hash)

    async def _find(self, name: str) -> UserRow | None:
        if "\0" in name:
            # PostgreSQL does not even compare with one.
            return None
        async with self._database.reading() as session:
            return await session.scalar(select(UserRow).where(UserRow.username == name))
