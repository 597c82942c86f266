"""What people are told when the model does not answer: pure, from what the gateway knows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from claude_sdk_pattern.events import types as events

_RATE_LIMITED = "The model is rate limiting requests."
_UNAVAILABLE = "The AI service is overloaded or failing."
_TIMEOUT = "The AI service did not answer in time."
_BROKEN = "The connection to the AI service broke off."
_NOT_AUTHORIZED = "The AI service is not configured correctly. An administrator has to look at it."
_BILLING = "The account with the AI service has no credit left. An administrator has to look at it."
_REFUSED = "The AI service refused the request."
_TOO_LONG = "This conversation is too long for the model. Compact it, or go on in a fork."

# The API refuses a conversation for good when what the agent remembers of it has become malformed.
MEMORY_DAMAGED = events.Error(
    code="memory_damaged",
    message="The AI service has refused this conversation twice in a row. What the agent remembers of it is damaged.",
    recoverable=True,
)

BUDGETS_SPENT: Mapping[str, str] = {
    "session": "The budget of this session is used up. Start a new one, or ask an administrator for more.",
    "user": "Your budget for 24 hours is used up. Go on later, or ask an administrator for more.",
}
"""What is said, by whose budget it is (:data:`claude_sdk_pattern.model_gateway.spending.Budget`)."""

_SPENT_BUDGETS: Mapping[str, str] = {"budget_spent": "session", "user_budget_spent": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrouble:
    """Why the last request to the model got no answer. ``kind`` and ``status`` as the gateway has them."""

    kind: str
    status: int | None
    retry_after_seconds: float | None = None

    @property
    def spent_budget(self) -> str | None:
        """Whose budget is used up, if that was why."""
        return _SPENT_BUDGETS.get(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """What the gateway has to say about a turn: why it failed, if it did, and what it cost."""

    trouble: ModelTrouble | None = None
    cost_usd: float = 0.0


def unavailable(retry_after_seconds: float) -> events.Error:
    """Return the error of a message that is not even tried."""
    return _told(_UNAVAILABLE, code="api_unavailable", after=retry_after_seconds)


def trouble_error(trouble: ModelTrouble) -> events.Error:
    """Return the error event for a failure."""
    after = trouble.retry_after_seconds
    match trouble.kind:
        case "timeout" | "pings_only":
            return _told(_TIMEOUT, code="api_timeout", after=after)
        case "stream_cut" | "stream_garbage":
            return _told(_BROKEN, code="api_unavailable", after=after)
        case "prompt_too_long":
            return _told(_TOO_LONG, code="conversation_too_long", after=after)
        case _:
            return _by_status(trouble.status, after)


def _by_status(status: int | None, after: float | None) -> events.Error:
    match status:
        case 429:
            return _told(_RATE_LIMITED, code="rate_limited", after=after)
        case 401 | 403:
            return _told(_NOT_AUTHORIZED, code="api_not_authorized", after=after, recoverable=False)
        case 402:
            return _told(_BILLING, code="api_no_credit", after=after, recoverable=False)
        case int() if status < 500:
            return _told(_REFUSED, code="api_request_refused", after=after)
        case _:
            return _told(_UNAVAILABLE, code="api_unavailable", after=after)


def _told(text: str, *, code: str, after: float | None, recoverable: bool = True) -> events.Error:
    retry_after_ms = None if after is None else math.ceil(after * 1000)
    return events.Error(code=code, message=text, recoverable=recoverable, retry_after_ms=retry_after_ms)
