"""Which failures of the model are worth another try."""

import pytest

from claude_sdk_pattern.model_gateway.failures import FailureKind, ModelFailure, ModelHealth, RetryPolicy

POLICY = RetryPolicy(max_retries=3, max_retry_wait_seconds=30)


def failure(kind: FailureKind = "status", status: int = 529, retry_after: float | None = None) -> ModelFailure:
    return ModelFailure(kind=kind, status=status, message="", retry_after_seconds=retry_after)


def asked_again(*failures: ModelFailure) -> list[bool]:
    """Return what a process is told after each failure of one turn."""
    health = ModelHealth()
    return [health.failed(one, POLICY) for one in failures]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529, 408, 409])
def test_what_may_pass_by_itself_is_tried_as_often_as_allowed(status: int) -> None:
    assert asked_again(*[failure(status=status)] * 4) == [True, True, True, False]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413])
def test_what_the_api_refuses_is_not_tried_again(status: int) -> None:
    health = ModelHealth()
    assert not health.failed(failure(status=status), POLICY)
    assert not health.gave_up, "another request may be fine"


@pytest.mark.parametrize("kind", ["timeout", "stream_cut", "stream_garbage"])
def test_an_interrupted_answer_gets_one_second_chance(kind: FailureKind) -> None:
    assert asked_again(*[failure(kind, 502)] * 2) == [True, False]


def test_pings_without_an_answer_get_none() -> None:
    assert asked_again(failure("pings_only", 504)) == [False]


def test_a_wait_that_is_too_long_is_not_waited() -> None:
    assert asked_again(failure(status=429, retry_after=30)) == [True]
    assert asked_again(failure(status=429, retry_after=31)) == [False]


def test_an_answer_makes_good_for_what_was_before() -> None:
    health = ModelHealth()
    for _ in range(10):
        assert health.failed(failure("stream_cut", 502), POLICY)
        health.answered()
    assert health.last_failure is None


def test_after_giving_up_only_a_new_turn_begins_anew() -> None:
    health = ModelHealth()
    health.failed(failure("pings_only", 504), POLICY)
    assert health.gave_up
    health.begin_turn()
    assert not health.gave_up
    assert health.failed(failure(), POLICY)


@pytest.mark.parametrize(
    ("kind", "status", "blamed"),
    [
        ("status", 500, True),
        ("status", 529, True),
        ("status", 429, False),
        ("status", 401, False),
        ("status", 400, False),
        ("unreachable", 502, True),
        ("timeout", 504, True),
        ("pings_only", 504, True),
        ("stream_cut", 502, True),
        ("stream_garbage", 502, True),
        ("breaker_open", 503, False),
        ("budget_spent", 402, False),
    ],
)
def test_the_breaker_counts_what_the_api_is_to_blame_for(kind: FailureKind, status: int, blamed: bool) -> None:
    assert failure(kind, status).blames_api is blamed
