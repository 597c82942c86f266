"""A bench and what keeps a plugin active on it while somebody works on it: everything is real but the model."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.plugins_at_work import EXAMPLES, tool_plugin

from claude_sdk_pattern.workbench.bench import Bench, running_bench
from claude_sdk_pattern.workbench.developing import kept_active

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

_SAYING = """
from claude_agent_sdk import tool

@tool("say", "Say it", {{}})
async def say(arguments): return {{"content": [{{"type": "text", "text": {word!r}}}]}}
"""


@pytest.fixture(scope="module")
async def bench(anyio_backend: str) -> AsyncGenerator[Bench]:
    """One bench for the module."""
    async with running_bench() as running:
        yield running


async def test_plugin_in_work_is_put_to_work_again_and_a_broken_one_is_refused(bench: Bench, tmp_path: Path) -> None:
    root = tool_plugin(tmp_path / "speaker", _SAYING.format(word="first"))
    code = root / "speaker_tools.py"
    said: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.timeout(90), kept_active(bench.services, folder=root, config={}, say=said.put_nowait):
        assert await said.get() == "speaker 1.0.0 is active in new conversations: mcp__speaker__say"
        async with bench.chat() as old:
            assert (await old.call("mcp__speaker__say", {})).text == "first"
            code.write_text("raise RuntimeError('half written')")
            assert "half written" in await said.get()
            code.write_text(_SAYING.format(word="second"))
            assert "is active" in await said.get()
            async with bench.chat() as new:
                assert (await new.call("mcp__speaker__say", {})).text == "second"
            assert (await old.call("mcp__speaker__say", {})).text == "first"


async def test_tools_that_an_active_plugin_has_are_told_over_rest(bench: Bench) -> None:
    await bench.activate(EXAMPLES / "dice")
    (tool,) = (await bench.request("GET", "/api/v1/plugins/dice")).json()["tools"]
    assert (tool["name"], tool["is_declared"]) == ("mcp__dice__roll", True)
    assert "dice" in tool["description"].lower()
    await bench.request("POST", "/api/v1/plugins/dice/deactivate")
    assert (await bench.request("GET", "/api/v1/plugins/dice")).json()["tools"] == []


async def test_tool_that_is_never_called_says_how_the_turn_ended(bench: Bench) -> None:
    async with bench.chat() as chat:
        call = await chat.call("mcp__nobody__nothing", {})
        assert call.is_error
        assert (await chat.ask("say exactly: fine")).text == "fine"
