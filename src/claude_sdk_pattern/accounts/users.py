"""The users: who there is, in which role, and whether they may sign in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from uuid_utils import uuid7

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import UnknownUserError, UsernameTakenError
from claude_sdk_pattern.accounts.logins import end_logins_of, locked_user
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.rules import check_new_password, checked_username, normal_username
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import UserRow


class Role(StrEnum):
    """What a user is trusted with. Each role includes the ones below it: admin, operator, user."""

    ADMIN = "admin"
    OPERATOR = "operator"
    USER = "user"

    def includes(self, other: "Role") -> bool:
        """Return whether this role may do what ``other`` may."""
        return _RANK[self] >= _RANK[other]


_RANK = {Role.USER: 0, Role.OPERATOR: 1, Role.ADMIN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody, as the rest of the system sees them. ``role`` is the one they had when this was read."""

    id: str
    username: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user as those who manage users see them. ``disabled_at`` is ``None`` for a user who may sign in."""

    user: User
    created_at: datetime
    disabled_at: datetime | None


class Users:
    """Reads and changes the users. Usernames are looked up in any case of letters."""

    def __init__(self, database: Database, passwords: Passwords, now: Clock = utc_now) -> None:
        self._database = database
        self._passwords = passwords
        self._now = now

    async def add(self, username: str, password: str, role: Role) -> User:
        """Make a user and return it.

        Raises:
            InvalidUsernameError, WeakPasswordError: the name or the password breaks the rules.
            UsernameTakenError: there is a user of this name, perhaps disabled.
        """
        name = checked_username(username)
        check_new_password(password, name)
        row = UserRow(
            id=str(uuid7()),
            username=name,
            password_hash=await self._passwords.hash(password),
            role=role.value,
            created_at=self._now(),
        )
        try:
            async with self._database.sessions.begin() as session:
                session.add(row)
        except IntegrityError as error:
            raise UsernameTakenError(name) from error
        return user_of(row)

    async def ensure(self, username: str, password: str, role: Role) -> None:
        """Make sure there is an enabled user with this password and role. Logins end only if something was different.

        Raises:
            InvalidUsernameError, WeakPasswordError: the name or the password breaks the rules.
        """
        try:
            await self.add(username, password, role)
        except UsernameTakenError:
            async with self._database.sessions(bind=self._database.engine) as session:
                row = await _named(session, username)
            if not (await self._passwords.check(password, row.password_hash)).is_correct:
                await self.set_password(username, password)
            if row.role != role.value:
                await self.set_role(username, role)
            if row.disabled_at is not None:
                await self.enable(username)

    async def get(self, user_id: str) -> Account:
        """Return the user with this id, disabled or not.

        Raises:
            UnknownUserError: there is none.
        """
        async with self._database.sessions(bind=self._database.engine) as session:
            row = await session.get(UserRow, user_id)
        if row is None:
            raise UnknownUserError(user_id)
        return _account(row)

    async def find(self, username: str) -> Account:
        """Return the user of this name, disabled or not.

        Raises:
            UnknownUserError: there is none.
        """
        async with self._database.sessions(bind=self._database.engine) as session:
            return _account(await _named(session, username))

    async def list(self) -> Sequence[Account]:
        """Return all users by name."""
        async with self._database.sessions(bind=self._database.engine) as session:
            return [_account(row) for row in await session.scalars(select(UserRow).order_by(UserRow.username))]

    async def set_role(self, username: str, role: Role) -> User:
        """Change a user's role; requests made with tokens issued before obey it too.

        Raises:
            UnknownUserError: there is no such user.
        """
        async with self._database.sessions.begin() as session:
            row = await _named(session, username, lock=True)
            row.role = role.value
        return user_of(row)

    async def set_password(self, username: str, password: str) -> User:
        """Change a user's password and end all their logins: whoever knew the old one is out.

        Raises:
            UnknownUserError: there is no such user.
            WeakPasswordError: the password breaks the rules.
        """
        check_new_password(password, username)
        new_hash = await self._passwords.hash(password)
        async with self._database.sessions.begin() as session:
            row = await _named(session, username, lock=True)
            row.password_hash = new_hash
            await end_logins_of(session, row.id, self._now())
        return user_of(row)

    async def disable(self, username: str) -> User:
        """Keep a user from signing in and end all their logins. Their sessions stay. Twice does no harm.

        Raises:
            UnknownUserError: there is no such user.
        """
        async with self._database.sessions.begin() as session:
            row = await _named(session, username, lock=True)
            row.disabled_at = row.disabled_at or self._now()
            await end_logins_of(session, row.id, self._now())
        return user_of(row)

    async def enable(self, username: str) -> User:
        """Let a disabled user sign in again. Logins that ended stay ended.

        Raises:
            UnknownUserError: there is no such user.
        """
        async with self._database.sessions.begin() as session:
            row = await _named(session, username, lock=True)
            row.disabled_at = None
        return user_of(row)

    async def replace_hash(self, user_id: str, old_hash: str, new_hash: str) -> None:
        """Store a better hash of the same password, unless the password was changed meanwhile."""
        async with self._database.sessions.begin() as session:
            await session.execute(
                update(UserRow)
                .where(UserRow.id == user_id, UserRow.password_hash == old_hash)
                .values(password_hash=new_hash)
            )


def user_of(row: UserRow) -> User:
    """Return what the rest of the system may know of a row."""
    return User(id=row.id, username=row.username, role=Role(row.role))


def _account(row: UserRow) -> Account:
    return Account(user=user_of(row), created_at=row.created_at, disabled_at=row.disabled_at)


async def _named(session: AsyncSession, username: str, *, lock: bool = False) -> UserRow:
    name = normal_username(username)
    is_named = UserRow.username == name
    row = await session.scalar(locked_user(is_named) if lock else select(UserRow).where(is_named))
    if row is None:
        raise UnknownUserError(name)
    return row
