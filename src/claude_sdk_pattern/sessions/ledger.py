"""The ledger: a row for each answer of the model, and from it what a person has spent lately."""

import asyncio
import time
from collections.abc import Collection, Sequence
from typing import Final

import structlog
from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from claude_sdk_pattern.model_gateway.spending import SessionMeter, SpendingMeters, UserMeter
from claude_sdk_pattern.model_gateway.usage import UsageRecord
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionRow, UsageRow

logger = structlog.get_logger(__name__)

BUDGET_HOURS: Final = 24
"""What a person has spent counts against their budget for so long."""

# How soon what is older than that comes off, and what other servers' sessions have spent comes on.
_REFRESH_SECONDS = 30.0


class Ledger:
    """Keeps what the gateway's meters count.

    Args:
        database: where the rows are.
        meters: the meters; those of people are set from here.
    """

    def __init__(self, database: Database, meters: SpendingMeters) -> None:
        self._database = database
        self._meters = meters

    async def add(self, meter: SessionMeter, records: Sequence[UsageRecord]) -> None:
        """Keep answers to one session.

        Raises:
            SQLAlchemyError: nothing is kept.
        """
        user = meter.user
        cost = sum(record.cost_usd for record in records)
        rows = [_row(record, None if user is None else user.user_id) for record in records]
        paid = update(SessionRow).where(SessionRow.id == meter.session_id)
        paid = paid.values(cost_usd=SessionRow.cost_usd + cost)

        def write(connection: Connection) -> None:
            connection.execute(insert(UsageRow), rows)
            connection.execute(paid)

        await self._database.write(write)
        if user is not None:
            user.kept_usd += cost
            user.unkept_usd -= cost

    async def spent(self, user_ids: Collection[str]) -> dict[str, float]:
        """Return what people have spent within the last :data:`BUDGET_HOURS`, in USD; who is not in it, nothing.

        Raises:
            SQLAlchemyError: the database did not answer.
        """
        since_ms = time.time_ns() // 1_000_000 - BUDGET_HOURS * 3_600_000
        query = (
            select(UsageRow.user_id, func.sum(UsageRow.cost_usd))
            .where(UsageRow.user_id.in_(user_ids), UsageRow.at_ms > since_ms)
            .group_by(UsageRow.user_id)
        )
        async with self._database.reading() as session:
            return {user_id: cost for user_id, cost in await session.execute(query) if user_id is not None}

    async def refresh(self, meters: Collection[UserMeter]) -> None:
        """Set people's meters to what they have spent.

        Raises:
            SQLAlchemyError: the database did not answer; they stand as they were.
        """
        limited = [meter for meter in meters if meter.budget_usd is not None]
        if limited:
            spent = await self.spent([meter.user_id for meter in limited])
            for meter in limited:
                meter.kept_usd = spent.get(meter.user_id, 0.0)

    async def run(self) -> None:
        """Keep the meters of those whose sessions are open up to date, for ever."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            try:
                await self.refresh(self._meters.users)
            except SQLAlchemyError:
                # What was known still holds.
                logger.warning("ledger_not_read", exc_info=True)


def _row(record: UsageRecord, user_id: str | None) -> dict[str, object]:
    usage = record.usage
    return {
        "at_ms": record.at_ms,
        "user_id": user_id,
        "session_id": record.session_id,
        "turn_id": record.turn_id,
        "model": record.model,
        "input_tokens": usage.input_tokens,
        "cache_write_tokens": usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": record.cost_usd,
        "is_complete": record.is_complete,
    }
