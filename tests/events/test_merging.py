"""Merging of deltas and the ring that readers share. Pure: no database."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.support.folding import fold, same
from tests.support.histories import histories, recorded_history

from claude_sdk_pattern.events.merging import merge_deltas
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.ring import Ring


def _seqs(events: Sequence[RecordedEvent]) -> list[int]:
    return [event.seq for event in events]


@given(history=histories(), data=st.data())
def test_merging_any_part_of_a_tape_leaves_what_it_says(history: list[RecordedEvent], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(history)))
    stop = data.draw(st.integers(start, len(history)))
    merged = [*history[:start], *merge_deltas(history[start:stop]), *history[stop:]]
    assert same(fold(merged), fold(history))
    assert _seqs(merged) == sorted(set(_seqs(merged)))
    assert _seqs(merged)[-1:] == _seqs(history)[-1:]


@given(history=histories())
def test_no_block_has_two_deltas_in_a_row_after_merging(history: list[RecordedEvent]) -> None:
    merged = merge_deltas(history)
    for one, next_one in pairwise(merged):
        if one.type == next_one.type == "stream_event":
            assert (one.turn_id, one.block_id) != (next_one.turn_id, next_one.block_id)


@given(history=histories(), data=st.data())
def test_state_at_any_point_plus_the_rest_is_the_whole(history: list[RecordedEvent], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(history)))
    snapshot = fold(history[:split])
    assert same(fold(merge_deltas(history[split:]), snapshot), fold(history))


@given(history=histories(), sizes=st.lists(st.integers(1, 10)), max_events=st.integers(1, 8), after=st.integers(0, 50))
def test_ring_gives_everything_after_any_number_it_covers(
    history: list[RecordedEvent], sizes: list[int], max_events: int, after: int
) -> None:
    ring = Ring(max_events, max_bytes=1_000_000)
    published = 0
    for size in sizes:
        ring.extend(history[published : published + size])
        published = min(published + size, len(history))
    after = min(after, published)
    if ring.covers(after):
        assert ring.after(after) == merge_deltas(history[after:published])
    else:
        assert published == 0 or after < published - max_events


def test_ring_keeps_the_newest_within_its_bytes() -> None:
    events = recorded_history([("t1", "status", "b", "x" * 100)] * 10)
    ring = Ring(max_events=100, max_bytes=3 * len(events[0].payload))
    ring.extend(events)
    assert _seqs(ring.after(7)) == [8, 9, 10]
    assert ring.covers(7)
    assert not ring.covers(6)
    assert ring.total_bytes == 10 * len(events[0].payload)


def test_ring_shares_a_part_until_something_new_comes() -> None:
    events = recorded_history([("t1", "status", "b", "x")] * 3)
    ring = Ring(max_events=100, max_bytes=1_000_000)
    ring.extend(events[:2])
    assert ring.after(1) is ring.after(1)
    assert _seqs(ring.after(1)) == [2]
    ring.extend(events[2:])
    assert _seqs(ring.after(1)) == [2, 3]


def test_ring_starts_anew_after_a_number_it_never_saw() -> None:
    events = recorded_history([("t1", "status", "b", "x")] * 5)
    ring = Ring(max_events=100, max_bytes=1_000_000)
    ring.extend(events[:2])
    ring.extend(events[3:])
    assert not ring.covers(2)
    assert _seqs(ring.after(3)) == [4, 5]
