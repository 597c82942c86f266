"""Buckets in the database, for servers that share one."""

from typing import Final

import structlog
from sqlalchemy import delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from claude_sdk_pattern.limits.buckets import MemoryBuckets, Rate
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import RateLimitRow

logger = structlog.get_logger(__name__)

# Rows of buckets that are full again say nothing; they are removed once in so many takes.
_CLEAN_EVERY: Final = 2_000


class SharedBuckets:
    """Buckets in PostgreSQL, by its clock.

    Each server has buckets of its own in front of them: what is too much for one server is too much for all, and a
    flood does not reach the database. Where the database does not answer, those alone count.
    """

    def __init__(self, database: Database, own: MemoryBuckets) -> None:
        self._database = database
        self._own = own
        self._taken = 0

    async def take(self, key: str, rate: Rate) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        wait_seconds = await self._own.take(key, rate)
        if wait_seconds:
            return wait_seconds
        try:
            return await self._take(key, rate)
        except (DBAPIError, PoolTimeoutError) as error:
            logger.warning("rate_limits_not_shared", error=str(error).partition("\n")[0])
            return 0.0

    async def _take(self, key: str, rate: Rate) -> float:
        now_ms = func.extract("epoch", func.clock_timestamp()) * 1000
        token_ms, full_ms = rate.token_seconds * 1000, rate.full_seconds * 1000
        row = RateLimitRow
        taken_until = func.greatest(row.full_at_ms, now_ms) + token_ms
        taking = (
            insert(row)
            .values(key=key, full_at_ms=now_ms + token_ms)
            .on_conflict_do_update(
                index_elements=[row.key],
                set_={"full_at_ms": taken_until},
                # A thousandth more, for what rounding is off by.
                where=taken_until - now_ms <= full_ms + 0.001,
            )
            .returning(literal(1))
        )
        missing = select(func.greatest(row.full_at_ms, now_ms) + token_ms - now_ms - full_ms).where(row.key == key)
        async with self._database.sessions.begin() as session:
            # These rows may be lost with a crash; nobody has to wait for the disk.
            await session.execute(text("SET LOCAL synchronous_commit = off"))
            has_taken = await session.scalar(taking) is not None
            wait_ms = 0.0 if has_taken else float(await session.scalar(missing) or 0.0)
            self._taken += 1
            if self._taken % _CLEAN_EVERY == 0:
                await session.execute(delete(row).where(row.full_at_ms < now_ms))
        return 0.0 if has_taken else max(wait_ms / 1000, 0.001)
