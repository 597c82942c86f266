"""Subagents that are written to after they have ended: the real Claude Code, the real gateway, the scripted model."""

import re
from pathlib import Path

import pytest
from tests.support.platform import Chat, running_platform
from tests.support.plugins_at_work import call_tool

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

TOLD = "say exactly: the word is teal"


async def started(chat: Chat) -> str:
    """Have a subagent say something, and return its id."""
    ended = await call_tool(chat, "Agent", subagent_type="general-purpose", description="Say a word", prompt=TOLD)
    found = re.search(r"agentId: (\w+)", str(ended.content))
    assert found is not None
    return found[1]


async def test_subagent_goes_on_with_all_it_remembers(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, enable_subagent_resume=True) as platform,
        await platform.chat() as chat,
    ):
        agent = await started(chat)
        asked = len(platform.model.requests)
        result = await call_tool(chat, "SendMessage", to=agent, message="And another one, please", summary="Another")
        assert not result.is_error
        assert "Resumed agent" in str(result.content)
        bodies = [request.raw_body.decode() for request in platform.model.requests[asked:]]
        # The request of the subagent itself: what it was told first, and what it is told now.
        assert [TOLD in body for body in bodies if "The coordinator sent a message" in body][:1] == [True]


async def test_by_default_subagents_are_not_written_to(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as platform,
        await platform.chat() as chat,
    ):
        agent = await started(chat)
        assert all(b'"name":"SendMessage"' not in request.raw_body for request in platform.model.requests)
        result = await call_tool(chat, "SendMessage", to=agent, message="Go on", summary="Go on")
        assert result.is_error
