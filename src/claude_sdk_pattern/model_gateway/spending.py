"""What each session has spent on the model, added up as answers come in, and what it may spend."""

from collections.abc import Callable
from weakref import WeakValueDictionary

from claude_sdk_pattern.model_gateway.prices import PriceTable
from claude_sdk_pattern.model_gateway.usage import Usage, UsageRecord

type UsageListener = Callable[[UsageRecord], None]


class SessionMeter:
    """One session's spending.

    Attributes:
        spent_usd: what it has cost so far, since it began and not since this server did.
        on_usage: called with each answer's record; whoever opened the session keeps the sum.
    """

    def __init__(self, session_id: str, *, spent_usd: float, budget_usd: float | None) -> None:
        self.session_id = session_id
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.on_usage: UsageListener | None = None

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up. The answer that did it may have gone over it."""
        return self.budget_usd is not None and self.spent_usd >= self.budget_usd


class SpendingMeters:
    """The meters of the sessions that are open on this server; one lives as long as somebody holds it.

    Args:
        prices: what tokens cost.
        budget_usd: what one session may spend; None for no limit.
    """

    def __init__(self, prices: PriceTable, *, budget_usd: float | None = None) -> None:
        self._prices = prices
        self._budget_usd = budget_usd
        self._meters: WeakValueDictionary[str, SessionMeter] = WeakValueDictionary()

    def of(self, session_id: str, *, spent_usd: float = 0.0) -> SessionMeter:
        """Return a session's meter. One that is new begins at ``spent_usd``; one that runs knows better."""
        meter = self._meters.get(session_id)
        if meter is None:
            meter = SessionMeter(session_id, spent_usd=spent_usd, budget_usd=self._budget_usd)
            self._meters[session_id] = meter
        return meter

    def record(self, meter: SessionMeter, *, model: str, usage: Usage, is_complete: bool) -> UsageRecord:
        """Add an answer to what a session has spent."""
        cost = self._prices.cost_usd(model, usage)
        meter.spent_usd += cost
        record = UsageRecord(
            session_id=meter.session_id, model=model, usage=usage, cost_usd=cost, is_complete=is_complete
        )
        if meter.on_usage is not None:
            meter.on_usage(record)
        return record
