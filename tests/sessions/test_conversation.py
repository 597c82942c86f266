"""Conversations end to end below the API: the real CLI in its sandbox, the real gateway, the scripted model, SQLite."""

import asyncio
import contextlib
import signal
import sqlite3
from collections.abc import Generator
from pathlib import Path

import orjson
import psutil
import pytest
from tests.support.platform import REAL_KEY, SECRET_KEY, Chat, Platform, eventually, running_platform

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import TapeUnavailable
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.errors import (
    EmptyMessageError,
    MessageTooLongError,
    NothingToForkError,
    QueueFullError,
    RequestNotPendingError,
    SessionNotFoundError,
)
from claude_sdk_pattern.sessions.process_factory import TRANSCRIPT_PROJECT
from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.sessions.translate import UnknownMessage
from claude_sdk_pattern.storage.retrying import Patience

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

# The CLI runs commands that only look around without asking; this is none of them.
ASKS_FIRST = "python3 -c \"open('proof.txt', 'w').write('ran')\""

ALLOW = Answer(decision="allow", by="someone")


def process_of(chat: Chat) -> AgentProcess:
    """Return the agent process of a session; the tests kill it, which nobody else may."""
    process = chat.conversation.process
    assert process is not None
    return process


def process_tree(chat: Chat) -> list[psutil.Process]:
    pid = process_of(chat).pid
    assert pid is not None
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


@contextlib.contextmanager
def locked(chat: Chat) -> Generator[None]:
    """Keep the database from storing anything."""
    with contextlib.closing(
        sqlite3.connect(chat.platform.services.database.sqlite_path, isolation_level=None)
    ) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


async def bash(chat: Chat, command: str) -> events.ToolResult:
    """Have the agent run a shell command, with permission if it asks, and return what it printed."""
    accepted = await chat.say(f"run bash: {command}")
    ran = await chat.until(lambda event: isinstance(event, events.PermissionRequest | events.ToolResult))
    if isinstance(ran, events.PermissionRequest):
        await chat.conversation.answer_permission(ran.request_id, ALLOW)
        ran = await chat.until_type(events.ToolResult)
    assert isinstance(ran, events.ToolResult)
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    return ran


async def transcript_mentions(chat: Chat, text: str) -> bool:
    """Whether the CLI has written this down yet; it does so about every tenth of a second."""
    store = TranscriptStore(chat.platform.services.database, project_key=TRANSCRIPT_PROJECT)
    entries = await store.load(
        {"project_key": TRANSCRIPT_PROJECT, "session_id": str(chat.conversation.session.agent_session_id)}
    )
    return any(text in str(entry) for entry in entries or [])


async def test_a_message_is_answered_and_everything_about_it_is_on_the_tape(chat: Chat) -> None:
    text, ended = await chat.ask("say exactly: All of it.")
    await chat.until_status("idle")
    asked = chat.platform.model.requests[-1]
    assert asked.headers["x-correlation-id"] == chat.seen[0].turn_id, "a request at the model is found on the tape"
    assert text == "All of it."
    assert (ended.subtype, ended.is_error) == ("success", False)
    assert ended.cost_usd > 0
    turn_id = chat.seen[0].turn_id
    assert turn_id is not None
    assert chat.types(turn_id) == ["user_message", "status", "status", "text", "context", "result", "status"]
    assert [item.seq for item in chat.seen] == list(range(1, len(chat.seen) + 1))
    stored = await chat.platform.services.manager.get(chat.session_id)
    assert stored.title == "say exactly: All of it."


async def test_the_model_is_told_of_the_tools_that_work_here(chat: Chat) -> None:
    """All of them, so that whoever takes a newer Claude Code looks at what it brings."""
    await chat.ask("say exactly: x")
    body = chat.platform.model.requests[-1].body
    told = (
        "Agent AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode NotebookEdit Read Skill TaskCreate TaskGet TaskList"
    )
    assert sorted(tool["name"] for tool in body["tools"]) == [
        *told.split(),
        "TaskUpdate",
        "WebFetch",
        "WebSearch",
        "Write",
    ]


