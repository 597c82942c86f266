"""Links that let somebody choose a password: for the very first user, and for one who has none or forgot it.

A link's secret stands in the part of the address behind ``#``, which browsers send to no server, so it ends up in no
log. Only its hash is stored; it is good for some time, and once.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidLinkError
from claude_sdk_pattern.accounts.keys import base64url, token_hash
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import OneTimeLinkRow

Purpose = Literal["setup", "password"]

PREFIX = "csp_ln_"

SETUP_LIFETIME = timedelta(hours=1)

# Somebody has to carry it to the person, and they to read it.
PASSWORD_LIFETIME = timedelta(hours=24)

_PAGES: dict[Purpose, str] = {"setup": "/setup", "password": "/choose-password"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeLink:
    """A link to hand out. ``path`` is the address without the server's part."""

    path: str
    expires_at: datetime


class OneTimeLinks:
    """Makes links and takes them back in."""

    def __init__(self, database: Database, now: Clock = utc_now) -> None:
        self._database = database
        self._now = now

    async def for_setup(self) -> OneTimeLink:
        """Return a link that makes the first user. Those of other servers stay good."""
        async with self._database.sessions.begin() as session:
            await self._forget_expired(session)
            return self._add(session, "setup", None, SETUP_LIFETIME)

    async def for_password(self, user_id: str) -> OneTimeLink:
        """Return a link that gives a user a new password; earlier ones of theirs are not good any more."""
        async with self._database.sessions.begin() as session:
            await self._forget_expired(session)
            await session.execute(delete(OneTimeLinkRow).where(OneTimeLinkRow.user_id == user_id))
            return self._add(session, "password", user_id, PASSWORD_LIFETIME)

    async def look_up(self, token: str, purpose: Purpose) -> str | None:
        """Return for whom a link is, ``None`` for the first user.

        Raises:
            InvalidLinkError: it is unknown, expired or used.
        """
        async with self._database.reading() as session:
            return self._checked(await session.get(OneTimeLinkRow, token_hash(token)), purpose)

    async def take(self, session: AsyncSession, token: str, purpose: Purpose) -> str | None:
        """Use up a link in the caller's transaction; of several who come with the same, one succeeds.

        Raises:
            InvalidLinkError: as for :meth:`look_up`.
        """
        query = select(OneTimeLinkRow).where(OneTimeLinkRow.token_hash == token_hash(token)).with_for_update()
        row = await session.scalar(query)
        user_id = self._checked(row, purpose)
        # With all others for the same, so that none of them makes a second first user.
        is_same = OneTimeLinkRow.user_id == user_id if user_id is not None else OneTimeLinkRow.user_id.is_(None)
        await session.execute(delete(OneTimeLinkRow).where(OneTimeLinkRow.purpose == purpose, is_same))
        return user_id

    def _checked(self, row: OneTimeLinkRow | None, purpose: Purpose) -> str | None:
        if row is None or row.purpose != purpose or row.expires_at <= self._now():
            raise InvalidLinkError
        return row.user_id

    def _add(self, session: AsyncSession, purpose: Purpose, user_id: str | None, lifetime: timedelta) -> OneTimeLink:
        token, expires_at = PREFIX + base64url(secrets.token_bytes(32)), self._now() + lifetime
        session.add(
            OneTimeLinkRow(token_hash=token_hash(token), purpose=purpose, user_id=user_id, expires_at=expires_at)
        )
        return OneTimeLink(path=f"{_PAGES[purpose]}#{token}", expires_at=expires_at)

    async def _forget_expired(self, session: AsyncSession) -> None:
        await session.execute(delete(OneTimeLinkRow).where(OneTimeLinkRow.expires_at <= self._now()))
