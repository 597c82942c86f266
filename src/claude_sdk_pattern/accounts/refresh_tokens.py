"""Refresh tokens: long-lived, each good for one use, stored as hashes.

A login starts with a random token. Using a token spends it and makes its successor, all in one transaction. A spent
token that turns up again was copied by somebody, and which of the two is the thief nobody can tell: the whole login
ends.

Except at once. Two tabs that wake up together, or a client whose answer got lost on the way, use one token several
times within moments and are no thieves. So within :data:`GRACE` of being spent a token gives the same successor
again: no second chain comes into being, and nobody is signed out. That works without storing a usable token because
a successor is computed from its predecessor with a key of the server. The price: a thief who copies a token and uses
it within those moments shares the login for now, until the first of the two comes with a token the other has spent
more than :data:`GRACE` ago, which ends it for both.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from uuid_utils import uuid7

from claude_sdk_pattern.accounts.access_tokens import AccessClaims
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidRefreshTokenError, WrongCredentialsError
from claude_sdk_pattern.accounts.keys import base64url, token_hash
from claude_sdk_pattern.accounts.logins import LoginMethod, Origin, end_login, locked_user, login_row
from claude_sdk_pattern.accounts.users import User, user_of
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import LoginRow, RefreshTokenRow, UserRow

logger = structlog.get_logger(__name__)

# Longer than a slow request with one retry, shorter than it takes to carry a token away and use it by hand.
GRACE = timedelta(seconds=10)

# Lets scanners for leaked secrets, ours in the logs among them, know one when they see one.
PREFIX = "csp_rt_"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedRefreshToken:
    """A token to hand out, the login it continues and the user whose login it is."""

    token: str
    login_id: str
    user: User


class RefreshTokens:
    """Starts, continues and ends logins."""

    def __init__(
        self, database: Database, *, key: bytes, lifetime: timedelta, grace: timedelta = GRACE, now: Clock = utc_now
    ) -> None:
        self._database = database
        self._key = key
        self._lifetime = lifetime
        self._grace = grace
        self._now = now

    async def start(
        self, user_id: str, method: LoginMethod, origin: Origin, *, password_hash: str | None = None
    ) -> IssuedRefreshToken:
        """Begin a login of a user who has proved who they are, with a password by having it match ``password_hash``.

        Raises:
            WrongCredentialsError: meanwhile the user was disabled or has another password.
        """
        token, now = PREFIX + base64url(secrets.token_bytes(32)), self._now()
        async with self._database.sessions.begin() as session:
            user = await session.scalar(locked_user(UserRow.id == user_id))
            if user is None or user.disabled_at is not None or password_hash not in (None, user.password_hash):
                raise WrongCredentialsError
            await self._forget_expired(session, user_id, now)
            row = self._row(token, user_id=user_id, family_id=str(uuid7()), now=now)
            session.add_all([row, login_row(row.family_id, user_id, method, origin, now)])
        return IssuedRefreshToken(token=token, login_id=row.family_id, user=user_of(user))

    async def rotate(self, token: str) -> IssuedRefreshToken:
        """Spend a token and return its successor.

        Raises:
            InvalidRefreshTokenError: it is unknown, expired or revoked, its user is disabled, or it was spent before;
                in that last case its login has been ended.
        """
        async with self._database.sessions.begin() as session:
            # Not raised in here: that would undo the end of a login whose token was used twice.
            issued = await self._rotate(session, token)
        if issued is None:
            raise InvalidRefreshTokenError
        return issued

    async def end(self, token: str) -> AccessClaims | None:
        """End the login a token belongs to, even if the token is spent; return whose and which, ``None`` if unknown."""
        async with self._database.sessions.begin() as session:
            found = await self._locked(session, token)
            if found is None:
                return None
            user, row = found
            await end_login(session, row.family_id, self._now())
        return AccessClaims(user_id=user.id, login_id=row.family_id)

    async def end_login(self, user_id: str, login_id: str) -> None:
        """End a login; one that has ended already stays as it is."""
        async with self._database.sessions.begin() as session:
            await session.scalar(locked_user(UserRow.id == user_id))
            await end_login(session, login_id, self._now())

    async def _rotate(self, session: AsyncSession, token: str) -> IssuedRefreshToken | None:
        found = await self._locked(session, token)
        now = self._now()
        if found is None or found[0].disabled_at is not None:
            return None
        user, row = found
        if not _is_usable(row, now):
            return None
        if row.spent_at is None:
            newest: str | None = await self._spend(session, row, token, now)
        elif now - row.spent_at <= self._grace:
            newest = await self._newest(session, token, now)
        else:
            logger.warning("refresh_token_reused", user_id=user.id, login_id=row.family_id)
            await end_login(session, row.family_id, now)
            newest = None
        if newest is None:
            return None
        return IssuedRefreshToken(token=newest, login_id=row.family_id, user=user_of(user))

    async def _locked(self, session: AsyncSession, token: str) -> tuple[UserRow, RefreshTokenRow] | None:
        owner = select(RefreshTokenRow.user_id).where(RefreshTokenRow.token_hash == token_hash(token))
        user = await session.scalar(locked_user(UserRow.id == owner.scalar_subquery()))
        # Read after the lock is held, in a statement of its own: a joined row would be as old as the wait was long.
        row = await _by_token(session, token)
        return None if user is None or row is None else (user, row)

    async def _spend(self, session: AsyncSession, row: RefreshTokenRow, token: str, now: datetime) -> str:
        successor = self._successor(token)
        row.spent_at = now
        await session.execute(update(LoginRow).where(LoginRow.id == row.family_id).values(last_used_at=now))
        session.add(self._row(successor, user_id=row.user_id, family_id=row.family_id, now=now))
        return successor

    async def _newest(self, session: AsyncSession, token: str, now: datetime) -> str | None:
        """Return the unspent token at the end of the chain; more than one step off only if that, too, was just used."""
        row = await _by_token(session, token)
        while row is not None and row.spent_at is not None:
            token = self._successor(token)
            row = await _by_token(session, token)
        return token if row is not None and _is_usable(row, now) else None

    def _successor(self, token: str) -> str:
        return PREFIX + base64url(hmac.digest(self._key, token.encode(), "sha256"))

    def _row(self, token: str, *, user_id: str, family_id: str, now: datetime) -> RefreshTokenRow:
        return RefreshTokenRow(
            id=str(uuid7()),
            user_id=user_id,
            family_id=family_id,
            token_hash=token_hash(token),
            issued_at=now,
            expires_at=now + self._lifetime,
        )

    async def _forget_expired(self, session: AsyncSession, user_id: str, now: datetime) -> None:
        await session.execute(
            delete(RefreshTokenRow).where(RefreshTokenRow.user_id == user_id, RefreshTokenRow.expires_at <= now)
        )
        families = select(RefreshTokenRow.family_id).where(RefreshTokenRow.user_id == user_id)
        await session.execute(delete(LoginRow).where(LoginRow.user_id == user_id, LoginRow.id.not_in(families)))


async def _by_token(session: AsyncSession, token: str) -> RefreshTokenRow | None:
    return await session.scalar(select(RefreshTokenRow).where(RefreshTokenRow.token_hash == token_hash(token)))


def _is_usable(row: RefreshTokenRow, now: datetime) -> bool:
    return row.revoked_at is None and row.expires_at > now