async def test_a_finished_turn_keeps_no_deltas(chat: Chat) -> None:
    await chat.ask("long answer of 300 words")
    assert any(item.type == "stream_event" for item in chat.seen)

    async def compacted() -> bool:
        return all(item.type != "stream_event" for item in await chat.tape())

    await eventually(compacted)


async def test_the_session_adds_up_what_its_turns_cost(chat: Chat) -> None:
    costs = [(await chat.ask("say exactly: x"))[1].cost_usd for _ in range(3)]

    async def added_up() -> bool:
        stored = await chat.platform.services.manager.get(chat.session_id)
        return stored.cost_usd == pytest.approx(sum(costs)) and stored.context_percent is not None

    await eventually(added_up)
    # The CLI counts in total; three equal turns cost about the same each.
    assert max(costs) < 2 * min(costs)


async def test_the_same_client_id_runs_once_even_at_the_same_moment(chat: Chat) -> None:
    first, second = await asyncio.gather(chat.say("say exactly: once", "same"), chat.say("say exactly: once", "same"))
    assert first == second
    await chat.until_type(events.Result, turn_id=first.turn_id)
    assert await chat.say("say exactly: once", "same") == first
    other = await chat.ask("count")
    assert [item.type for item in chat.seen].count("user_message") == 2
    assert other[1].subtype == "success"


async def test_messages_sent_while_a_turn_runs_wait_and_are_answered_in_order(chat: Chat) -> None:
    turns = [await chat.say(f"say exactly: number {number}") for number in range(4)]
    for turn in turns:
        await chat.until_type(events.Result, turn_id=turn.turn_id)
    assert [chat.answer(turn.turn_id) for turn in turns] == [f"number {number}" for number in range(4)]
    order = [item.type for item in chat.seen if item.type in ("user_message", "result")]
    assert order[:2] == ["user_message", "user_message"]


async def test_a_message_that_cannot_be_taken_leaves_nothing_on_the_tape(platform: Platform, chat: Chat) -> None:
    with pytest.raises(MessageTooLongError):
        await chat.say("x" * (platform.services.settings.max_message_length + 1))
    with pytest.raises(EmptyMessageError):
        await chat.say(" \n")
    assert await chat.tape() == []


async def test_a_full_queue_refuses_further_messages(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_queued_messages=2) as platform:
        async with await platform.chat() as chat:
            await chat.say("stream 1000 tokens at 50 tokens per second")
            await chat.until_type(events.StreamEvent)
            waiting = [await chat.say(f"say exactly: {number}") for number in range(2)]
            with pytest.raises(QueueFullError):
                await chat.say("say exactly: too many")
            assert chat.conversation.interrupt()
            for turn in waiting:
                ended = await chat.until_type(events.Result, turn_id=turn.turn_id)
                assert ended.subtype == "success"


async def test_stop_ends_the_turn_and_keeps_what_was_said(chat: Chat) -> None:
    accepted = await chat.say("stream 2000 tokens at 50 tokens per second")
    await chat.until_type(events.StreamEvent)
    assert chat.conversation.interrupt()
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert (ended.subtype, ended.is_error) == ("interrupted", False)
    assert chat.answer(accepted.turn_id) != ""
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "2000 tokens" in text


async def test_stop_before_the_first_word_works_too(chat: Chat) -> None:
    accepted = await chat.say("hang")
    await chat.until_status("thinking")
    await chat.platform.model.wait_for_request(lambda request: b"hang" in request.raw_body)
    chat.conversation.interrupt()
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "interrupted"


async def test_stop_in_a_tool_ends_the_tool(chat: Chat) -> None:
    accepted = await chat.say("run bash: tail -f /dev/null")
    request = await chat.until_type(events.PermissionRequest)
    await chat.conversation.answer_permission(request.request_id, ALLOW)

    async def running() -> bool:
        return any("tail" in process.name() for process in process_tree(chat))

    await eventually(running)
    chat.conversation.interrupt()
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "interrupted"
    assert "tool_result" in chat.types(accepted.turn_id)


