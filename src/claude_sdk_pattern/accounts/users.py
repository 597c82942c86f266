"""The users: who there is, in which role, and whether they may sign in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, delete, exists, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from uuid_utils import uuid7

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import (
    InvalidLinkError,
    LastAdminError,
    SetupDoneError,
    UnknownUserError,
    UsernameTakenError,
    UserOwnsSessionsError,
)
from claude_sdk_pattern.accounts.logins import end_logins_of, locked_user
from claude_sdk_pattern.accounts.one_time_links import OneTimeLinks
from claude_sdk_pattern.accounts.passwords import NO_PASSWORD, Passwords
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
    has_password: bool


class Users:
    """Reads and changes the users. Usernames are looked up in any case of letters."""

    def __init__(self, database: Database, passwords: Passwords, now: Clock = utc_now) -> None:
        self._database = database
        self._passwords = passwords
        self._now = now

    async def add(self, username: str, password: str | None, role: Role) -> User:
        """Make a user and return it; without a password, one who signs in in another way or chooses one by a link.

        Raises:
            InvalidUsernameError, WeakPasswordError: the name or the password breaks the rules.
            UsernameTakenError: there is a user of this name, perhaps disabled.
        """
        row = await self.new_row(username, password, role)
        async with self._database.sessions.begin() as session:
            await insert_user(session, row)
        return user_of(row)

    async def add_first(self, links: OneTimeLinks, token: str, username: str, password: str) -> User:
        """Make the first user, an administrator, and use up the link that allows it.

        Raises:
            InvalidLinkError: the link is unknown, expired or used.
            SetupDoneError: there is a user already.
            InvalidUsernameError, WeakPasswordError: the name or the password breaks the rules; the link stays good.
        """
        # Hashing is work, which not everybody may cause.
        await links.look_up(token, "setup")
        row = await self.new_row(username, password, Role.ADMIN)
        async with self._database.sessions.begin() as session:
            await links.take(session, token, "setup")
            if await session.scalar(select(exists(select(UserRow.id)))):
                raise SetupDoneError
            await insert_user(session, row)
        return user_of(row)

    async def exist(self) -> bool:
        """Return whether there is any user at all."""
        async with self._database.reading() as session:
            return bool(await session.scalar(select(exists(select(UserRow.id)))))

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
        return account_of(row)

    async def find(self, username: str) -> Account:
        """Return the user of this name, disabled or not.

        Raises:
            UnknownUserError: there is none.
        """
        async with self._database.sessions(bind=self._database.engine) as session:
            return account_of(await _named(session, username))

    async def list(
        self, *, query: str | None = None, after: str | None = None, limit: int | None = None
    ) -> Sequence[Account]:
        """Return users by name.

        Args:
            query: only those whose name contains this text.
            after: begin behind this name.
            limit: at most this many; ``None`` for all.
        """
        criteria: list[ColumnElement[bool]] = []
        if query:
            criteria.append(UserRow.username.contains(normal_username(query), autoescape=True))
        if after is not None:
            criteria.append(UserRow.username > after)
        statement = select(UserRow).where(*criteria).order_by(UserRow.username).limit(limit)
        async with self._database.reading() as session:
            return [account_of(row) for row in await session.scalars(statement)]

    async def names(self, user_ids: Iterable[str]) -> Mapping[str, str]:
        """Return the usernames of those of the users that are there."""
        query = select(UserRow.id, UserRow.username).where(UserRow.id.in_(set(user_ids)))
        async with self._database.reading() as session:
            return dict((await session.execute(query)).tuples().all())

    async def without_access(self, user_ids: Iterable[str]) -> set[str]:
        """Return those of the users that are disabled or gone."""
        wanted = set(user_ids)
        query = select(UserRow.id).where(UserRow.id.in_(wanted), UserRow.disabled_at.is_(None))
        async with self._database.reading() as session:
            return wanted - set(await session.scalars(query))

    async def set_role(self, username: str, role: Role) -> User:
        """Change a user's role. All their logins end: what was begun in one role is not gone on with in another.

        Raises:
            UnknownUserError: there is no such user.
            LastAdminError: they are the last administrator.
        """
        async with self._database.sessions.begin() as session:
            admins = await _locked_admins(session)
            row = await _named(session, username, lock=True)
            if row.role != role.value:
                _require_another(admins, row)
                row.role = role.value
                await end_logins_of(session, row.id, self._now())
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

    async def set_password_by_link(self, links: OneTimeLinks, token: str, password: str) -> User:
        """Give the user a link is for another password, use up the link, and end all their logins.

        Raises:
            InvalidLinkError: the link is unknown, expired or used, or its user disabled.
            WeakPasswordError: the password breaks the rules; the link stays good.
        """
        user_id = await links.look_up(token, "password")
        account = await self._enabled(user_id)
        check_new_password(password, account.user.username)
        new_hash = await self._passwords.hash(password)
        async with self._database.sessions.begin() as session:
            row = await session.scalar(locked_user(UserRow.id == account.user.id))
            await links.take(session, token, "password")
            if row is None or row.disabled_at is not None:
                raise InvalidLinkError
            row.password_hash = new_hash
            await end_logins_of(session, row.id, self._now())
        return user_of(row)

    async def disable(self, username: str) -> User:
        """Keep a user from signing in and end all their logins. Their sessions stay. Twice does no harm.

        Raises:
            UnknownUserError: there is no such user.
            LastAdminError: they are the last administrator.
        """
        async with self._database.sessions.begin() as session:
            admins = await _locked_admins(session)
            row = await _named(session, username, lock=True)
            _require_another(admins, row)
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

    async def delete(self, username: str) -> None:
        """Delete a user who owns no sessions any more, with their logins. The name can be given to somebody else.

        Raises:
            UnknownUserError: there is no such user.
            LastAdminError: they are the last administrator.
            UserOwnsSessionsError: there are sessions of theirs.
        """
        async with self._database.sessions.begin() as session:
            admins = await _locked_admins(session)
            row = await _named(session, username, lock=True)
            _require_another(admins, row)
            try:
                await session.execute(delete(UserRow).where(UserRow.id == row.id))
            except IntegrityError as error:
                raise UserOwnsSessionsError(row.username) from error

    async def replace_hash(self, user_id: str, old_hash: str, new_hash: str) -> None:
        """Store a better hash of the same password, unless the password was changed meanwhile."""
        async with self._database.sessions.begin() as session:
            await session.execute(
                update(UserRow)
                .where(UserRow.id == user_id, UserRow.password_hash == old_hash)
                .values(password_hash=new_hash)
            )

    async def new_row(self, username: str, password: str | None, role: Role) -> UserRow:
        """Return the row of a new user, not stored yet. Raises what :meth:`add` does about name and password."""
        name = checked_username(username)
        password_hash = NO_PASSWORD
        if password is not None:
            check_new_password(password, name)
            password_hash = await self._passwords.hash(password)
        return UserRow(
            id=str(uuid7()), username=name, password_hash=password_hash, role=role.value, created_at=self._now()
        )

    async def _enabled(self, user_id: str | None) -> Account:
        try:
            account = await self.get(user_id or "")
        except UnknownUserError as error:
            raise InvalidLinkError from error
        if account.disabled_at is not None:
            raise InvalidLinkError
        return account


def user_of(row: UserRow) -> User:
    """Return what the rest of the system may know of a row."""
    return User(id=row.id, username=row.username, role=Role(row.role))


def account_of(row: UserRow) -> Account:
    """Return what those who manage users may know of a row."""
    return Account(
        user=user_of(row),
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        has_password=row.password_hash != NO_PASSWORD,
    )


async def insert_user(session: AsyncSession, row: UserRow) -> None:
    """Store a new user in the caller's transaction, which is lost if the name is taken.

    Raises:
        UsernameTakenError: it is.
    """
    session.add(row)
    try:
        await session.flush()
    except IntegrityError as error:
        raise UsernameTakenError(row.username) from error


async def _locked_admins(session: AsyncSession) -> set[str]:
    """Return the ids of the enabled administrators; nobody else changes who they are until the transaction ends.

    All at once and in one order, before the user that is to be changed: two administrators who demote each other must
    neither both succeed nor wait for each other.
    """
    admins = (
        select(UserRow.id)
        .where(UserRow.role == Role.ADMIN.value, UserRow.disabled_at.is_(None))
        .order_by(UserRow.id)
        .with_for_update(key_share=True)
    )
    return set(await session.scalars(admins))


def _require_another(admins: set[str], row: UserRow) -> None:
    if admins == {row.id}:
        raise LastAdminError


async def _named(session: AsyncSession, username: str, *, lock: bool = False) -> UserRow:
    name = normal_username(username)
    is_named = UserRow.username == name
    row = await session.scalar(locked_user(is_named) if lock else select(UserRow).where(is_named))
    if row is None:
        raise UnknownUserError(name)
    return row
