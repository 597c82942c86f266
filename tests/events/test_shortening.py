"""Long tool results: whole on a real SQLite file and a real PostgreSQL, short for whoever reads the tape."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.rows import store_sessions
from tests.support.tapes import WAIT_SECONDS, block, blocked_writes, collect, open_tape, success

from claude_sdk_pattern.events.errors import TapeOverloaded
from claude_sdk_pattern.events.log import LogLimits
from claude_sdk_pattern.events.recorded import AGENT
from claude_sdk_pattern.events.shortening import is_long, shortened
from claude_sdk_pattern.events.types import Text, ToolResult, event_adapter
from claude_sdk_pattern.storage.database import Database

LIMIT = 1024

SHORT = LogLimits(tool_result_bytes=LIMIT)

# What JSON has to escape, and letters of one to four bytes.
AWKWARD = 'a"\\\n\u0000\u001fé€🦊' * 2000

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" * 100_000}}


def result(content: Any, **fields: Any) -> ToolResult:
    return ToolResult(tool_use_id="toolu_1", content=content, **fields)


def short(event: ToolResult, limit: int = LIMIT) -> ToolResult:
    payload = event.encode()
    assert is_long("tool_result", payload, limit)
    made = shortened(payload, limit)
    assert len(made) <= limit
    read = event_adapter.validate_json(made)
    assert isinstance(read, ToolResult)
    return read


@pytest.mark.parametrize("letter", ["x", '"', "\\", "\n", "\u0000", "é", "€", "🦊"])
def test_a_long_text_keeps_its_beginning_and_the_fields_around_it(letter: str) -> None:
    made = short(result(letter * 5000, is_error=True, duration_ms=12))
    assert isinstance(made.content, str)
    assert made.content == letter * len(made.content)
    assert len(made.encode()) > LIMIT / 2
    assert made == result(made.content, is_error=True, duration_ms=12, truncated=True)


def test_words_that_look_like_the_end_of_a_result_do_not_count_as_it() -> None:
    trap = '","is_error":true,"duration_ms":7}'
    made = short(result("x" * 5000 + trap, is_error=False))
    assert (made.is_error, made.duration_ms) == (False, None)


@given(st.text(min_size=LIMIT), st.booleans(), st.none() | st.integers(0, 10**9), st.integers(LIMIT, 4 * LIMIT))
def test_whatever_the_text_its_beginning_is_told_truly(
    text: str, is_error: bool, duration_ms: int | None, limit: int
) -> None:
    event = result(text * 10, is_error=is_error, duration_ms=duration_ms)
    made = short(event, limit)
    assert isinstance(made.content, str)
    assert (text * 10).startswith(made.content)
    assert (made.is_error, made.duration_ms, made.truncated) == (is_error, duration_ms, True)


def test_a_picture_too_large_gives_its_place_to_a_line_that_says_so() -> None:
    caption = {"type": "text", "text": "A fox."}
    made = short(result([PICTURE, caption]))
    assert made.content == [{"type": "text", "text": "[image/png, 500 kB, is left out here]"}, caption]
    assert made.truncated


def test_blocks_are_kept_as_long_as_they_fit() -> None:
    small = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}
    made = short(result([small, {"type": "text", "text": AWKWARD}, {"type": "text", "text": "never reached" * 50}]))
    assert isinstance(made.content, list)
    assert made.content[0] == small
    assert len(made.content) == 2
    assert AWKWARD.startswith(made.content[1]["text"])
    assert len(made.content[1]["text"]) > 50


def test_a_block_of_an_unknown_kind_is_left_out_by_its_name() -> None:
    made = short(result([{"type": "hologram", "data": "x" * 5_000_000}]))
    assert made.content == [{"type": "text", "text": "[hologram, 5.0 MB, is left out here]"}]


@pytest.mark.anyio
@pytest.mark.parametrize("content", ["x" * 5000, AWKWARD, "é" * 600, [PICTURE, {"type": "text", "text": AWKWARD}]])
async def test_live_and_later_a_reader_gets_the_same_short_form_and_can_fetch_the_whole(
    database: Database, content: Any
) -> None:
    await store_sessions(database, "s1")
    event = result(content, duration_ms=5)
    async with open_tape(database, log_limits=SHORT) as tape, tape.hub.subscribe("s1") as live:
        appended = await tape.log.append("s1", event, turn_id="t1", actor=AGENT)
        (seen,) = await collect(live, 1)
        (read,) = await tape.log.read("s1")
        whole = await tape.log.get("s1", 1)
        async with tape.hub.subscribe("s1") as late:
            (caught_up,) = await collect(late, 1)
    assert appended == seen == read == caught_up
    assert len(read.payload) <= LIMIT
    assert json.loads(read.frame)["truncated"] is True
    assert whole is not None
    assert whole.event == event


@pytest.mark.anyio
async def test_what_is_no_tool_result_or_not_long_is_left_alone(database: Database) -> None:
    await store_sessions(database, "s1")
    kept = [block("x" * 5000), result("short"), success()]
    async with open_tape(database, log_limits=SHORT) as tape:
        for event in kept:
            await tape.log.append("s1", event, turn_id="t1", actor=AGENT)
        assert [item.event for item in await tape.log.read("s1")] == kept
        assert await tape.log.get("s1", 4) is None
        assert await tape.log.get("s2", 1) is None


@pytest.mark.anyio
async def test_events_behind_a_very_large_one_are_taken_while_it_waits(database: Database) -> None:
    await store_sessions(database, "s1")
    size = 20 * 1024 * 1024
    limits = LogLimits(max_pending_large_bytes=size, tool_result_bytes=LIMIT)
    async with open_tape(database, log_limits=limits) as tape:
        async with blocked_writes(database):
            first = tape.log.append("s1", result("x" * size), actor=AGENT)
            behind = [tape.log.append("s1", block("small", f"b{number}"), actor=AGENT) for number in range(20)]
            with pytest.raises(TapeOverloaded):
                tape.log.append("s1", result("y" * size), actor=AGENT)
        async with asyncio.timeout(WAIT_SECONDS):
            recorded = await asyncio.gather(first, *behind)
            # What was settled makes room again.
            again = await tape.log.append("s1", result("y" * size), actor=AGENT)
        assert [item.seq for item in [*recorded, again]] == list(range(1, 23))
        whole = await tape.log.get("s1", 1)
    assert whole is not None
    assert len(whole.payload) > size
    assert isinstance(recorded[1].event, Text)
