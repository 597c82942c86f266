"""What sessions and people have spent on the model, added up as answers come in, and what they may spend."""

import time
from collections.abc import Callable, Sequence
from typing import Literal
from weakref import WeakValueDictionary

from claude_sdk_pattern.model_gateway.prices import PriceTable
from claude_sdk_pattern.model_gateway.usage import Usage, UsageRecord

type UsageListener = Callable[[UsageRecord], None]

type Budget = Literal["session", "user"]
"""Whose budget it is."""


class UserMeter:
    """What all sessions of one person have spent lately.

    Attributes:
        kept_usd: what the ledger had when it was last looked at, other servers' sessions included.
        unkept_usd: what this server has added since, which is not in the ledger yet.
    """

    def __init__(self, user_id: str, *, budget_usd: float | None) -> None:
        self.user_id = user_id
        self.kept_usd = 0.0
        self.unkept_usd = 0.0
        self.budget_usd = budget_usd

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up. The answer that did it may have gone over it."""
        return self.budget_usd is not None and self.kept_usd + self.unkept_usd >= self.budget_usd


class SessionMeter:
    """One session's spending.

    Attributes:
        user: the meter of whoever it belongs to; None while nobody has opened the session.
        spent_usd: what it has cost so far, since it began and not since this server did.
        on_usage: called with each answer's record; whoever opened the session keeps the sum.
    """

    def __init__(self, session_id: str, *, spent_usd: float, budget_usd: float | None) -> None:
        self.session_id = session_id
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.user: UserMeter | None = None
        self.on_usage: UsageListener | None = None

    @property
    def spent_budget(self) -> Budget | None:
        """Which budget is used up, if one is. The answer that did it may have gone over it."""
        if self.budget_usd is not None and self.spent_usd >= self.budget_usd:
            return "session"
        return "user" if self.user is not None and self.user.is_spent else None


class SpendingMeters:
    """The meters of the sessions that are open on this server; one lives as long as somebody holds it.

    Args:
        prices: what tokens cost.
        budget_usd: what one session may spend; None for no limit.
        user_budget_usd: what one person may spend in the ledger's hours; None for no limit.
    """

    def __init__(
        self, prices: PriceTable, *, budget_usd: float | None = None, user_budget_usd: float | None = None
    ) -> None:
        self._prices = prices
        self._budget_usd = budget_usd
        self._user_budget_usd = user_budget_usd
        self._meters: WeakValueDictionary[str, SessionMeter] = WeakValueDictionary()
        self._users: WeakValueDictionary[str, UserMeter] = WeakValueDictionary()

    @property
    def users(self) -> Sequence[UserMeter]:
        """The meters of those whose sessions are open here."""
        return list(self._users.values())

    def of_user(self, user_id: str) -> UserMeter:
        """Return a person's meter."""
        meter = self._users.get(user_id)
        if meter is None:
            meter = UserMeter(user_id, budget_usd=self._user_budget_usd)
            self._users[user_id] = meter
        return meter

    def of(self, session_id: str, *, spent_usd: float = 0.0) -> SessionMeter:
        """Return a session's meter. One that is new begins at ``spent_usd``; one that runs knows better."""
        meter = self._meters.get(session_id)
        if meter is None:
            meter = SessionMeter(session_id, spent_usd=spent_usd, budget_usd=self._budget_usd)
            self._meters[session_id] = meter
        return meter

    def record(
        self, meter: SessionMeter, *, turn_id: str | None, model: str, usage: Usage, is_complete: bool
    ) -> UsageRecord:
        """Add an answer to what a session and its owner have spent."""
        cost = self._prices.cost_usd(model, usage)
        meter.spent_usd += cost
        if meter.user is not None:
            meter.user.unkept_usd += cost
        record = UsageRecord(
            session_id=meter.session_id,
            turn_id=turn_id,
            at_ms=time.time_ns() // 1_000_000,
            model=model,
            usage=usage,
            cost_usd=cost,
            is_complete=is_complete,
        )
        if meter.on_usage is not None:
            meter.on_usage(record)
        return record
