"""Where a reconnecting client goes on. Pure: no database."""

import pytest

from claude_sdk_pattern.events.resume import ResumePoint, resume_point


@pytest.mark.parametrize("after", [0, 1, 5])
def test_client_that_saw_a_part_of_the_tape_gets_the_rest(after: int) -> None:
    assert resume_point(after, last_seq=5) == ResumePoint(after=after, is_gap=False)


@pytest.mark.parametrize("after", [6, -1])
def test_client_that_saw_what_is_not_on_the_tape_starts_over(after: int) -> None:
    point = resume_point(after, last_seq=5)
    assert point == ResumePoint(after=0, is_gap=True)
    assert point.from_seq == 1