async def test_a_process_that_does_not_obey_stop_is_replaced(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, interrupt_timeout_seconds=0.5
    ) as platform:
        async with await platform.chat() as chat:
            await chat.ask("remember that the word is heron")
            accepted = await chat.say("stream 2000 tokens at 50 tokens per second")
            await chat.until_type(events.StreamEvent)
            tree = process_tree(chat)
            for process in tree:
                process.send_signal(signal.SIGSTOP)
            chat.conversation.interrupt()
            ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
            assert ended.subtype == "interrupted"
            _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
            assert alive == []
            text, _ = await chat.ask("what did I tell you earlier?")
            assert "heron" in text


async def test_a_cli_killed_in_mid_stream_comes_back_and_remembers(chat: Chat) -> None:
    await chat.ask("remember that the word is heron")
    accepted = await chat.say("stream 2000 tokens at 50 tokens per second")
    await chat.until_type(events.StreamEvent)
    await eventually(lambda: transcript_mentions(chat, "2000 tokens"))
    process_of(chat).kill()
    crash = await chat.until_type(events.Error)
    assert (crash.code, crash.recoverable) == ("subprocess_crash", True)
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "interrupted"
    await chat.until_status("recovered")
    shown = "".join(
        event.delta
        for event in (item.event for item in chat.seen if item.turn_id == accepted.turn_id)
        if isinstance(event, events.StreamEvent)
    )
    assert chat.answer(accepted.turn_id) == shown
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "heron" in text
    assert "2000 tokens" in text


async def test_a_cli_killed_in_a_tool_leaves_an_honest_result_and_no_shell(chat: Chat) -> None:
    accepted = await chat.say("run bash: tail -f /dev/null")
    request = await chat.until_type(events.PermissionRequest)
    await chat.conversation.answer_permission(request.request_id, ALLOW)

    async def running() -> bool:
        return any("tail" in process.name() for process in process_tree(chat))

    await eventually(running)
    tree = process_tree(chat)
    process_of(chat).kill()
    result = await chat.until_type(events.ToolResult)
    assert result.is_error
    assert "may have run partly" in str(result.content)
    assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "interrupted"
    _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
    assert alive == []
    assert (await chat.ask("say exactly: still here"))[0] == "still here"


async def test_a_cli_that_dies_between_turns_is_not_missed(chat: Chat) -> None:
    await chat.ask("remember that the word is heron")
    process_of(chat).kill()

    async def gone() -> bool:
        return chat.conversation.process is None

    await eventually(gone)
    text, ended = await chat.ask("what did I tell you earlier?")
    assert "heron" in text
    assert ended.subtype == "success"
    assert not any(item.type == "error" for item in chat.seen)


async def test_a_tool_call_waits_for_a_person_and_the_first_answer_decides(chat: Chat) -> None:
    accepted = await chat.say(f"run bash: {ASKS_FIRST}")
    request = await chat.until_type(events.PermissionRequest)
    assert (request.tool, request.input["command"]) == ("Bash", ASKS_FIRST)
    assert chat.conversation.status == "awaiting_permission"
    await chat.conversation.answer_permission(
        request.request_id, Answer(decision="deny", by="u1", message="Not today.")
    )
    with pytest.raises(RequestNotPendingError):
        await chat.conversation.answer_permission(request.request_id, ALLOW)
    resolved = await chat.until_type(events.PermissionResolved)
    assert (resolved.decision, resolved.by, resolved.reason) == ("deny", "u1", "Not today.")
    result = await chat.until_type(events.ToolResult)
    assert result.is_error
    assert "Not today." in str(result.content)
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert list(workspace(chat).iterdir()) == []


async def test_a_person_may_change_what_the_tool_does(chat: Chat) -> None:
    await chat.say(f"run bash: {ASKS_FIRST}")
    request = await chat.until_type(events.PermissionRequest)
    answer = Answer(decision="allow", by="u1", updated_input={"command": "echo changed"})
    await chat.conversation.answer_permission(request.request_id, answer)
    result = await chat.until_type(events.ToolResult)
    assert "changed" in str(result.content)


