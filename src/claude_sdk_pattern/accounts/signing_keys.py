"""The keys that sign access tokens: which there are, which one signs, and until when the others are taken.

A key is computed from the server's secret and the id of a row, so neither the database nor the secret alone is enough
to make one. Rotating adds a row: the new key signs from now on, and tokens of the one before are taken until the last
of them has run out. A secret that is being replaced may be given as the one before; its keys check, and sign nothing.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import delete, or_, select, update
from uuid_utils import uuid7

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.keys import derive_key
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SigningKeyRow

# How soon a server notices that keys were rotated by another, or on the command line.
MAX_AGE_SECONDS = 5.0

# Access tokens that were signed just before a rotation was noticed, and clocks that differ a little.
RETIRING_MARGIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """One generation. ``retires_at`` is ``None`` for the one that signs."""

    id: str
    created_at: datetime
    retires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """All keys that are good now. ``kid`` names the one that signs; what it signs says so in its header."""

    kid: str
    keys: Mapping[str, bytes]


class SigningKeys:
    """Rotates the generations of the signing key; knows nothing of the secret."""

    def __init__(self, database: Database, now: Clock = utc_now) -> None:
        self._database = database
        self._now = now

    async def list(self) -> Sequence[SigningKey]:
        """Return the keys that are good now, the newest first. The first call on a database makes the first key."""
        query = (
            select(SigningKeyRow)
            .where(or_(SigningKeyRow.retires_at.is_(None), SigningKeyRow.retires_at > self._now()))
            .order_by(SigningKeyRow.created_at.desc(), SigningKeyRow.id.desc())
        )
        async with self._database.reading() as session:
            rows = (await session.scalars(query)).all()
        if any(row.retires_at is None for row in rows):
            return [_key(row) for row in rows]
        # Servers that start together may each make one; all of them are good.
        await self._add()
        return await self.list()

    async def rotate(self, *, token_lifetime: timedelta) -> SigningKey:
        """Make a new key that signs from now on.

        Args:
            token_lifetime: for how long tokens of the keys before are still taken; zero ends them at once.
        """
        now = self._now()
        margin = RETIRING_MARGIN if token_lifetime else timedelta(0)
        async with self._database.sessions.begin() as session:
            await session.execute(delete(SigningKeyRow).where(SigningKeyRow.retires_at <= now))
            row = SigningKeyRow(id=str(uuid7()), created_at=now)
            is_older = SigningKeyRow.retires_at.is_(None)
            if not token_lifetime:
                is_older = or_(is_older, SigningKeyRow.retires_at > now)
            await session.execute(
                update(SigningKeyRow).where(is_older).values(retires_at=now + token_lifetime + margin)
            )
            session.add(row)
        return _key(row)

    async def _add(self) -> None:
        async with self._database.sessions.begin() as session:
            session.add(SigningKeyRow(id=str(uuid7()), created_at=self._now()))


class KeyRings:
    """The keys of one server, computed with its secret and read again every few seconds."""

    def __init__(
        self,
        keys: SigningKeys,
        *,
        secret: str,
        previous_secret: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._secrets = [secret, *([previous_secret] if previous_secret else [])]
        self._monotonic = monotonic
        self._ring: KeyRing | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def current(self) -> KeyRing:
        """Return the keys, at most :data:`MAX_AGE_SECONDS` old."""
        ring = self._fresh()
        if ring is not None:
            return ring
        async with self._reading:
            # Read by somebody else while this one waited.
            ring = self._fresh()
            if ring is None:
                read_at = self._monotonic()
                ring = self._ring = self._computed(await self._keys.list())
                self._read_at = read_at
        return ring

    def _fresh(self) -> KeyRing | None:
        return self._ring if self._monotonic() - self._read_at < MAX_AGE_SECONDS else None

    def _computed(self, known: Sequence[SigningKey]) -> KeyRing:
        # Newest first, and of each generation first the key of today's secret.
        keys = [derive_key(secret, f"access-token/{key.id}") for key in known for secret in self._secrets]
        named = {sha256(key).hexdigest()[:16]: key for key in keys}
        return KeyRing(kid=next(iter(named)), keys=named)


def _key(row: SigningKeyRow) -> SigningKey:
    return SigningKey(id=row.id, created_at=row.created_at, retires_at=row.retires_at)
