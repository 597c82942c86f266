"""Record what the real CLI sends, as JSON lines in ``tests/sessions/recorded/``: the input of the translation tests.

Run by hand after a new version of the CLI, then look at the difference::

    python -m tests.model_gateway.scripted.record_sdk_messages

Each line is one message as the SDK reads it, before it is parsed. Paths of this machine are replaced.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeSDKClient, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from tests.model_gateway.scripted.real_cli import real_cli

from claude_sdk_pattern.model_gateway.scripted import ScriptedModel, running_scripted_model

type Raw = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "sessions" / "recorded"
OTHER_PATHS = re.compile(r"/(?:tmp|root|home|usr|opt|work|var)/[^\s\"'\\,)]*")
PROJECT_NAMES = re.compile(r"-tmp-[A-Za-z0-9-]+-workspace")  # the CLI's own name of a workspace


class Recording:
    """One conversation with a CLI of its own, every message kept."""

    def __init__(self, client: ClaudeSDKClient) -> None:
        self.client = client
        self.messages: list[Raw] = []
        query: Any = client._query  # pyright: ignore[reportPrivateUsage]  # the only place where raw messages are seen
        self._incoming: AsyncIterator[Raw] = query.receive_messages()

    async def until(self, is_last: Callable[[Raw], bool]) -> None:
        async for message in self._incoming:
            self.messages.append(message)
            if is_last(message):
                return

    async def turn(self, text: str) -> None:
        await self.client.query(text)
        await self.until(is_result)


def is_result(message: Raw) -> bool:
    return message["type"] == "result"


def is_delta(message: Raw) -> bool:
    return message["type"] == "stream_event" and message["event"]["type"] == "content_block_delta"


def is_message_stop(message: Raw) -> bool:
    return message["type"] == "stream_event" and message["event"]["type"] == "message_stop"


def turns(*texts: str) -> Callable[[Recording], Awaitable[None]]:
    async def play(recording: Recording) -> None:
        for text in texts:
            await recording.turn(text)

    return play


async def interrupted_text(recording: Recording) -> None:
    await recording.client.query("hang after 3 tokens")
    for _ in range(3):
        await recording.until(is_delta)
    await recording.client.interrupt()
    await recording.until(is_result)


async def interrupted_tool(recording: Recording) -> None:
    await recording.client.query("run bash: sleep 60")
    await recording.until(is_message_stop)
    await recording.client.interrupt()
    await recording.until(is_result)


async def message_in_between(recording: Recording) -> None:
    await recording.client.query("run bash: until [ -e reached ]; do sleep 0.05; done")
    await recording.until(is_message_stop)
    await recording.client.query("say exactly: one more thing")
    workspace = recording.client.options.cwd
    assert workspace is not None
    await asyncio.to_thread(Path(workspace, "reached").touch)
    await recording.until(is_result)


async def background_subagent(recording: Recording) -> None:
    await recording.turn("start a subagent in the background")
    await recording.until(is_result)


async def answer(name: str, given: dict[str, Any], _context: ToolPermissionContext) -> PermissionResultAllow:
    answers = {question["question"]: question["options"][0]["label"] for question in given.get("questions", [])}
    return PermissionResultAllow(updated_input={**given, "answers": answers} if answers else None)


async def refuse(_name: str, _given: dict[str, Any], _context: ToolPermissionContext) -> PermissionResultDeny:
    return PermissionResultDeny(message="Not in this workspace.")


SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}

SCENARIOS: dict[str, tuple[Callable[[Recording], Awaitable[None]], dict[str, Any]]] = {
    "text": (turns("say exactly: Two words, then a few more of them."), {}),
    "two_turns": (turns("remember the word apple", "what did I tell you earlier?"), {}),
    "thinking": (turns("think about the moon"), {}),
    "thinking_text_and_tools": (turns("build a small project"), {}),
    "several_tools": (turns("use several tools"), {}),
    "failed_tool": (turns("edit file none.txt: replace a with b"), {}),
    "denied_tool": (turns("try something dangerous"), {"can_use_tool": refuse}),
    "interrupted_text": (interrupted_text, {}),
    "interrupted_tool": (interrupted_tool, {}),
    "message_in_between": (message_in_between, {}),
    "retry_then_answer": (turns("fail with status 529 1 times"), {}),
    "api_error_after_retries": (turns("be overloaded"), {"max_retries": 1}),
    "prompt_too_long": (turns("prompt too long"), {}),
    "garbage_then_whole_answer": (turns("send garbage"), {}),
    "cut_then_whole_answer": (turns("cut the stream"), {}),
    "output_limit": (turns("stop at the limit"), {}),
    "refusal": (turns("refuse"), {}),
    "compaction": (turns("remember the word apple", "hello", "/compact"), {}),
    "subagent": (turns("start a subagent"), {}),
    "background_subagent": (background_subagent, {}),
    "ask_user_question": (turns("ask me a question"), {"can_use_tool": answer}),
    "structured_output": (turns("say exactly: done"), {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
}


async def record(model: ScriptedModel, name: str) -> None:
    play, options = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as temporary:
        async with real_cli(model, Path(temporary), **options) as client:
            recording = Recording(client)
            await play(recording)
        lines = [_neutral(message, Path(temporary), model) for message in recording.messages]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _neutral(message: Raw, folder: Path, model: ScriptedModel) -> str:
    text = json.dumps(message, ensure_ascii=False)
    for path in (folder / "workspace", folder / "config"):
        text = text.replace(str(path), f"/{path.name}")
    text = PROJECT_NAMES.sub("-workspace", text)
    text = text.replace(model.base_url.removeprefix("http://"), "model.example")
    return OTHER_PATHS.sub("/elsewhere", text)


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with running_scripted_model() as model:
        for name in SCENARIOS:
            await asyncio.wait_for(record(model, name), timeout=60)


if __name__ == "__main__":
    asyncio.run(main())