async def test_nobodys_answer_is_a_denial(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, approval_timeout_seconds=0.2
    ) as platform:
        async with await platform.chat() as chat:
            await chat.say(f"run bash: {ASKS_FIRST}")
            resolved = await chat.until_type(events.PermissionResolved)
            assert (resolved.decision, resolved.by) == ("deny", "system")
            result = await chat.until_type(events.ToolResult)
            assert result.is_error


async def test_stop_answers_a_pending_request_with_no(chat: Chat) -> None:
    accepted = await chat.say(f"run bash: {ASKS_FIRST}")
    await chat.until_type(events.PermissionRequest)
    chat.conversation.interrupt()
    resolved = await chat.until_type(events.PermissionResolved)
    assert resolved.decision == "deny"
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "interrupted"


async def test_a_question_of_the_agent_is_answered_by_a_person(chat: Chat) -> None:
    accepted = await chat.say("ask me a question")
    request = await chat.until_type(events.PermissionRequest)
    assert request.tool == "AskUserQuestion"
    question = request.input["questions"][0]
    chosen = question["options"][1]["label"]
    answers = {**request.input, "answers": {question["question"]: chosen}}
    await chat.conversation.answer_permission(
        request.request_id, Answer(decision="allow", by="u1", updated_input=answers)
    )
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert chosen in chat.answer(accepted.turn_id)


async def test_a_subagents_work_is_on_the_tape_below_its_call(chat: Chat) -> None:
    accepted = await chat.say("start a subagent")

    async def allow_all() -> None:
        while True:
            request = await chat.until_type(events.PermissionRequest)
            await chat.conversation.answer_permission(request.request_id, ALLOW)

    allowing = asyncio.create_task(allow_all())
    try:
        await eventually(lambda: _has(chat, "result"))
    finally:
        allowing.cancel()
    types = chat.types(accepted.turn_id)
    assert types.index("agent_start") < types.index("agent_stop")
    nested = [
        event
        for event in (item.event for item in chat.seen)
        if isinstance(event, events.ToolUse) and event.parent_tool_use_id is not None
    ]
    assert nested


async def _has(chat: Chat, kind: str) -> bool:
    return any(item.type == kind for item in chat.seen)


async def test_a_new_session_gets_a_warm_process_and_no_other_session_the_same(
    platform: Platform,
) -> None:
    manager = platform.services.manager
    pids: set[int | None] = set()
    for _ in range(3):
        await platform.warm()
        async with await platform.chat() as chat:
            text, _ = await chat.ask("how many messages")
            assert not any("preparing" in item.payload.decode() for item in chat.seen)
            pids.add(process_of(chat).pid)
            # One message: what primed the process is forgotten.
            assert "holds 1 messages" in text or "holds 2 messages" in text, text
    assert len(pids) == 3
    assert manager.pool.size <= 1


