"""A circuit breaker: when the model's API fails again and again, requests are refused at once instead of tried.

Closed, requests pass and failures are counted. Too many within the window open it: every request is refused. After a
while it is half-open: one request, the probe, is let through, and how that ends decides whether it closes or opens
again. It knows no network and no clock of its own. One breaker belongs to one upstream.
"""

import time
from collections import deque
from collections.abc import Callable
from enum import IntEnum

# While the probe is under way nobody knows when it ends; the API usually answers or refuses within this.
PROBE_SECONDS = 1.0


class BreakerState(IntEnum):
    """The state, with the number that stands for it in metrics."""

    CLOSED = 0
    OPEN = 1
    HALF_OPEN = 2


class Attempt:
    """A request that was let through; its outcome is told once, and later words change nothing.

    An attempt may be answered and fail later, when a stream breaks off: then both count.
    """

    def __init__(self, breaker: "CircuitBreaker", *, is_probe: bool, period: int) -> None:
        self._breaker = breaker
        self._is_probe = is_probe
        self._period = period
        self._is_over = False

    def answered(self) -> None:
        """The API answered something sensible, be it a refusal of this one request."""
        if self._is_probe and not self._is_over:
            self._is_probe = False
            self._period = self._breaker._probe_answered()  # pyright: ignore[reportPrivateUsage]

    def failed(self) -> None:
        """The API could not be reached, took too long, broke off, or reported a fault of its own."""
        if self._is_over:
            return
        self._is_over = True
        if self._is_probe:
            self._breaker._probe_failed()  # pyright: ignore[reportPrivateUsage]
        else:
            self._breaker._count(self._period)  # pyright: ignore[reportPrivateUsage]

    def over(self) -> None:
        """The request ended, for whatever reason. A probe without an outcome leaves its place to the next request."""
        if self._is_over:
            return
        self._is_over = True
        if self._is_probe:
            self._breaker._probe_left()  # pyright: ignore[reportPrivateUsage]


class CircuitBreaker:
    """Decides which requests may be tried.

    Args:
        failures: so many within the window open it.
        window_seconds: how long a failure is remembered.
        open_seconds: how long it stays open before a probe.
        clock: monotonic time in seconds.
        on_change: called with each new state.
    """

    def __init__(
        self,
        *,
        failures: int,
        window_seconds: float,
        open_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[BreakerState], None] | None = None,
    ) -> None:
        self._limit = failures
        self._window_seconds = window_seconds
        self._open_seconds = open_seconds
        self._clock = clock
        self._on_change = on_change
        self._state = BreakerState.CLOSED
        self._failed_at: deque[float] = deque()
        self._opened_at = 0.0
        self._has_probe = False
        # Counts the times it closed: requests from before an opening say nothing about now.
        self._period = 0

    @property
    def state(self) -> BreakerState:
        """The state; an open one becomes half-open with the first request after its time."""
        return self._state

    @property
    def retry_after_seconds(self) -> float | None:
        """How long a request should wait before it is tried, or None if one would be let through now."""
        match self._state:
            case BreakerState.OPEN:
                left = self._opened_at + self._open_seconds - self._clock()
                return left if left > 0 else None
            case BreakerState.HALF_OPEN if self._has_probe:
                return PROBE_SECONDS
            case _:
                return None

    def admit(self) -> Attempt | None:
        """Let a request through, or return None if it has to be refused. The caller tells how it ended."""
        if self.retry_after_seconds is not None:
            return None
        if self._state is BreakerState.OPEN:
            self._change(BreakerState.HALF_OPEN)
        is_probe = self._state is BreakerState.HALF_OPEN
        self._has_probe = is_probe
        return Attempt(self, is_probe=is_probe, period=self._period)

    def _probe_answered(self) -> int:
        self._has_probe = False
        self._failed_at.clear()
        self._period += 1
        self._change(BreakerState.CLOSED)
        return self._period

    def _probe_failed(self) -> None:
        self._has_probe = False
        self._open()

    def _probe_left(self) -> None:
        self._has_probe = False

    def _count(self, period: int) -> None:
        if self._state is not BreakerState.CLOSED or period != self._period:
            return
        now = self._clock()
        self._failed_at.append(now)
        while self._failed_at[0] <= now - self._window_seconds:
            self._failed_at.popleft()
        if len(self._failed_at) >= self._limit:
            self._open()

    def _open(self) -> None:
        self._opened_at = self._clock()
        self._failed_at.clear()
        self._change(BreakerState.OPEN)

    def _change(self, state: BreakerState) -> None:
        self._state = state
        if self._on_change is not None:
            self._on_change(state)
