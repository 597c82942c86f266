"""Whether what a token said still holds: is the user there and enabled, has their login not ended, what is their role.

Every request asks, and so may whoever holds a connection open. The answer is kept for a second, so that a burst of
requests costs one query, and so that a disabled user, a changed role or a sign-out is felt within a second
everywhere.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select

from claude_sdk_pattern.accounts.access_tokens import AccessClaims
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.accounts.logins import is_live
from claude_sdk_pattern.accounts.users import User, user_of
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import UserRow

# How long a change may go unnoticed. Nothing that people do by hand is faster.
MAX_AGE_SECONDS = 1.0

# About a megabyte. More logins than this within a second cost a query each.
MAX_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is asking, and with which login. To ask again whether it still holds: :meth:`Identities.check`."""

    user: User
    login_id: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """``identity`` is None for a login that has ended. ``at`` is monotonic time in seconds."""

    identity: Identity | None
    at: float


class Identities:
    """Looks up logins, with a memory of one second."""

    def __init__(
        self, database: Database, now: Clock = utc_now, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._now = now
        self._monotonic = monotonic
        self._answers: dict[AccessClaims, _Answer] = {}
        self._asking: dict[AccessClaims, asyncio.Task[_Answer]] = {}

    async def check(self, claims: AccessClaims) -> Identity:
        """Return who this is now, with the role they have now.

        Raises:
            InvalidAccessTokenError: the user is gone or disabled, or the login has ended.
        """
        answer = self._answers.get(claims)
        if answer is None or self._monotonic() - answer.at >= MAX_AGE_SECONDS:
            answer = await self._ask(claims)
        if answer.identity is None:
            raise InvalidAccessTokenError
        return answer.identity

    def forget(self, login_id: str) -> None:
        """Ask the database the next time this login comes up: it was just ended here."""
        for known in (self._answers, self._asking):
            for claims in [claims for claims in known if claims.login_id == login_id]:
                del known[claims]

    async def _ask(self, claims: AccessClaims) -> _Answer:
        """Ask the database, once for all who want to know at the same time.

        A thousand connections of one login would otherwise each ask as soon as one answer takes longer than it lasts,
        and keep everything else from the database.
        """
        asking = self._asking.get(claims)
        if asking is None:
            asking = self._asking[claims] = asyncio.create_task(self._look_up_and_keep(claims))
        # Whoever gives up waiting does not take the answer from the others.
        return await asyncio.shield(asking)

    async def _look_up_and_keep(self, claims: AccessClaims) -> _Answer:
        # The age counts from before the query: what it sees may have changed by the time it returns.
        asked_at = self._monotonic()
        try:
            answer = _Answer(at=asked_at, identity=await self._look_up(claims))
        finally:
            is_wanted = self._asking.get(claims) is asyncio.current_task()
            if is_wanted:
                del self._asking[claims]
        if is_wanted:
            self._keep(claims, answer)
        return answer

    async def _look_up(self, claims: AccessClaims) -> Identity | None:
        query = select(UserRow).where(
            UserRow.id == claims.user_id,
            UserRow.disabled_at.is_(None),
            is_live(claims.user_id, claims.login_id, self._now()),
        )
        async with self._database.sessions(bind=self._database.engine) as session:
            row = await session.scalar(query)
        return None if row is None else Identity(user=user_of(row), login_id=claims.login_id)

    def _keep(self, claims: AccessClaims, answer: _Answer) -> None:
        if len(self._answers) >= MAX_KEPT:
            oldest = answer.at - MAX_AGE_SECONDS
            self._answers = {kept: one for kept, one in self._answers.items() if one.at > oldest}
        if len(self._answers) < MAX_KEPT:
            self._answers[claims] = answer
