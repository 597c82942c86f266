"""What a conversation relies on in an agent process: asked of real ones, and of those that tests make up."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from claude_agent_sdk import Message, PermissionResult, PermissionResultDeny, ResultMessage, ToolPermissionContext
from tests.support.agents import MadeUpFactory, MadeUpProcess
from tests.support.platform import PATIENCE_SECONDS, Platform
from uuid_utils import uuid4

from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.policy.hooks import HookCall, HookReply
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.errors import AgentCrashedError
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.process_factory import ProcessFactory
from claude_sdk_pattern.sessions.translate import UnknownMessage

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

SLOW = "hang after 3 tokens"


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.results: asyncio.Queue[ResultMessage] = asyncio.Queue()
        self.exits: list[AgentProcess] = []
        self.exited = asyncio.Event()

    def on_message(self, message: Message | UnknownMessage) -> None:
        if isinstance(message, ResultMessage):
            self.results.put_nowait(message)

    def on_exit(self, process: AgentProcess, error: AgentCrashedError) -> None:
        self.exits.append(process)
        self.exited.set()

    async def run_hook(self, call: HookCall, process: AgentProcess) -> HookReply:
        return HookReply(decision="deny", reason="nobody is here")

    async def decide_permission(
        self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext, process: AgentProcess
    ) -> PermissionResult:
        return PermissionResultDeny(message="nobody is here")

    def on_tool_failure(self, failure: ToolFailure) -> None:
        pass

    def on_plugin_problems(self, problems: Mapping[str, str]) -> None:
        pass

    async def result(self) -> ResultMessage:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.results.get()


@pytest.fixture(params=["real", "made up"])
async def factory(request: pytest.FixtureRequest, platform: Platform) -> ProcessFactory:
    """Where processes come from."""
    return platform.services.manager.processes if request.param == "real" else MadeUpFactory()


@pytest.fixture
async def listener() -> Listener:
    """A session that listens."""
    return Listener()


@pytest.fixture
async def process(factory: ProcessFactory, listener: Listener) -> AsyncGenerator[AgentProcess]:
    """A process that belongs to a session."""
    started = await factory.start_fresh(
        AgentProfile(), model="claude-sonnet-4-5", permission_mode="acceptEdits", primed=False
    )
    started.bind(listener, "session")
    yield started
    await started.stop()


def answer_if_made_up(process: AgentProcess) -> None:
    # A real one does so by itself.
    if isinstance(process, MadeUpProcess):
        process.answer()


async def test_a_result_names_the_message_it_answers(process: AgentProcess, listener: Listener) -> None:
    for text in ("say exactly: one", "say exactly: two"):
        uuid = str(uuid4())
        await process.send(text, message_uuid=uuid)
        answer_if_made_up(process)
        ended = await listener.result()
        assert (ended.user_message_uuid, ended.is_error, ended.session_id) == (uuid, False, process.agent_session_id)
    assert process.is_alive


async def test_a_message_that_is_taken_while_it_is_stored_is_answered_when_it_is(
    process: AgentProcess, listener: Listener
) -> None:
    uuid, stored = str(uuid4()), asyncio.get_running_loop().create_future()
    await process.send("say exactly: hello", message_uuid=uuid, stored=stored)
    assert listener.results.empty()
    stored.set_result(None)
    answer_if_made_up(process)
    assert (await listener.result()).user_message_uuid == uuid


async def test_an_interrupt_ends_the_turn_with_a_result_that_says_so(process: AgentProcess, listener: Listener) -> None:
    await process.send(SLOW, message_uuid=str(uuid4()))
    await process.interrupt()
    ended = await listener.result()
    assert (ended.terminal_reason or "").startswith("aborted")
    # And the process goes on.
    await process.send("say exactly: still here", message_uuid=str(uuid4()))
    answer_if_made_up(process)
    assert not (await listener.result()).is_error


async def test_an_interrupt_with_nothing_to_interrupt_does_nothing(process: AgentProcess, listener: Listener) -> None:
    await process.interrupt()
    await process.ping()
    assert listener.results.empty()


async def test_a_killed_process_is_told_of_once_and_takes_nothing_more(
    process: AgentProcess, listener: Listener
) -> None:
    await process.send(SLOW, message_uuid=str(uuid4()))
    process.kill()
    process.kill()
    assert not listener.exits, "not before whoever killed it has gone on"
    async with asyncio.timeout(PATIENCE_SECONDS):
        await listener.exited.wait()
    assert not process.is_alive
    with pytest.raises(AgentCrashedError):
        await process.send("hello", message_uuid=str(uuid4()))
    with pytest.raises(AgentCrashedError):
        await process.ping()
    await process.stop()
    assert listener.exits == [process]


async def test_a_process_that_is_stopped_goes_quietly(process: AgentProcess, listener: Listener) -> None:
    ended = asyncio.Event()
    process.when_ended(ended.set)
    await process.stop()
    await process.stop()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    assert not process.is_alive
    assert not listener.exits


async def test_settings_are_taken_over(process: AgentProcess) -> None:
    await process.set_model("claude-haiku-4-5")
    await process.set_permission_mode("plan")
    assert (process.model, process.permission_mode) == ("claude-haiku-4-5", "plan")
