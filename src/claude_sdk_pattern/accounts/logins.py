"""A login: all refresh tokens that descend from one sign-in, under one ``family_id``. It lives until it is ended.

Whatever starts, continues or ends a login first locks the row of its user. Without that, a token handed out in the
same moment as the login is ended would outlive it: ending updates the rows it can see, and the new one is not
among them yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Select, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import LoginRow, RefreshTokenRow, UserRow

LoginMethod = Literal["password", "link", "oidc"]
"""How somebody proved who they are; ``link`` is a one-time link."""

_MAX_CLIENT = 200
_MAX_ADDRESS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a sign-in comes from: a network address, and what the client calls itself."""

    address: str
    client: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A sign-in that has not ended, for people to recognise it by."""

    id: str
    user_id: str
    method: LoginMethod
    origin: Origin
    started_at: datetime
    last_used_at: datetime


class Logins:
    """Finds and ends the sign-ins of a user."""

    def __init__(self, database: Database, now: Clock = utc_now) -> None:
        self._database = database
        self._now = now

    async def of_user(self, user_id: str) -> Sequence[Login]:
        """Return the sign-ins of a user that are good now, the one last used first."""
        query = (
            select(LoginRow)
            .where(LoginRow.user_id == user_id, is_live(user_id, LoginRow.id, self._now()))
            .order_by(LoginRow.last_used_at.desc(), LoginRow.id.desc())
        )
        async with self._database.reading() as session:
            return [_login(row) for row in await session.scalars(query)]

    async def method(self, login_id: str) -> LoginMethod | None:
        """Return how a sign-in was proved; ``None`` for one that is not there."""
        async with self._database.reading() as session:
            row = await session.get(LoginRow, login_id)
        return None if row is None else _login(row).method

    async def end(self, user_id: str, login_id: str) -> bool:
        """End one sign-in of a user; return whether there was one."""
        async with self._database.sessions.begin() as session:
            await session.scalar(locked_user(UserRow.id == user_id))
            is_there = await session.scalar(select(is_live(user_id, login_id, self._now())))
            if is_there:
                await end_login(session, login_id, self._now())
        return bool(is_there)

    async def end_all(self, user_id: str) -> None:
        """End all sign-ins of a user."""
        async with self._database.sessions.begin() as session:
            await session.scalar(locked_user(UserRow.id == user_id))
            await end_logins_of(session, user_id, self._now())


def login_row(login_id: str, user_id: str, method: LoginMethod, origin: Origin, at: datetime) -> LoginRow:
    """Return the row of a sign-in that begins now. What clients say of themselves is cut, and made fit to be stored."""
    return LoginRow(
        id=login_id,
        user_id=user_id,
        method=method,
        address=origin.address[:_MAX_ADDRESS],
        client="".join(letter for letter in origin.client if letter.isprintable())[:_MAX_CLIENT],
        started_at=at,
        last_used_at=at,
    )


def locked_user(*criteria: ColumnElement[bool]) -> Select[UserRow]:
    """Return the query for one user that holds off other writers of the same user until the transaction ends.

    SQLite knows no row locks and needs none: its write transactions come one after the other.
    """
    # The weaker of the two write locks: the other one would also wait for inserts that refer to the user.
    return select(UserRow).where(*criteria).with_for_update(key_share=True)


async def end_login(session: AsyncSession, family_id: str, at: datetime) -> None:
    """End one login. The caller holds the lock of its user."""
    await session.execute(
        update(RefreshTokenRow)
        .where(RefreshTokenRow.family_id == family_id, RefreshTokenRow.revoked_at.is_(None))
        .values(revoked_at=at)
    )


async def end_logins_of(session: AsyncSession, user_id: str, at: datetime) -> None:
    """End all logins of a user. The caller holds the user's lock."""
    await session.execute(
        update(RefreshTokenRow)
        .where(RefreshTokenRow.user_id == user_id, RefreshTokenRow.revoked_at.is_(None))
        .values(revoked_at=at)
    )


def is_live(user_id: str, family_id: str | InstrumentedAttribute[str], now: datetime) -> ColumnElement[bool]:
    """Return the condition that a login has not ended and its newest token has not expired."""
    return exists().where(
        RefreshTokenRow.family_id == family_id,
        RefreshTokenRow.user_id == user_id,
        RefreshTokenRow.revoked_at.is_(None),
        RefreshTokenRow.expires_at > now,
    )


def _login(row: LoginRow) -> Login:
    return Login(
        id=row.id,
        user_id=row.user_id,
        method=_METHODS[row.method],
        origin=Origin(address=row.address, client=row.client),
        started_at=row.started_at,
        last_used_at=row.last_used_at,
    )


_METHODS: dict[str, LoginMethod] = {"password": "password", "link": "link", "oidc": "oidc"}
