"""The scripted model under the real bundled Claude Code CLI.

Real: the CLI, its tools, the files it writes, HTTP on loopback. Not real: the model, which is what is tested here.
"""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    PermissionResultAllow,
    StreamEvent,
    SystemMessage,
    ThinkingBlock,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)
from tests.model_gateway.scripted.real_cli import KEY, real_cli, result, texts, tool_results, turn

from claude_sdk_pattern.model_gateway.scripted import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


async def test_the_tour_says_that_it_is_scripted_and_lists_what_to_try(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "Hello!")
    (answer,) = texts(messages)
    assert "scripted model" in answer
    assert answer.count("| `") == 8
    assert result(messages).is_error is False
    assert model.requests[-1].headers["x-api-key"] == KEY


async def test_deltas_add_up_to_the_complete_text(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "show me some writing")
    deltas = [
        message.event.get("delta", {}).get("text", "") for message in messages if isinstance(message, StreamEvent)
    ]
    assert "".join(deltas) == texts(messages)[0]
    assert len(deltas) > 20


async def test_thoughts_come_before_the_answer(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "think about the moon")
    blocks = [block for message in messages if isinstance(message, AssistantMessage) for block in message.content]
    assert isinstance(blocks[0], ThinkingBlock)
    assert "the moon" in blocks[0].thinking
    assert blocks[0].signature
    assert "**the moon**" in texts(messages)[0]


async def test_bash_is_really_run_and_its_output_quoted(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "run bash: echo $((6 * 7)); pwd")
    assert tool_results(messages)[0].content == f"42\n{tmp_path / 'workspace'}"
    assert f"```\n42\n{tmp_path / 'workspace'}\n```" in texts(messages)[-1]


async def test_a_file_is_written_edited_and_read(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        await turn(client, "write file a.txt with one two three")
        await turn(client, "edit file a.txt: replace two with 2")
        messages = await turn(client, "read file a.txt")
    assert (tmp_path / "workspace" / "a.txt").read_text() == "one 2 three"
    assert "one 2 three" in texts(messages)[-1]


async def test_a_failed_tool_is_told_and_ends_the_turn(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "edit file none.txt: replace a with b")
    assert texts(messages)[-1].startswith("That did not work.")
    assert "does not exist" in texts(messages)[-1]


async def test_several_tools_of_one_answer_all_run(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "use several tools")
    assert len(tool_results(messages)) == 3
    assert "All three are back: Bash, Bash, Write." in texts(messages)[-1]
    assert (tmp_path / "workspace" / "notes.txt").read_text() == "three\n"
    assert len(model.requests) == 2


async def test_the_small_project_is_written_run_and_reported(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "build a small project")
    assert (tmp_path / "workspace" / "report.txt").read_text() == "the: 3\nand: 2\ncat: 1\n"
    assert "the: 3" in texts(messages)[-1]
    assert len(model.requests) == 4


async def test_a_subagent_has_a_conversation_of_its_own_and_reports_back(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "start a subagent")
    assert texts(messages)[-1] == "The second agent reported:\n\n> There are 0 files in the folder."
    inner = [m for m in messages if isinstance(m, AssistantMessage) and m.parent_tool_use_id is not None]
    assert inner


async def test_two_subagents_at_once_both_report(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "start two subagents")
    assert "There are 0 files" in texts(messages)[-1]
    assert "The command printed" in texts(messages)[-1]


async def test_background_work_is_reported_in_a_turn_that_nobody_asked_for(
    model: ScriptedModel, tmp_path: Path
) -> None:
    async with real_cli(model, tmp_path) as client:
        first = await turn(client, "start a subagent in the background")
        second = [message async for message in client.receive_response()]
    assert "works in the background" in texts(first)[-1]
    assert texts(second)[-1] == "The work in the background is completed.\n\n> There are 0 files in the folder."


async def test_a_question_reaches_the_person_and_the_answer_the_model(model: ScriptedModel, tmp_path: Path) -> None:
    async def answer(name: str, given: dict[str, Any], _context: ToolPermissionContext) -> PermissionResultAllow:
        assert name == "AskUserQuestion"
        question = given["questions"][0]
        return PermissionResultAllow(updated_input={**given, "answers": {question["question"]: "Green"}})

    async with real_cli(model, tmp_path, can_use_tool=answer) as client:
        messages = await turn(client, "ask me a question")
    assert '"Green"' in texts(messages)[-1]


async def test_an_mcp_tool_is_called_with_the_arguments_given(model: ScriptedModel, tmp_path: Path) -> None:
    @tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"sum={arguments['a'] + arguments['b']}"}]}

    servers = {"calculator": create_sdk_mcp_server("calculator", tools=[add])}
    async with real_cli(model, tmp_path, mcp_servers=servers) as client:
        messages = await turn(client, 'call mcp tool calculator add with {"a": 20, "b": 22}')
    assert "sum=42" in texts(messages)[-1]