async def test_without_a_pool_a_session_says_that_it_prepares(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as platform:
        async with await platform.chat() as chat:
            await chat.say("say exactly: cold")
            await chat.until_status("preparing")
            await chat.until_type(events.Result)


async def test_a_session_whose_agent_cannot_start_says_so_and_answers_again_when_it_can(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as platform:
        in_the_way = tmp_path / "data" / "workspaces"
        in_the_way.write_text("a file where the folder of the workspaces should be")
        async with await platform.chat() as chat:
            _, ended = await chat.ask("say exactly: lost")
            assert (ended.subtype, ended.is_error) == ("error", True)
            [told] = [item.event for item in chat.seen if item.type == "error"]
            assert isinstance(told, events.Error)
            assert (told.code, told.recoverable) == ("agent_start_failed", True)
            in_the_way.unlink()
            assert (await chat.ask("say exactly: found"))[0] == "found"


async def test_a_pooled_process_that_died_is_replaced_and_not_adopted(own_platform: Platform) -> None:
    pool = own_platform.services.manager.pool
    await pool.wait_filled()
    agents = str(own_platform.data_dir / "agents")
    (dead,) = [child for child in psutil.Process().children() if agents in str(child.cmdline())]
    dead.kill()
    dead.wait()
    async with await own_platform.chat() as chat:
        text, _ = await chat.ask("say exactly: alive")
        assert text == "alive"
        assert process_of(chat).pid != dead.pid


async def test_priming_costs_no_model_request(own_platform: Platform) -> None:
    await own_platform.services.manager.pool.wait_filled()
    assert [request.path for request in own_platform.model.requests if request.path.startswith("/v1/messages")] == []


async def test_a_sleeping_session_wakes_with_its_memory_and_its_files(chat: Chat) -> None:
    await chat.ask("remember that the word is heron")
    await bash(chat, "echo kept > file.txt")
    tree = process_tree(chat)
    await chat.fall_asleep()
    await chat.until_status("hibernated")
    _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
    assert alive == []
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "heron" in text
    assert "kept" in str((await bash(chat, "cat file.txt")).content)


async def test_a_sleeping_session_can_be_woken_before_its_next_message(chat: Chat) -> None:
    await chat.ask("say exactly: x")
    await chat.fall_asleep()
    await chat.until_status("hibernated")
    await chat.conversation.wake()
    await chat.until_status("idle")
    assert chat.conversation.process is not None


async def test_a_quiet_session_goes_to_sleep_by_itself(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, session_timeout=1) as platform:
        async with await platform.chat() as chat:
            await chat.ask("say exactly: x")
            await chat.until_status("hibernated")


async def test_the_longest_idle_session_gives_way_when_all_processes_are_taken(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_sessions=2) as platform:
        chats = [await platform.chat() for _ in range(3)]
        for chat in chats:
            await chat.__aenter__()
            await chat.ask("remember that the word is heron")
        assert [chat.conversation.process is not None for chat in chats] == [False, True, True]
        assert "heron" in (await chats[0].ask("what did I tell you earlier?"))[0]
        for chat in chats:
            await chat.__aexit__()


async def test_a_session_waits_for_a_process_while_all_are_at_work(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_sessions=1) as platform:
        async with await platform.chat() as busy, await platform.chat() as waiting:
            await busy.say("stream 2000 tokens at 50 tokens per second")
            await busy.until_type(events.StreamEvent)
            accepted = await waiting.say("say exactly: at last")
            await waiting.until_status("preparing")
            assert waiting.conversation.process is None
            busy.conversation.interrupt()
            await waiting.until_type(events.Result, turn_id=accepted.turn_id)
            assert waiting.answer(accepted.turn_id) == "at last"


async def test_a_fork_remembers_and_the_original_does_not_notice(platform: Platform, chat: Chat) -> None:
    await chat.ask("remember that the word is heron")
    await bash(chat, "echo original > file.txt")
    manager = platform.services.manager
    fork = await manager.fork(chat.session_id, owner_id=platform.user.id)
    async with await platform.watch(fork.id) as copy:
        assert "heron" in (await copy.ask("what did I tell you earlier?"))[0]
        assert "original" in str((await bash(copy, "cat file.txt; echo forked > file.txt")).content)
        assert [item.type for item in copy.seen].count("user_message") == 4
    assert "original" in str((await bash(chat, "cat file.txt")).content)


async def test_a_fork_of_a_fork_can_begin_in_the_middle(platform: Platform, chat: Chat) -> None:
    await chat.ask("remember that the word is heron")
    middle = chat.seen[-1].seq
    await chat.ask("remember that the number is seven")
    manager = platform.services.manager
    whole = await manager.fork(chat.session_id, owner_id=platform.user.id)
    part = await manager.fork(whole.id, owner_id=platform.user.id, at_seq=middle, title="Part")
    assert part.title == "Part"
    async with await platform.watch(part.id) as copy:
        text, _ = await copy.ask("what did I tell you earlier?")
    assert "heron" in text
    assert "seven" not in text


async def test_there_is_nothing_to_fork_before_the_first_answer(platform: Platform, chat: Chat) -> None:
    with pytest.raises(NothingToForkError):
        await platform.services.manager.fork(chat.session_id, owner_id=platform.user.id)


async def test_a_deleted_session_leaves_nothing_behind(platform: Platform, chat: Chat) -> None:
    await bash(chat, "echo x > file.txt")
    folder, tree = workspace(chat), process_tree(chat)
    await platform.services.manager.delete(chat.session_id)
    with pytest.raises(SessionNotFoundError):
        await platform.services.manager.get(chat.session_id)
    assert await chat.tape() == []
    assert not folder.exists()
    _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
    assert alive == []


async def test_settings_change_while_the_session_runs(platform: Platform, chat: Chat) -> None:
    await chat.ask("say exactly: x")
    await chat.conversation.configure(model="claude-opus-4-5", permission_mode="plan", title="New", actor="user:u")
    changed = await chat.until(lambda event: isinstance(event, events.SessionUpdated) and event.model is not None)
    assert changed == events.SessionUpdated(model="claude-opus-4-5", permission_mode="plan", title="New")
    text, _ = await chat.ask("which model are you")
    assert "claude-opus-4-5" in text


async def test_structured_output_comes_with_the_result(platform: Platform) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    async with await platform.chat(output_schema=schema) as chat:
        _, ended = await chat.ask("say exactly: done")
    assert isinstance(ended.structured_output, dict)
    assert isinstance(ended.structured_output["total"], int | float)


# --- what goes wrong with the model ----------------------------------------------------------------------------


async def test_retries_are_shown_and_the_answer_still_comes(chat: Chat) -> None:
    accepted = await chat.say("fail with status 529 1 times")
    await chat.until_status("retrying")
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "success"


async def test_an_overloaded_model_ends_in_a_clear_error(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, model_max_retries=1) as platform:
        async with await platform.chat() as chat:
            _, ended = await chat.ask("overloaded")
            assert ended.subtype == "error"
            errors = [item.event for item in chat.seen if item.type == "error"]
            assert isinstance(errors[0], events.Error)
            assert errors[0].code == "api_unavailable"
            assert (await chat.ask("say exactly: back again"))[0] == "back again"


@pytest.mark.parametrize("fault", ["cut the stream 1 times", "send garbage 1 times", "fail in the middle 1 times"])
async def test_what_stands_after_a_broken_stream_is_what_was_finally_said(chat: Chat, fault: str) -> None:
    """Deltas are provisional: the fold of the tape equals the complete blocks, and nothing is told twice."""
    accepted = await chat.say(fault)
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    standing: dict[str, str] = {}
    for event in (item.event for item in chat.seen if item.turn_id == accepted.turn_id):
        if isinstance(event, events.StreamEvent) and event.kind == "text":
            standing[event.block_id] = standing.get(event.block_id, "") + event.delta
        elif isinstance(event, events.Text):
            standing[event.block_id] = event.content
    assert "\n".join(filter(None, standing.values())) == chat.answer(accepted.turn_id)


async def test_a_stream_that_hangs_ends_within_a_set_time(sqlite_url: str, tmp_path: Path) -> None:
    settings = {"model_idle_timeout_seconds": 0.5, "model_max_retries": 0}
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, **settings) as platform:
        async with await platform.chat() as chat:
            _, ended = await chat.ask("hang in the middle")
            assert ended.is_error


# --- traps of the SDK ------------------------------------------------------------------------------------------


async def test_the_agent_holds_no_key(chat: Chat) -> None:
    """The agent's own shell looks for the real key and the server's secrets everywhere it can reach."""
    looked = await bash(
        chat,
        # Around the policy's rule about this folder, which is no wall.
        "env; cd /proc; cat */environ */cmdline 2>/dev/null | tr '\\0' '\\n'; cat ~/* ~/.* 2>/dev/null; "
        "grep -rahs canary /etc /tmp /run /var /home /root /opt /srv ~ . --exclude=claude | head -c 2000",
    )
    seen = str(looked.content)
    assert "ANTHROPIC_API_KEY=csp-" in seen
    assert REAL_KEY not in seen
    assert SECRET_KEY not in seen
    used = [request.headers.get("x-api-key") for request in chat.platform.model.requests]
    assert REAL_KEY in used, "the gateway did put the real key in"


async def test_no_file_of_the_agent_holds_the_key(chat: Chat) -> None:
    await chat.ask("say exactly: x")
    for folder in (chat.platform.data_dir / "agents", chat.platform.data_dir / "workspaces"):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert REAL_KEY.encode() not in path.read_bytes(), path


async def test_settings_in_a_workspace_are_not_obeyed(chat: Chat) -> None:
    settings = {
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
        "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hook-ran"}]}]},
    }
    await chat.ask("say exactly: x")
    folder = workspace(chat) / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_bytes(orjson.dumps(settings))
    await chat.fall_asleep()
    text, _ = await chat.ask("say exactly: still through the gateway")
    assert text == "still through the gateway"
    assert not (workspace(chat) / "hook-ran").exists()


