"""The life cycle of a session's agent process, end to end: real CLI, real gateway, scripted model, SQLite.

Limits are set so low that they are reached at once; the tests wait for what happens then, not for time to pass.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.platform import Chat, eventually, running_platform

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.errors import NothingToRewindError, TooManyWaitingError

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

type Opened = Callable[..., AbstractAsyncContextManager[Chat]]

ALLOW = Answer(decision="allow", by="someone")


@pytest.fixture
def opened(sqlite_url: str, tmp_path: Path) -> Opened:
    """Open a session on a platform with these settings."""

    @asynccontextmanager
    async def open_chat(**settings: Any) -> AsyncGenerator[Chat]:
        async with running_platform(sqlite_url, tmp_path / "data", **settings) as platform:
            await platform.services.manager.pool.wait_filled()
            async with await platform.chat() as chat:
                yield chat

    return open_chat


def pid_of(chat: Chat) -> int:
    process = chat.conversation.process
    assert process is not None
    assert process.pid is not None
    return process.pid


def cli_of(chat: Chat) -> psutil.Process:
    """Return the CLI itself, inside its sandbox."""
    root = psutil.Process(pid_of(chat))
    return next(child for child in [root, *root.children(recursive=True)] if "claude" in child.name())


async def asleep(chat: Chat) -> None:
    async def without_process() -> bool:
        return chat.conversation.process is None

    await eventually(without_process)


def workspace(chat: Chat) -> Path:
    return chat.platform.data_dir / "workspaces" / str(chat.conversation.session.workspace_id)


def errors(chat: Chat) -> list[str]:
    told = (item.event for item in chat.seen if item.type == "error")
    return [event.code for event in told if isinstance(event, events.Error)]


def notices(chat: Chat) -> list[str]:
    told = (item.event for item in chat.seen if item.type == "notice")
    return [event.code for event in told if isinstance(event, events.Notice)]


async def recalls(chat: Chat, *words: str) -> None:
    text, ended = await chat.ask("what did I tell you earlier?")
    assert ended.subtype == "success"
    assert all(word in text for word in words), text


# --- limits ----------------------------------------------------------------------------------------------------


async def test_a_turn_that_takes_too_long_is_stopped_and_says_so(opened: Opened) -> None:
    async with opened(query_timeout_seconds=1.0) as chat:
        await chat.say("remember: patience")
        await chat.until_type(events.Result)
        _, ended = await chat.ask("run a command that takes 60 seconds")
        assert (ended.subtype, ended.is_error) == ("timeout", True)
        assert errors(chat) == ["query_timeout"]
        await chat.until_status("idle")
        assert chat.conversation.process is not None
        await recalls(chat, "patience")


async def test_a_turn_that_does_not_even_obey_is_killed_and_times_out_once(opened: Opened) -> None:
    async with opened(query_timeout_seconds=1.0, interrupt_timeout_seconds=0.5) as chat:
        await chat.ask("remember: patience")
        accepted = await chat.say("hang")
        await chat.until_status("thinking")
        cli_of(chat).suspend()
        ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
        assert ended.subtype == "timeout"
        await chat.until_status("recovered")
        assert errors(chat) == ["query_timeout"]
        assert [item.type for item in await chat.tape() if item.turn_id == accepted.turn_id].count("result") == 1
        await recalls(chat, "patience")


async def test_a_message_that_a_dying_process_never_read_goes_to_the_next(chat: Chat) -> None:
    await chat.ask("remember: a kiwi")
    cli = cli_of(chat)
    cli.suspend()
    accepted = await chat.say("what did I tell you earlier?")
    await chat.until_status("thinking")
    cli.kill()
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert (ended.subtype, errors(chat)) == ("success", [])
    assert [item.type for item in await chat.tape() if item.turn_id == accepted.turn_id].count("result") == 1
    await recalls(chat, "a kiwi")


async def test_a_message_that_kills_every_process_is_given_up(chat: Chat) -> None:
    await chat.ask("hello")
    accepted = await chat.say("hello")

    async def ends() -> None:
        while True:
            if chat.conversation.process is not None:
                chat.conversation.process.kill()
            await asyncio.sleep(0.01)

    killer = asyncio.create_task(ends())
    try:
        ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    finally:
        killer.cancel()
    assert ended.subtype in ("error", "interrupted")
    assert (await chat.ask("say exactly: alive"))[0] == "alive"


async def test_a_process_that_answers_nothing_at_all_is_replaced(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_sdk_pattern.sessions.turns._PING_SECONDS", 0.5)
    async with opened(silence_timeout_seconds=0.5) as chat:
        await chat.ask("remember: a word")
        accepted = await chat.say("hang")
        await chat.until_status("thinking")
        cli_of(chat).suspend()
        error = await chat.until_type(events.Error)
        assert (error.code, error.recoverable) == ("agent_silent", True)
        assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "interrupted"
        await chat.until_status("recovered")
        await recalls(chat, "a word")


async def test_a_process_that_is_only_slow_is_left_alone(opened: Opened) -> None:
    async with opened(silence_timeout_seconds=0.2) as chat:
        _, ended = await chat.ask("run a command that takes 2 seconds")
        assert ended.subtype == "success"
        assert errors(chat) == []


async def test_a_person_may_take_longer_than_any_silence(opened: Opened) -> None:
    async with opened(silence_timeout_seconds=0.1) as chat:
        accepted = await chat.say("run bash: python3 -c 'print(6*7)'")
        request = await chat.until_type(events.PermissionRequest)
        process = chat.conversation.process
        cli = cli_of(chat)
        cli.suspend()
        await asyncio.sleep(0.5)
        cli.resume()
        await chat.conversation.answer_permission(request.request_id, ALLOW)
        assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "success"
        assert chat.conversation.process is process


async def test_an_old_process_is_announced_ended_and_replaced_by_the_next_message(opened: Opened) -> None:
    limits = {"max_session_duration_seconds": 3.0, "session_warning_seconds": 2.5, "watchdog_interval_seconds": 0.1}
    async with opened(**limits) as chat:
        await chat.ask("remember: an old word")
        await chat.until_status("hibernated")
        assert notices(chat) == ["session_duration_warning", "session_duration_reached"]
        await asleep(chat)
        await recalls(chat, "an old word")
        assert errors(chat) == []


async def test_a_process_that_has_grown_is_restarted_between_turns(opened: Opened) -> None:
    # An idle CLI has about 180 MB, one at work 240; twice the limit would end it in its turn.
    async with opened(max_session_rss_mb=150, watchdog_interval_seconds=0.1) as chat:
        await chat.ask("remember: a heavy word")
        first = pid_of(chat)
        assert (await chat.until_type(events.Notice)).code == "memory_restart"

        async def replaced() -> bool:
            process = chat.conversation.process
            return process is not None and process.pid not in (None, first)

        await eventually(replaced)
        assert errors(chat) == []


async def test_a_process_that_eats_memory_is_ended_in_the_middle_of_its_turn(opened: Opened) -> None:
    async with opened(max_session_rss_mb=400, watchdog_interval_seconds=0.1) as chat:
        await chat.ask("remember: the word")
        eater = "python3 -c \"x = bytearray(900*1024*1024); __import__('time').sleep(60)\""
        accepted = await chat.say(f"run bash: {eater}")
        request = await chat.until_type(events.PermissionRequest)
        await chat.conversation.answer_permission(request.request_id, ALLOW)
        error = await chat.until_type(events.Error)
        assert error.code == "memory_limit"
        assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "interrupted"
        await chat.until_status("recovered")
        await recalls(chat, "the word")


async def test_what_keeps_dying_is_not_brought_back_for_ever(opened: Opened) -> None:
    async with opened(max_crashes_in_a_row=2) as chat:
        for expected in (["subprocess_crash"], ["subprocess_crash", "subprocess_crash", "crash_loop"]):
            accepted = await chat.say("hang after 3 tokens")
            # Before its first word the message would go to the next process.
            await chat.until_type(events.StreamEvent, turn_id=accepted.turn_id)
            psutil.Process(pid_of(chat)).kill()
            await chat.until_type(events.Result, turn_id=accepted.turn_id)
            await chat.until_status("idle")
            assert errors(chat) == expected
        assert chat.conversation.process is None
        assert (await chat.ask("say exactly: once more"))[0] == "once more"


# --- sleeping and waiting -------------------------------------------------------------------------------------


async def test_unwatched_sessions_go_to_sleep_sooner_and_wake_with_all_they_knew(opened: Opened) -> None:
    settings = {"hibernate_after_seconds": 0.2, "session_timeout": 600, "watchdog_interval_seconds": 0.1}
    async with opened(**settings) as watched:
        await watched.ask("remember: seen")
        unwatched = await watched.platform.chat()
        async with unwatched:
            await unwatched.ask("remember: unseen")
            session_id = unwatched.session_id
        await asleep(unwatched)
        assert watched.conversation.process is not None
        assert list((watched.platform.data_dir / "agents").iterdir())
        async with await watched.platform.watch(session_id) as again:
            await recalls(again, "unseen")


async def test_an_agent_is_brought_back_for_a_message_that_is_being_written_unless_another_had_to_go(
    opened: Opened,
) -> None:
    async with opened(max_sessions=1) as first:
        await first.ask("remember: apple")
        await first.until_status("idle")
        await first.fall_asleep()
        await first.until_status("hibernated")
        first.conversation.expect_message()
        first.conversation.expect_message()
        await first.until_status("idle")
        process = first.conversation.process
        assert process is not None
        async with await first.platform.chat() as second:
            second.conversation.expect_message()
            assert not second.conversation.is_busy
        assert first.conversation.process is process
        await recalls(first, "apple")
        assert first.conversation.process is process


async def test_all_at_work_others_wait_their_turn_and_are_told_their_place(opened: Opened) -> None:
    async with opened(max_sessions=1, max_waiting_sessions=1) as first:
        running = await first.say("run a command that takes 30 seconds")
        await first.until_status("executing_tool")
        async with await first.platform.chat() as second, await first.platform.chat() as third:
            waiting = await second.say("say exactly: at last")
            status = await second.until_type(events.Status)
            assert (status.status, status.queue_position) == ("preparing", 1)
            with pytest.raises(TooManyWaitingError):
                await third.say("say exactly: too many")
            assert await third.tape() == []
            first.conversation.interrupt()
            await first.until_type(events.Result, turn_id=running.turn_id)
            ended = await second.until_type(events.Result, turn_id=waiting.turn_id)
            assert (second.answer(waiting.turn_id), ended.subtype) == ("at last", "success")
            assert first.conversation.process is None


async def test_stop_reaches_a_message_that_still_waits_for_an_agent(opened: Opened) -> None:
    async with opened(max_sessions=1) as first:
        await first.say("run a command that takes 30 seconds")
        await first.until_status("executing_tool")
        async with await first.platform.chat() as second:
            waiting = await second.say("say exactly: never mind")
            await second.until_status("preparing")
            assert second.conversation.interrupt()
            first.conversation.interrupt()
            ended = await second.until_type(events.Result, turn_id=waiting.turn_id)
            assert ended.subtype == "interrupted"
            assert second.answer(waiting.turn_id) == ""


# --- going back -----------------------------------------------------------------------------------------------


async def message_seq(chat: Chat, text: str) -> int:
    return next(
        item.seq
        for item in await chat.tape()
        if isinstance(event := item.event, events.UserMessage) and event.text == text
    )


async def test_a_rewind_takes_back_what_was_said_and_what_was_written(chat: Chat) -> None:
    await chat.ask("remember: apple")
    await chat.ask("write file kept.txt with first")
    await chat.ask("remember: banana")
    await chat.ask("write file kept.txt with second")
    await chat.ask("write file extra.txt with more")
    await chat.conversation.rewind(
        before_seq=await message_seq(chat, "remember: banana"), files=True, actor="user:someone"
    )
    rewound = await chat.until_type(events.Rewound)
    assert rewound.files_restored
    assert [(path.name, path.read_text()) for path in workspace(chat).iterdir()] == [("kept.txt", "first")]
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "apple" in text
    assert "banana" not in text
    # Once taken back it cannot be gone back to; what came before can, and again.
    with pytest.raises(NothingToRewindError):
        await chat.conversation.rewind(
            before_seq=await message_seq(chat, "remember: banana"), files=False, actor="user:someone"
        )
    await chat.conversation.rewind(
        before_seq=await message_seq(chat, "remember: apple"), files=False, actor="user:someone"
    )
    assert (workspace(chat) / "kept.txt").read_text() == "first"
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "apple" not in text


async def test_a_rewind_stops_the_turn_it_takes_back_and_drops_what_waited(chat: Chat) -> None:
    await chat.ask("remember: before")
    running = await chat.say("run a command that takes 60 seconds")
    waiting = await chat.say("say exactly: never")
    await chat.until_status("executing_tool")
    await chat.conversation.rewind(before_seq=running.seq, files=True, actor="user:someone")
    tape = await chat.tape()
    ends = [(item.turn_id, item.event) for item in tape if item.type == "result"]
    assert [turn_id for turn_id, _ in ends[-2:]] == [running.turn_id, waiting.turn_id]
    assert all(isinstance(end, events.Result) and end.subtype == "interrupted" for _, end in ends[-2:])
    await recalls(chat, "before")


async def test_a_fork_in_the_middle_has_the_files_of_then(chat: Chat) -> None:
    await chat.ask("write file a.txt with then")
    middle = (await chat.tape())[-1].seq
    await chat.ask("write file a.txt with now")
    fork = await chat.platform.services.manager.fork(chat.session_id, owner_id=chat.platform.user.id, at_seq=middle)
    async with await chat.platform.watch(fork.id) as copy:
        assert (workspace(copy) / "a.txt").read_text() == "then"
        assert (workspace(chat) / "a.txt").read_text() == "now"
        await copy.ask("remember: only here")
        # A fork of a fork, at a place both have.
        again = await chat.platform.services.manager.fork(fork.id, owner_id=chat.platform.user.id, at_seq=middle)
        async with await chat.platform.watch(again.id) as third:
            text, _ = await third.ask("what did I tell you earlier?")
            assert "a.txt" in text
            assert "only here" not in text


async def test_nothing_before_the_first_message_can_be_gone_back_to(chat: Chat) -> None:
    with pytest.raises(NothingToRewindError):
        await chat.conversation.rewind(before_seq=1, files=True, actor="user:someone")
    await chat.ask("remember: first")
    await chat.conversation.rewind(before_seq=1, files=True, actor="user:someone")
    text, ended = await chat.ask("what did I tell you earlier?")
    assert "first" not in text
    assert ended.subtype == "success"


# --- stopping at every moment ---------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["at once", "thinking", "responding", "executing_tool", "awaiting_permission"])
async def test_stop_works_at_every_stage(chat: Chat, moment: str) -> None:
    text = {
        "responding": "stream 2000 tokens at 50 tokens per second",
        "executing_tool": "run a command that takes 60 seconds",
        "awaiting_permission": "run bash: python3 -c 'print(6*7)'",
    }.get(moment, "hang")
    accepted = await chat.say(text)
    if moment != "at once":
        await chat.until_status(moment)

    async def stopped() -> bool:
        return chat.conversation.interrupt()

    await eventually(stopped)
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert (ended.subtype, ended.is_error) == ("interrupted", False)
    assert (await chat.ask("say exactly: next"))[0] == "next"


async def test_stop_ends_a_process_that_was_frozen(opened: Opened) -> None:
    async with opened(interrupt_timeout_seconds=0.5) as chat:
        accepted = await chat.say("hang")
        await chat.until_status("thinking")
        cli_of(chat).send_signal(signal.SIGSTOP)
        chat.conversation.interrupt()
        assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "interrupted"
        assert errors(chat) == []
        assert (await chat.ask("say exactly: next"))[0] == "next"
