"""Slowing down those who guess passwords, in the database, so that all servers count together.

Three things have a number of tries that comes back with time, and a try needs one of each:

- the name from this address, against guessing one password;
- the address, against trying one password on many names;
- the name, from all addresses where its user has not signed in lately, against guessing from many addresses.

The last must not lock out the person whose account is attacked: who comes from an address where they signed in before
does not need it. A sign-in that succeeds gives its tries back, so an office behind one address does not run out.
"""

import ipaddress
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import delete, exists, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import TooManyAttemptsError
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import LoginRow, SignInTriesRow, UserRow

# An address counts as a person's own for as long after they signed in there.
KNOWN_FOR = timedelta(days=30)

# More than one try adds, so that they never pile up.
_FORGOTTEN_AT_ONCE = 100

# Who has an IPv6 address at all has that many of them.
_IPV6_PREFIX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """``burst`` tries at once, and then one every ``refill``."""

    burst: int
    refill: timedelta


PAIR = Allowance(burst=10, refill=timedelta(seconds=30))
ADDRESS = Allowance(burst=100, refill=timedelta(seconds=5))
NAME = Allowance(burst=50, refill=timedelta(seconds=20))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    key_hash: str
    allowance: Allowance


class SignInThrottle:
    """Counts tries when they begin: many at once are as many as one after the other."""

    def __init__(self, database: Database, now: Clock = utc_now) -> None:
        self._database = database
        self._now = now

    async def begin(self, name: str, address: str) -> None:
        """Count a try.

        Raises:
            TooManyAttemptsError: there were too many; this one does not count.
        """
        now, network = self._now(), network_of(address)
        async with self._database.sessions.begin() as session:
            counted = _counted(name, network)
            if await self._is_known(session, name, network, now):
                counted = counted[:-1]
            rows = await self._locked(session, [one.key_hash for one in counted], now)
            waits = [_seconds_until_next(rows[one.key_hash], one.allowance, now) for one in counted]
            if (wait := max(waits)) > 0:
                raise TooManyAttemptsError(wait)
            for one in counted:
                row = rows[one.key_hash]
                row.full_at = max(row.full_at, now) + one.allowance.refill
            await _forget_full(session, now)

    async def succeeded(self, name: str, address: str) -> None:
        """Give back the tries of somebody who knew the password: all for the name from there, else the last one."""
        now, (pair, *others) = self._now(), _counted(name, network_of(address))
        async with self._database.sessions.begin() as session:
            rows = await self._locked(session, [one.key_hash for one in (pair, *others)], now)
            rows[pair.key_hash].full_at = now
            for one in others:
                row = rows[one.key_hash]
                row.full_at = max(row.full_at - one.allowance.refill, now)

    async def _is_known(self, session: AsyncSession, name: str, network: str, now: datetime) -> bool:
        lately = (
            select(LoginRow.address)
            .join(UserRow, UserRow.id == LoginRow.user_id)
            .where(UserRow.username == name, LoginRow.last_used_at > now - KNOWN_FOR)
        )
        if network == "" or not await session.scalar(select(exists(lately))):
            return False
        return network in {network_of(address) for address in await session.scalars(lately)}

    async def _locked(self, session: AsyncSession, keys: Sequence[str], now: datetime) -> dict[str, SignInTriesRow]:
        """Return the rows of keys, made where there is none; other servers wait for them."""
        insert = sqlite.insert if self._database.dialect == "sqlite" else postgresql.insert
        # In one order for everybody, or two servers could wait for each other.
        ordered = sorted(keys)
        values = [{"key_hash": key, "full_at": now} for key in ordered]
        await session.execute(insert(SignInTriesRow).values(values).on_conflict_do_nothing())
        query = (
            select(SignInTriesRow)
            .where(SignInTriesRow.key_hash.in_(ordered))
            .order_by(SignInTriesRow.key_hash)
            .with_for_update()
        )
        return {row.key_hash: row for row in await session.scalars(query)}


def network_of(address: str) -> str:
    """Return what of an address tells one client from another; empty for what is no network address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)


def _counted(name: str, network: str) -> list[_Counted]:
    return [
        _Counted(key_hash=_key_hash("pair", name, network), allowance=PAIR),
        _Counted(key_hash=_key_hash("address", network), allowance=ADDRESS),
        _Counted(key_hash=_key_hash("name", name), allowance=NAME),
    ]


def _key_hash(*parts: str) -> str:
    # Of what was typed as a name only this is stored: it may have been a password.
    return sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def _seconds_until_next(row: SignInTriesRow, allowance: Allowance, now: datetime) -> int:
    excess = max(row.full_at, now) + allowance.refill - now - allowance.burst * allowance.refill
    return math.ceil(excess.total_seconds())


async def _forget_full(session: AsyncSession, now: datetime) -> None:
    # Those that another server works on are left to the next time: waiting for each other would end badly.
    full = (
        select(SignInTriesRow.key_hash)
        .where(SignInTriesRow.full_at < now)
        .limit(_FORGOTTEN_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    await session.execute(delete(SignInTriesRow).where(SignInTriesRow.key_hash.in_(full.scalar_subquery())))
