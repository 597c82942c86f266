"""What one session has spent, kept in the database and told turn by turn."""

import asyncio

from claude_sdk_pattern.model_gateway.spending import Budget, SessionMeter
from claude_sdk_pattern.model_gateway.usage import UsageRecord
from claude_sdk_pattern.sessions.background import Background
from claude_sdk_pattern.sessions.ledger import Ledger

# The last words of an answer go to the tape just when its price is known, and one of the two has to wait. This one.
_KEEP_AFTER_SECONDS = 0.1


class Bill:
    """Reads the session's meter in the model gateway, which counts every answer, also of turns that break off."""

    def __init__(self, meter: SessionMeter, ledger: Ledger, background: Background) -> None:
        self._meter = meter
        self._ledger = ledger
        self._background = background
        self._told_usd = meter.spent_usd
        self._unkept: list[UsageRecord] = []
        meter.on_usage = self._on_usage

    @property
    def spent_budget(self) -> Budget | None:
        """Which budget is used up, if one is."""
        return self._meter.spent_budget

    def take(self) -> float:
        """Return what was spent since this was asked last, in USD."""
        before, self._told_usd = self._told_usd, self._meter.spent_usd
        return self._told_usd - before

    def _on_usage(self, record: UsageRecord) -> None:
        if not self._unkept:
            self._background.run(self._keep())
        self._unkept.append(record)

    async def _keep(self) -> None:
        await asyncio.sleep(_KEEP_AFTER_SECONDS)
        records, self._unkept = self._unkept, []
        await self._ledger.add(self._meter, records)
