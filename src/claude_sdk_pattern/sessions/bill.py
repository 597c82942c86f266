"""What one session has spent, kept in the database and told turn by turn."""

import asyncio

from claude_sdk_pattern.model_gateway.spending import SessionMeter
from claude_sdk_pattern.model_gateway.usage import UsageRecord
from claude_sdk_pattern.sessions.background import Background
from claude_sdk_pattern.sessions.repository import SessionRepository

# The last words of an answer go to the tape just when its price is known, and one of the two has to wait. This one.
_KEEP_AFTER_SECONDS = 0.1


class Bill:
    """Reads the session's meter in the model gateway, which counts every answer, also of turns that break off."""

    def __init__(self, meter: SessionMeter, repository: SessionRepository, background: Background) -> None:
        self._meter = meter
        self._repository = repository
        self._background = background
        self._told_usd = meter.spent_usd
        self._unkept_usd = 0.0
        meter.on_usage = self._on_usage

    @property
    def is_spent(self) -> bool:
        """Whether the session's budget is used up."""
        return self._meter.is_spent

    def take(self) -> float:
        """Return what was spent since this was asked last, in USD."""
        before, self._told_usd = self._told_usd, self._meter.spent_usd
        return self._told_usd - before

    def _on_usage(self, record: UsageRecord) -> None:
        if not record.cost_usd:
            return
        if not self._unkept_usd:
            self._background.run(self._keep())
        self._unkept_usd += record.cost_usd

    async def _keep(self) -> None:
        await asyncio.sleep(_KEEP_AFTER_SECONDS)
        cost, self._unkept_usd = self._unkept_usd, 0.0
        await self._repository.add_cost(self._meter.session_id, cost)