async def test_a_line_larger_than_the_sdks_buffer_does_not_end_the_session(chat: Chat) -> None:
    """An answer travels in one line of JSON, and the SDK's own limit for a line is 1 MiB."""
    text, ended = await chat.ask("long answer of 200000 words")
    assert ended.subtype == "success"
    assert len(text) > 1024 * 1024


async def test_stop_works_while_the_database_takes_nothing(chat: Chat) -> None:
    """The reader of the agent never waits for the disk: with the database locked in a flood of tokens, stop arrives."""
    accepted = await chat.say("stream 20000 tokens at 2000 tokens per second")
    await chat.until_type(events.StreamEvent)
    with locked(chat):
        chat.conversation.interrupt()
        # Nobody listens to the model any more, long before it has said everything.
        await chat.platform.model.wait_until_idle(4)
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "interrupted"


async def test_a_message_that_could_not_be_stored_is_never_asked_and_the_session_goes_on(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has it while it is being stored; the model must not."""
    await chat.ask("remember that the word is heron")
    await chat.until_status("idle")
    impatient = Patience(first_seconds=0.01, longest_seconds=0.05, give_up_after_seconds=0.3)
    monkeypatch.setattr(chat.platform.services.log, "_patience", impatient)
    with locked(chat):
        with pytest.raises(TapeUnavailable):
            await chat.say("say exactly: lost")
    text, ended = await chat.ask("what did I tell you earlier?")
    assert ended.subtype == "success"
    assert "heron" in text
    assert "lost" not in text
    assert not any(b"exactly: lost" in request.raw_body for request in chat.platform.model.requests)
    assert [item.event.text for item in await chat.tape() if isinstance(item.event, events.UserMessage)] == [
        "remember that the word is heron",
        "what did I tell you earlier?",
    ]


async def test_a_message_is_answered_though_its_writer_left_while_it_was_being_stored(chat: Chat) -> None:
    await chat.ask("say exactly: before")
    with locked(chat):
        leaving = asyncio.create_task(chat.say("say exactly: for whoever comes back"))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    ended = await chat.until_type(events.Result)
    assert ended.subtype == "success"
    assert chat.answer(chat.seen[-1].turn_id or "") == "for whoever comes back"


async def test_ending_a_process_that_hangs_does_not_leak_it(chat: Chat) -> None:
    await chat.say("hang")
    await chat.platform.model.wait_for_request(lambda request: b"hang" in request.raw_body)
    tree = process_tree(chat)
    for process in tree:
        process.send_signal(signal.SIGSTOP)
    await process_of(chat).stop()
    _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
    assert alive == []


async def test_an_unknown_message_of_the_cli_is_kept_and_harmless(chat: Chat) -> None:
    await chat.ask("say exactly: x")
    runner = chat.conversation._runner  # pyright: ignore[reportPrivateUsage]
    runner.on_message(UnknownMessage(kind="from_the_future", data={"type": "from_the_future"}))
    kept = await chat.until_type(events.SdkMessage)
    assert kept.data == {"type": "from_the_future"}
    assert (await chat.ask("say exactly: fine"))[0] == "fine"


async def test_the_private_folder_of_a_process_goes_with_it(chat: Chat) -> None:
    await chat.ask("say exactly: x")
    folder = chat.platform.data_dir / "agents" / process_of(chat).process_id
    assert folder.is_dir()
    await chat.fall_asleep()
    assert not folder.exists()


def workspace(chat: Chat) -> Path:
    workspace_id = chat.conversation.session.workspace_id
    assert workspace_id is not None
    return chat.platform.data_dir / "workspaces" / workspace_id
