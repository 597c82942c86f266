"""What the watchdog decides. Pure; that it acts on real processes is in ``test_life_cycle``."""

from typing import Any

import pytest

from claude_sdk_pattern.sessions.watchdog import Action, ProcessLimits, Vitals, judge

LIMITS = ProcessLimits(max_age=1000, warn_before=100, max_rss_bytes=500, idle_watched=300, idle_unwatched=30)


def vitals(**values: Any) -> Vitals:
    healthy: dict[str, Any] = {
        "age": 10,
        "idle_for": 1,
        "is_busy": False,
        "is_watched": True,
        "rss_bytes": 100,
        "is_warned": False,
    }
    return Vitals(**{**healthy, **values})


@pytest.mark.parametrize(
    ("seen", "action"),
    [
        ({}, None),
        ({"idle_for": 29, "is_watched": False}, None),
        ({"idle_for": 30, "is_watched": False}, Action.HIBERNATE),
        ({"idle_for": 299}, None),
        ({"idle_for": 300}, Action.HIBERNATE),
        ({"idle_for": 300, "is_busy": True}, None),
        ({"age": 900}, Action.WARN_OF_AGE),
        ({"age": 900, "is_warned": True}, None),
        ({"age": 950, "is_busy": True}, Action.WARN_OF_AGE),
        ({"age": 1000, "is_warned": True}, Action.END_OF_AGE),
        ({"age": 1000, "is_busy": True, "is_warned": True}, None),
        ({"rss_bytes": 499}, None),
        ({"rss_bytes": 500}, Action.RESTART),
        ({"rss_bytes": 999, "is_busy": True}, None),
        ({"rss_bytes": 1000, "is_busy": True}, Action.KILL),
        ({"rss_bytes": 1000, "is_busy": True, "age": 950}, Action.KILL),
        ({"rss_bytes": 500, "age": 1000}, Action.END_OF_AGE),
        ({"rss_bytes": 500, "idle_for": 300}, Action.RESTART),
    ],
)
def test_what_is_done_about_a_process(seen: dict[str, Any], action: Action | None) -> None:
    assert judge(vitals(**seen), LIMITS) is action