async def test_structured_output_is_handed_in_when_it_is_demanded(model: ScriptedModel, tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 3}},
        "required": ["colour", "count"],
    }
    demand = {"type": "json_schema", "schema": schema}
    async with real_cli(model, tmp_path, output_format=demand) as client:
        first = await turn(client, "say exactly: here it is")
        second = await turn(client, "run bash: echo again")
    assert result(first).structured_output == {"colour": "red", "count": 3}
    assert texts(first) == ["here it is"]
    assert result(second).structured_output == {"colour": "red", "count": 3}


async def test_a_rate_limit_is_waited_out_and_then_answered(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "fail with 429 2 times, retry after 0.1 seconds")
    assert texts(messages) == ["It works again. The failures are over."]
    assert _retries(messages) == [429, 429]


async def test_an_overload_that_outlasts_the_retries_ends_the_turn_with_an_error(
    model: ScriptedModel, tmp_path: Path
) -> None:
    async with real_cli(model, tmp_path, max_retries=1) as client:
        messages = await turn(client, "be overloaded")
        after = await turn(client, "say exactly: still here")
    assert (result(messages).is_error, result(messages).api_error_status) == (True, 529)
    assert _retries(messages) == [529]
    assert texts(after) == ["still here"]


async def test_a_bad_key_ends_the_turn_with_an_error(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path, max_retries=0) as client:
        messages = await turn(client, "bad key")
    assert (result(messages).is_error, result(messages).api_error_status) == (True, 401)


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("cut the stream", "This answer was cut in the middle at first, and here it is as a whole."),
        ("send garbage", "There was garbage in the middle at first, and here is the whole answer."),
        ("fail in the middle", "There was an error in the middle at first, and here is the whole answer."),
    ],
)
async def test_a_stream_that_breaks_once_is_answered_whole_in_the_end(
    model: ScriptedModel, tmp_path: Path, order: str, answer: str
) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, order)
    assert texts(messages) == [answer]
    assert len(model.requests) == 2
    shown = "".join(m.event.get("delta", {}).get("text", "") for m in messages if isinstance(m, StreamEvent))
    assert shown != answer, "the deltas of the broken stream were shown as well"
    assert shown.startswith(answer.split()[0])


async def test_a_hanging_stream_can_be_interrupted_and_the_conversation_goes_on(
    model: ScriptedModel, tmp_path: Path
) -> None:
    async with real_cli(model, tmp_path) as client:
        await client.query("hang after 3 tokens")
        messages = await _interrupted_after_tokens(client, 3)
        after = await turn(client, "what did I tell you earlier?")
    assert texts(messages) == ["the river bends "]
    assert result(messages).subtype == "error_during_execution"
    assert "- hang after 3 tokens" in texts(after)[0]


async def test_a_cut_answer_is_gone_on_with(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "stop at the limit")
    assert texts(messages) == ["This answer ends in the middle of a", "sentence, and this is the rest of it."]


async def test_what_was_said_survives_a_new_process_that_resumes(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        session_id = result(await turn(client, "remember that the gate code is 4711")).session_id
        await turn(client, "run bash: echo between")
    async with real_cli(model, tmp_path, resume=session_id) as client:
        messages = await turn(client, "what did I tell you earlier?")
    assert "gate code is 4711" in texts(messages)[0]
    assert "run bash: echo between" in texts(messages)[0]


async def test_what_was_said_survives_compaction(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        await turn(client, "remember that the gate code is 4711")
        await turn(client, "hello")
        compacted = await turn(client, "/compact")
        messages = await turn(client, "what did I tell you earlier?")
    assert any(isinstance(m, SystemMessage) and m.subtype == "compact_boundary" for m in compacted)
    assert "gate code is 4711" in texts(messages)[0]
    assert len(model.requests) == 4


async def test_a_message_sent_while_a_tool_runs_belongs_to_the_running_turn(
    model: ScriptedModel, tmp_path: Path
) -> None:
    reached = tmp_path / "workspace" / "reached"
    async with real_cli(model, tmp_path) as client:
        await client.query("run bash: until [ -e reached ]; do sleep 0.05; done")
        async for message in client.receive_messages():
            if isinstance(message, StreamEvent) and message.event["type"] == "message_stop":
                break
        await client.query("say exactly: one more thing")
        reached.touch()
        messages = [message async for message in client.receive_response()]
        after = await turn(client, "what did I tell you earlier?")
    assert "- say exactly: one more thing" in texts(messages)[-1]
    assert "- say exactly: one more thing" in texts(after)[0]


async def test_usage_is_reported_as_told(model: ScriptedModel, tmp_path: Path) -> None:
    async with real_cli(model, tmp_path) as client:
        messages = await turn(client, "report 150000 input tokens and 77 output tokens")
    usage = result(messages).usage
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"]) == (150000, 77)


async def _interrupted_after_tokens(client: ClaudeSDKClient, count: int) -> list[Any]:
    seen: list[Any] = []
    async for message in client.receive_response():
        seen.append(message)
        is_delta = isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta"
        count -= is_delta
        if is_delta and count == 0:
            await client.interrupt()
    return seen


def _retries(messages: list[Any]) -> list[int]:
    return [
        message.data["error_status"]
        for message in messages
        if isinstance(message, SystemMessage) and message.subtype == "api_retry"
    ]
