"""The circuit breaker: its rules one by one, and all of them together against a simple model of them."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from claude_sdk_pattern.model_gateway.breaker import Attempt, BreakerState, CircuitBreaker

FAILURES, WINDOW, OPEN = 3, 60.0, 15.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make(changes: list[BreakerState] | None = None) -> tuple[CircuitBreaker, Clock]:
    clock = Clock()
    breaker = CircuitBreaker(
        failures=FAILURES,
        window_seconds=WINDOW,
        open_seconds=OPEN,
        clock=clock,
        on_change=None if changes is None else changes.append,
    )
    return breaker, clock


def admitted(breaker: CircuitBreaker) -> Attempt:
    attempt = breaker.admit()
    assert attempt is not None
    return attempt


def opened(changes: list[BreakerState] | None = None) -> tuple[CircuitBreaker, Clock]:
    breaker, clock = make(changes)
    for _ in range(FAILURES):
        admitted(breaker).failed()
    return breaker, clock


def test_enough_failures_open_it_and_it_says_when_to_come_back() -> None:
    breaker, clock = opened()
    assert breaker.state is BreakerState.OPEN
    assert breaker.admit() is None
    clock.now += 5
    assert breaker.retry_after_seconds == OPEN - 5


def test_failures_further_apart_than_the_window_do_not_open_it() -> None:
    breaker, clock = make()
    for _ in range(10):
        admitted(breaker).failed()
        clock.now += WINDOW / (FAILURES - 1)
    assert breaker.state is BreakerState.CLOSED


def test_one_request_counts_once_however_it_fails() -> None:
    breaker, _ = make()
    attempt = admitted(breaker)
    for _ in range(FAILURES):
        attempt.failed()
    assert breaker.state is BreakerState.CLOSED


def test_answers_and_cancelled_requests_are_no_failures() -> None:
    breaker, _ = make()
    for _ in range(2 * FAILURES):
        admitted(breaker).over()
        admitted(breaker).answered()
    assert breaker.state is BreakerState.CLOSED


def test_after_its_time_one_probe_goes_through_and_its_answer_closes_it() -> None:
    changes: list[BreakerState] = []
    breaker, clock = opened(changes)
    clock.now += OPEN
    probe = admitted(breaker)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.admit() is None
    assert breaker.retry_after_seconds is not None
    probe.answered()
    assert breaker.retry_after_seconds is None
    assert changes == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]


def test_a_failed_probe_opens_it_for_another_time() -> None:
    breaker, clock = opened()
    clock.now += OPEN
    admitted(breaker).failed()
    assert breaker.state is BreakerState.OPEN
    assert breaker.retry_after_seconds == OPEN


def test_a_cancelled_probe_leaves_its_place_to_the_next_request() -> None:
    breaker, clock = opened()
    clock.now += OPEN
    admitted(breaker).over()
    assert breaker.retry_after_seconds is None
    admitted(breaker).answered()
    assert breaker.state is BreakerState.CLOSED


def test_a_probe_that_was_answered_and_then_breaks_off_counts_as_one_failure() -> None:
    breaker, clock = opened()
    clock.now += OPEN
    probe = admitted(breaker)
    probe.answered()
    probe.failed()
    assert breaker.state is BreakerState.CLOSED
    for _ in range(FAILURES - 1):
        admitted(breaker).failed()
    assert breaker.state is BreakerState.OPEN


def test_requests_from_before_an_opening_say_nothing_about_now() -> None:
    breaker, clock = make()
    old = [admitted(breaker) for _ in range(FAILURES)]
    for _ in range(FAILURES):
        admitted(breaker).failed()
    clock.now += OPEN
    probe = admitted(breaker)
    old[0].failed()
    old[1].answered()
    assert breaker.state is BreakerState.HALF_OPEN
    probe.answered()
    for attempt in old:
        attempt.failed()
    assert breaker.state is BreakerState.CLOSED


class BreakerMachine(RuleBasedStateMachine):
    """Requests that start and end in any order, at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[BreakerState] = []
        self.breaker, self.clock = make(self.changes)
        self.running: list[Attempt] = []
        self.probe: Attempt | None = None
        # Failures of attempts that were let through since it was last closed.
        self.failed_at: list[float] = []
        self.current: set[int] = set()

    @rule()
    def request(self) -> None:
        expected = self.breaker.retry_after_seconds is None
        was_closed = self.breaker.state is BreakerState.CLOSED
        attempt = self.breaker.admit()
        assert (attempt is not None) == expected
        if attempt is None:
            assert not was_closed, "a closed breaker refuses nothing"
            return
        self.running.append(attempt)
        if was_closed:
            self.current.add(id(attempt))
        else:
            assert self.probe is None, "there is one probe at a time"
            self.probe = attempt

    @precondition(lambda self: self.running)
    @rule(which=st.integers(min_value=0), outcome=st.sampled_from(["answered", "failed", "over", "answered, failed"]))
    def ends(self, which: int, outcome: str) -> None:
        attempt = self.running.pop(which % len(self.running))
        is_probe = attempt is self.probe
        for word in outcome.split(", "):
            getattr(attempt, word)()
            if is_probe and word == "answered":
                assert self.breaker.state is BreakerState.CLOSED
                self.failed_at.clear()
                self.current = {id(attempt)}
                is_probe, self.probe = False, None
            elif is_probe and word == "failed":
                assert self.breaker.state is BreakerState.OPEN
                assert self.breaker.retry_after_seconds == OPEN
            elif word == "failed" and id(attempt) in self.current and self.breaker.state is not BreakerState.HALF_OPEN:
                self.failed_at.append(self.clock.now)
        attempt.over()
        if is_probe:
            self.probe = None
        self.current.discard(id(attempt))
        if len(self.recent()) >= FAILURES:
            assert self.breaker.state is BreakerState.OPEN
            self.failed_at.clear()
            self.current.clear()

    @rule(seconds=st.floats(min_value=0, max_value=WINDOW))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def is_closed_exactly_while_the_model_says_so(self) -> None:
        if self.breaker.state is BreakerState.CLOSED:
            assert len(self.recent()) < FAILURES
        else:
            assert self.changes, "it opened without telling anybody"
            assert self.changes[-1] is self.breaker.state

    @invariant()
    def never_refuses_for_longer_than_its_time(self) -> None:
        wait = self.breaker.retry_after_seconds
        if wait is not None:
            # Sums of times differ in their last digits.
            assert 0 < wait <= OPEN + 1e-9
            if self.probe is None:
                self.clock.now += wait
                assert self.breaker.retry_after_seconds is None, "without a probe under way, waiting is enough"

    def recent(self) -> list[float]:
        return [at for at in self.failed_at if at > self.clock.now - WINDOW]


TestBreakerMachine = BreakerMachine.TestCase
