"""The counting of sign-in attempts; time is a number the tests set."""

import pytest

from claude_sdk_pattern.accounts.errors import TooManyAttemptsError
from claude_sdk_pattern.accounts.throttle import BURST, MAX_KEPT, REFILL_SECONDS, LoginThrottle


class Throttled:
    """A throttle at a time that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.throttle = LoginThrottle(lambda: self.seconds)

    def tries_allowed(self, most: int = 1000, address: str = "here") -> int:
        for number in range(most):
            try:
                self.throttle.begin("alice", address)
            except TooManyAttemptsError:
                return number
        return most


def test_a_burst_is_allowed_and_not_one_more() -> None:
    assert Throttled().tries_allowed() == BURST


def test_one_more_try_is_allowed_after_exactly_the_time_that_was_said() -> None:
    throttled = Throttled()
    throttled.tries_allowed()
    with pytest.raises(TooManyAttemptsError) as refused:
        throttled.throttle.begin("alice", "here")
    throttled.seconds += refused.value.retry_after_seconds
    assert throttled.tries_allowed() == 1


def test_refused_tries_do_not_prolong_the_wait() -> None:
    throttled = Throttled()
    throttled.tries_allowed()
    for _ in range(100):
        throttled.tries_allowed()
    throttled.seconds += REFILL_SECONDS
    assert throttled.tries_allowed() == 1


def test_all_tries_are_back_after_a_while() -> None:
    throttled = Throttled()
    throttled.tries_allowed()
    throttled.seconds += BURST * REFILL_SECONDS
    assert throttled.tries_allowed() == BURST


def test_success_gives_the_tries_back() -> None:
    throttled = Throttled()
    throttled.tries_allowed()
    throttled.throttle.succeeded("alice", "here")
    assert throttled.tries_allowed() == BURST


def test_other_addresses_have_tries_of_their_own() -> None:
    throttled = Throttled()
    throttled.tries_allowed()
    assert throttled.tries_allowed(address="there") == BURST


def test_a_flood_of_invented_names_does_not_fill_the_memory() -> None:
    throttle = LoginThrottle(lambda: 0.0)
    for number in range(MAX_KEPT + 100):
        throttle.begin(f"name-{number}", "here")
    assert throttle.keys_kept == MAX_KEPT
