"""What can go wrong with a request to the model, and whether it is worth another try: pure rules.

The gateway, and not the agent process, bounds how long a failing model keeps people waiting. It tells the process with
each failure whether to ask again (header ``x-should-retry``, or how it ends a stream that had begun).
"""

from dataclasses import dataclass
from typing import Literal

type FailureKind = Literal[
    "status",
    "unreachable",
    "timeout",
    "pings_only",
    "stream_cut",
    "stream_garbage",
    "breaker_open",
    "budget_spent",
    "user_budget_spent",
]

# Broken off or silent answers cost a whole answer, or a whole time limit, each time; a second chance is enough.
_MAX_INTERRUPTIONS = 1

# The API's names of its errors, by HTTP status. Errors inside a stream have only the name.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUS_OF_TYPE = {name: status for status, name in ERROR_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """A request that did not get its answer.

    ``status`` is the HTTP status the agent process is told, the API's own where there is one.
    """

    kind: FailureKind
    status: int
    message: str
    error_type: str = "api_error"
    retry_after_seconds: float | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may be answered later. What the API itself refuses (4xx) mostly is not."""
        if self.kind == "status":
            return self.status in (408, 409, 429) or self.status >= 500
        return self.kind not in ("budget_spent", "user_budget_spent")

    @property
    def blames_api(self) -> bool:
        """Whether the circuit breaker counts it: a refusal is an answer, and so is a request to slow down."""
        return self.is_transient and self.status >= 500 and self.kind != "breaker_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and after how long a wait, a failed request is worth another try."""

    max_retries: int
    max_retry_wait_seconds: float


@dataclass(slots=True, kw_only=True)
class ModelHealth:
    """How the model has treated one agent process in this turn."""

    last_failure: ModelFailure | None = None
    failures: int = 0
    interruptions: int = 0
    gave_up: bool = False

    def begin_turn(self) -> None:
        """Forget what was: a person's new message gets all its tries."""
        self.last_failure = None
        self.failures = self.interruptions = 0
        self.gave_up = False

    def answered(self) -> None:
        """Note a complete answer, with which the model has made good for what was before."""
        self.begin_turn()

    def failed(self, failure: ModelFailure, policy: RetryPolicy) -> bool:
        """Note a failure; return whether the process should ask again.

        From the first failure for good on the turn is lost. ``gave_up`` then has further requests of the turn refused:
        Claude Code would ask to go on after a broken answer several times, each with its own time limits.
        """
        self.last_failure = failure
        if not failure.is_transient:
            return False
        self.failures += 1
        if failure.kind not in ("status", "unreachable", "breaker_open"):
            self.interruptions += 1
        self.gave_up = (
            failure.kind in ("breaker_open", "pings_only")
            or self.failures > policy.max_retries
            or self.interruptions > _MAX_INTERRUPTIONS
            or (failure.retry_after_seconds or 0.0) > policy.max_retry_wait_seconds
        )
        return not self.gave_up


def status_of_type(error_type: str) -> int:
    """Return the HTTP status that goes with the API's name of an error; 500 for a name nobody knows."""
    return _STATUS_OF_TYPE.get(error_type, 500)
