"""Signing in with a password."""

from dataclasses import dataclass

import structlog
from sqlalchemy import select

from claude_sdk_pattern.accounts.errors import WrongCredentialsError
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.rules import normal_username
from claude_sdk_pattern.accounts.throttle import LoginThrottle
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

    def __init__(self, database: Database, users: Users, passwords: Passwords, throttle: LoginThrottle) -> None:
        self._database = database
        self._users = users
        self._passwords = passwords
        self._throttle = throttle

    async def check(self, username: str, password: str, address: str) -> ProvenUser:
        """Return the user whose name and password these are. ``address`` is where the attempt came from.

        Raises:
            WrongCredentialsError: no enabled user has this name and password.
            TooManyAttemptsError: wait; not even the right password is looked at.
            SignInOverloadedError: the server has too many passwords to check.
        """
        name = normal_username(username)
        self._throttle.begin(name, address)
        row = await self._find(name)
        check = await self._passwords.check(password, None if row is None else row.password_hash)
        if row is None or not check.is_correct or row.disabled_at is not None:
            logger.info("sign_in_refused", username=name, address=address)
            raise WrongCredentialsError
        self._throttle.succeeded(name, address)
        if check.upgraded_hash is None:
            return ProvenUser(user_id=row.id, password_hash=row.password_hash)
        await self._users.replace_hash(row.id, row.password_hash, check.upgraded_hash)
        return ProvenUser(user_id=row.id, password_hash=check.upgraded_hash)

    async def _find(self, name: str) -> UserRow | None:
        async with self._database.sessions(bind=self._database.engine) as session:
            return await session.scalar(select(UserRow).where(UserRow.username == name))
