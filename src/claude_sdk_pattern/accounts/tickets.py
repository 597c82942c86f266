"""Tickets: one use, some seconds, for the requests that cannot carry a header.

A browser can set no header on a WebSocket or an event stream, and what stands in an address ends up in logs. A
ticket in an address is worth nothing by the time a log is read.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete

from claude_sdk_pattern.accounts.access_tokens import AccessClaims
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidTicketError
from claude_sdk_pattern.accounts.keys import base64url, token_hash
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import TicketRow

PREFIX = "csp_tk_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A ticket to hand out; good for ``lifetime`` from now."""

    ticket: str
    lifetime: timedelta


class Tickets:
    """Issues and takes tickets. Only their hashes are stored."""

    def __init__(self, database: Database, *, lifetime: timedelta, now: Clock = utc_now) -> None:
        self._database = database
        self._lifetime = lifetime
        self._now = now

    async def issue(self, user_id: str, login_id: str) -> Ticket:
        """Return a new ticket of a user; what it opens belongs to this login."""
        ticket, now = PREFIX + base64url(secrets.token_bytes(32)), self._now()
        async with self._database.sessions.begin() as session:
            await session.execute(delete(TicketRow).where(TicketRow.expires_at <= now))
            session.add(
                TicketRow(
                    token_hash=token_hash(ticket),
                    user_id=user_id,
                    family_id=login_id,
                    expires_at=now + self._lifetime,
                )
            )
        return Ticket(ticket=ticket, lifetime=self._lifetime)

    async def take(self, ticket: str) -> AccessClaims:
        """Use up a ticket and return whose it was. Of several who come with the same, one succeeds.

        Raises:
            InvalidTicketError: it is unknown, expired, or was used before.
        """
        taking = (
            delete(TicketRow)
            .where(TicketRow.token_hash == token_hash(ticket))
            .returning(TicketRow.user_id, TicketRow.family_id, TicketRow.expires_at)
        )
        async with self._database.sessions.begin() as session:
            taken = (await session.execute(taking)).one_or_none()
        if taken is None or taken[2] <= self._now():
            raise InvalidTicketError
        return AccessClaims(user_id=taken[0], login_id=taken[1])
