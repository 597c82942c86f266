"""The one thing the scripted model remembers: how often a fault has struck. Pure; nothing is faked."""

from claude_sdk_pattern.model_gateway.scripted.attempts import MAX_COUNTS, AttemptCounts


def test_a_fault_strikes_as_often_as_told_and_then_anew() -> None:
    counts = AttemptCounts()
    assert [counts.strikes("a", 2) for _ in range(6)] == [True, True, False, True, True, False]


def test_conversations_are_counted_apart() -> None:
    counts = AttemptCounts()
    assert counts.strikes("a", 1)
    assert counts.strikes("b", 1)
    assert not counts.strikes("a", 1)


def test_a_fault_without_a_number_strikes_always() -> None:
    counts = AttemptCounts()
    assert all(counts.strikes("a", None) for _ in range(5))


def test_the_oldest_counts_make_room() -> None:
    counts = AttemptCounts()
    counts.strikes("first", 1)
    for number in range(MAX_COUNTS):
        counts.strikes(str(number), 1)
    assert counts.strikes("first", 1)
