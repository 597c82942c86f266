"""The gateway's look at an event stream: what may pass, what is over, what is garbage, and what it cost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.messages_api import (
    ANSWER,
    BEGINNING,
    BLOCK_START,
    ENDING,
    MESSAGE_STOP,
    PING,
    message_delta,
    message_start,
    sse,
    text_delta,
)

from claude_sdk_pattern.model_gateway.event_stream import MAX_EVENT_BYTES, EventStream
from claude_sdk_pattern.model_gateway.scripted.wire import GARBAGE


def fed(*chunks: bytes) -> tuple[EventStream, bytes]:
    """Return a stream that was given these bytes, and what it let through."""
    stream = EventStream()
    return stream, b"".join(stream.feed(chunk) for chunk in chunks)


@given(cuts=st.lists(st.integers(min_value=0, max_value=len(ANSWER)), max_size=20))
def test_an_answer_passes_unchanged_however_it_is_cut_up(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    stream, passed = fed(*(ANSWER[a:b] for a, b in pairwise(places)))
    assert passed == ANSWER
    assert stream.is_complete
    assert not stream.is_garbage
    assert stream.usage == {"input_tokens": 10, "output_tokens": 5}


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_at_all_can_upset_it(chunks: list[bytes]) -> None:
    stream, passed = fed(message_start(), *chunks)
    assert passed.startswith(message_start())
    assert not stream.is_complete or b"message_stop" in b"".join(chunks)


def test_line_ends_of_other_systems_are_understood_even_when_they_are_cut_in_two() -> None:
    odd = ANSWER.replace(b"\n", b"\r\n")
    stream, passed = fed(*(odd[place : place + 1] for place in range(len(odd))))
    assert passed == ANSWER
    assert stream.is_complete


def test_a_whole_event_passes_at_once_and_a_part_of_one_waits() -> None:
    stream, passed = fed(BEGINNING, text_delta("whole"), text_delta("part")[:-5])
    assert passed == BEGINNING + text_delta("whole")
    assert stream.feed(text_delta("part")[-5:]) == text_delta("part")


def test_an_answer_begins_with_its_first_block_and_not_with_its_envelope() -> None:
    stream, _ = fed(message_start(), PING)
    assert not stream.has_begun
    stream.feed(BLOCK_START)
    assert stream.has_begun


def test_pings_are_no_progress() -> None:
    stream, _ = fed(BEGINNING, text_delta("a"))
    before = stream.progress
    stream.feed(PING)
    stream.feed(b": a comment\n\n")
    assert stream.progress == before
    stream.feed(text_delta("b"))
    assert stream.progress == before + 1


def test_an_answer_is_finished_when_the_model_has_said_why_it_stopped() -> None:
    stream, _ = fed(BEGINNING, message_delta(output_tokens=3))
    assert (stream.is_finished, stream.is_complete) == (True, False)
    stream.feed(MESSAGE_STOP)
    assert stream.is_complete


def test_the_figures_at_the_end_replace_those_of_the_start() -> None:
    start = message_start(model="claude-opus-5", cache_read_input_tokens=7)
    stream, _ = fed(start + BLOCK_START, message_delta(output_tokens=40, cache_read_input_tokens=None))
    assert stream.model == "claude-opus-5"
    assert stream.usage == {"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 40}


def test_an_event_that_the_api_will_have_one_day_passes() -> None:
    event = sse("content_block_sparkle", index=0)
    stream, passed = fed(BEGINNING, event, ENDING)
    assert event in passed
    assert stream.is_complete


def test_an_error_event_is_kept_back_and_told() -> None:
    error = sse("error", error={"type": "overloaded_error", "message": "Overloaded"})
    stream, passed = fed(BEGINNING + text_delta("a") + error + text_delta("b"))
    assert passed == BEGINNING + text_delta("a")
    assert stream.error == ("overloaded_error", "Overloaded")


@pytest.mark.parametrize(
    "garbage",
    [
        GARBAGE,
        b"<html>\n\n</html>\n\n",
        b"event: content_block_delta\ndata: [1]\n\n",
        b'data: {"type": "message_delta"\n\n',
        b"event: message_delta\ndata: {}\n\n",
        b"event: message_delta\ndata: {broken}\n\n",
        b'event: error\ndata: {"error": "no object"}\n\n',
        b"event: \xff\xfe\ndata: {}\n\n",
        b'event: message_start\ndata: {"message": 7}\n\n',
    ],
)
def test_garbage_is_noticed_and_not_passed_on(garbage: bytes) -> None:
    stream, passed = fed(BEGINNING + text_delta("a") + garbage + text_delta("b"))
    assert stream.is_garbage
    assert passed == BEGINNING + text_delta("a")


@pytest.mark.parametrize("first", [text_delta("a"), BLOCK_START, MESSAGE_STOP])
def test_an_answer_that_does_not_begin_as_one_is_garbage(first: bytes) -> None:
    stream, passed = fed(first)
    assert stream.is_garbage
    assert passed == b""


def test_bytes_without_an_end_are_garbage_before_they_fill_the_memory() -> None:
    stream, passed = fed(message_start(), *[b"x" * (MAX_EVENT_BYTES // 4)] * 5)
    assert stream.is_garbage
    assert passed == message_start()
