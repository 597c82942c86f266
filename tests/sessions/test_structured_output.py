"""Sessions with an output schema: the real CLI, the real gateway, the scripted model."""

from typing import Any

import pytest
from tests.support.platform import Chat, Platform

from claude_sdk_pattern.events import types as events

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string"}, "count": {"type": "integer", "minimum": 3}},
    "required": ["colour", "count"],
    "additionalProperties": False,
}

FITTING = {"colour": "sample", "count": 3}


def errors(chat: Chat) -> list[events.Error]:
    return [item.event for item in chat.seen if isinstance(item.event, events.Error)]


async def test_data_that_fits_is_in_the_result_of_every_turn(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        for _ in range(2):
            _, ended = await chat.ask("say exactly: here")
            assert (ended.subtype, ended.is_error, ended.structured_output) == ("success", False, FITTING)
        assert errors(chat) == []


async def test_data_that_does_not_fit_at_first_is_mended_in_the_turn(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        _, ended = await chat.ask("hand in data that does not fit 2 times")
        assert (ended.subtype, ended.structured_output) == ("success", FITTING)
        refused = [item.event for item in chat.seen if item.type == "tool_result"]
        assert [event.is_error for event in refused if isinstance(event, events.ToolResult)] == [True, True, False]
        assert errors(chat) == []


async def test_data_that_never_fits_ends_the_turn_with_an_error_that_says_what_is_wrong(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        _, ended = await chat.ask("hand in data that does not fit")
        assert (ended.subtype, ended.is_error, ended.structured_output) == ("error", True, None)
        (error,) = errors(chat)
        assert (error.code, error.recoverable) == ("structured_output_failed", True)
        assert "/colour: must be string" in error.message
        assert ended.error == error.message
        # It was this answer that failed and not the session.
        _, ended = await chat.ask("say exactly: here")
        assert (ended.subtype, ended.structured_output) == ("success", FITTING)


async def test_an_answer_without_data_is_an_error_though_the_cli_calls_it_a_success(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        _, ended = await chat.ask("hand in nothing")
        assert (ended.subtype, ended.is_error) == ("error", True)
        assert [error.code for error in errors(chat)] == ["structured_output_failed"]


async def test_commands_of_the_cli_and_stopped_turns_owe_no_data(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        _, ended = await chat.ask("/context")
        assert ended.subtype == "success"
        accepted = await chat.say("stream 500 tokens at 20 tokens per second")
        await chat.until_type(events.StreamEvent)
        chat.conversation.interrupt()
        ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
        assert ended.subtype == "interrupted"
        assert errors(chat) == []


async def test_a_session_without_a_schema_owes_no_data(chat: Chat) -> None:
    _, ended = await chat.ask("say exactly: here")
    assert (ended.subtype, ended.structured_output) == ("success", None)


async def test_a_resumed_process_still_demands_data(platform: Platform) -> None:
    async with await platform.chat(output_schema=SCHEMA) as chat:
        await chat.ask("say exactly: here")
        await chat.until_status("idle")
        await chat.fall_asleep()
        _, ended = await chat.ask("say exactly: again")
        assert (ended.subtype, ended.structured_output) == ("success", FITTING)
