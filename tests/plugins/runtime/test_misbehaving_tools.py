"""Tools that misbehave cost their own call and nothing else. Real processes of plugins; no agent is needed for it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.plugins.runtime.conftest import Workshop
from tests.support.platform import eventually
from tests.support.plugins_at_work import active, offered, put_to_work, text_of, tool_plugin

from claude_sdk_pattern.isolation.kinds import Isolation
from claude_sdk_pattern.plugins.errors import ActivationError
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.plugins.runtime.plugin_at_work import PluginAtWork
from claude_sdk_pattern.plugins.runtime.server_connection import ServerState

pytestmark = pytest.mark.anyio

TOOLS = """
import asyncio, ctypes, os, sys, time
from claude_agent_sdk import tool

def text(words): return {"content": [{"type": "text", "text": words}]}

@tool("greet", "Greet", {"name": str})
async def greet(arguments): return text("hello " + arguments["name"])

@tool("block", "Block for ever", {})
async def block(arguments):
    while True: pass

@tool("wait", "Wait for ever", {})
async def wait(arguments): await asyncio.Event().wait()

@tool("exit", "End the process", {})
async def exit(arguments): os._exit(1)

@tool("leave", "Raise SystemExit", {})
async def leave(arguments): sys.exit(3)

@tool("fail", "Raise", {})
async def fail(arguments): raise ValueError("no such luck")

@tool("segfault", "Read where nothing is", {})
async def segfault(arguments): ctypes.string_at(0)

@tool("hoard", "Eat memory", {})
async def hoard(arguments): return text(str(len(bytearray(2 << 30))))

@tool("fork", "Start processes until it cannot", {})
async def fork(arguments):
    count = 0
    try:
        while count < 1000:
            if os.fork() == 0: time.sleep(1000); os._exit(0)
            count += 1
    except OSError:
        pass
    return text(str(count))

@tool("write", "Write a large file", {})
async def write(arguments):
    with open("large", "wb") as file:
        file.write(b"x" * (8 << 20))
    return text("written")

@tool("flood", "Print a lot", {})
async def flood(arguments):
    for _ in range(100_000): os.write(1, b"flood" * 20 + b"\\n")
    return text("done")

@tool("large", "Return 20 MB", {})
async def large(arguments): return text("x" * 20_000_000)
"""


@pytest.fixture(scope="module")
async def plugins(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[PluginSet]:
    root = tool_plugin(tmp_path_factory.mktemp("plugins") / "unruly", TOOLS, timeout_seconds=2, memory_mb=256)
    await put_to_work(workshop.runtime, root)
    yield PluginSet.of([active(root)])
    await workshop.runtime.stopped(active(root))


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("fail", "no such luck"),
        ("leave", "wanted to exit"),
        ("hoard", "not enough memory"),
        ("large", "the limit is 65536"),
        ("nothing", "no tool nothing"),
    ],
)
async def test_a_tool_that_fails_tells_the_agent_and_its_process_lives_on(
    workshop: Workshop, plugins: PluginSet, tool: str, told: str
) -> None:
    failures: list[ToolFailure] = []
    async with offered(workshop.runtime, plugins, failures) as call:
        result = await call(f"mcp__unruly__{tool}")
        assert result.is_error
        assert told in text_of(result)
        assert text_of(await call("mcp__unruly__greet", name="you")) == "hello you"
    assert failures == [], "what a tool says itself is no failure of the plugin"


@pytest.mark.parametrize(
    ("tool", "told"),
    [("block", "within 2 s"), ("wait", "within 2 s"), ("exit", "ended"), ("segfault", "ended")],
)
async def test_a_tool_that_does_not_answer_costs_its_call_and_the_next_one_is_answered(
    workshop: Workshop, plugins: PluginSet, tool: str, told: str
) -> None:
    failures: list[ToolFailure] = []
    async with offered(workshop.runtime, plugins, failures) as call:
        result = await call(f"mcp__unruly__{tool}")
        assert result.is_error
        assert told in text_of(result)
        assert [(failure.plugin, failure.tool) for failure in failures] == [("unruly", f"mcp__unruly__{tool}")]
        # Waits for the process that takes the place of one that is gone.
        assert text_of(await call("mcp__unruly__greet", name="you")) == "hello you"
    assert workshop.runtime.active.names >= {"unruly"}


async def test_processes_and_files_are_limited(workshop: Workshop, plugins: PluginSet, isolation: Isolation) -> None:
    async with offered(workshop.runtime, plugins) as call:
        assert (await call("mcp__unruly__write")).is_error
        if isolation is Isolation.BUBBLEWRAP:
            assert int(text_of(await call("mcp__unruly__fork"))) < 128
        # What it has started may have used up what it may have: it is brought back by ending all of it.
        await call("mcp__unruly__exit")
        assert text_of(await call("mcp__unruly__greet", name="you")) == "hello you"


async def test_what_a_tool_prints_is_no_answer(workshop: Workshop, plugins: PluginSet) -> None:
    async with offered(workshop.runtime, plugins) as call:
        assert text_of(await call("mcp__unruly__flood")) == "done"


async def test_a_crash_is_reported_until_the_plugin_is_back(workshop: Workshop, plugins: PluginSet) -> None:
    workshop.watched.health.clear()
    async with offered(workshop.runtime, plugins) as call:
        await call("mcp__unruly__exit")
        await call("mcp__unruly__greet", name="you")
    problems = [problem for name, problem in workshop.watched.health if name == "unruly"]
    assert problems[0] is not None
    assert problems[-1] is None


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('not today')", "RuntimeError: not today"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("import os; os._exit(0)", "it ended"),
        ("x = 1", "has no function with @tool"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
    ],
    ids=["raises", "exits", "ends", "empty", "missing"],
)
async def test_a_module_that_cannot_be_loaded_is_told_with_the_reason(
    workshop: Workshop, tmp_path: Path, code: str, told: str
) -> None:
    root = tool_plugin(tmp_path / "broken", code)
    with pytest.raises(ActivationError, match="broken") as refused:
        await workshop.runtime.started(active(root))
    assert told in str(refused.value)
    assert "broken" not in workshop.runtime.active.names


async def test_a_plugin_that_is_stopped_goes_on_for_those_who_use_it(workshop: Workshop, tmp_path: Path) -> None:
    root = tool_plugin(tmp_path / "leaving", TOOLS)
    await put_to_work(workshop.runtime, root)
    plugins = PluginSet.of([active(root)])
    at_work = workshop.runtime.parts_of("leaving")
    assert at_work is not None
    async with offered(workshop.runtime, plugins) as call:
        await workshop.runtime.stopped(active(root))
        assert "leaving" not in workshop.runtime.active.names
        assert text_of(await call("mcp__leaving__greet", name="you")) == "hello you"
    await eventually(lambda: _is_closed(at_work))


async def _is_closed(at_work: PluginAtWork) -> bool:
    return all(server.state is ServerState.CLOSED for server in at_work.servers.values())
