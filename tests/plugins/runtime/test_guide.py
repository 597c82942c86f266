"""The guide for authors: what it says to write is written, activated and asked for, with the real Claude Code."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.platform import Platform, running_platform
from tests.support.plugins_at_work import ask_and_allow

from claude_sdk_pattern.events import types as events

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

GUIDE = Path(__file__).parents[3] / "docs" / "plugin-guide.md"


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform whose folder of plugins holds what the guide has one write."""
    section = GUIDE.read_text().partition("## The first tool")[2].partition("\n## ")[0]
    files = dict(re.findall(r"^`(\S+)`\n\n```\w+\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    assert set(files) == {"weather/plugin.json", "weather/weather_tools.py"}
    for name, text in files.items():
        (tmp_path / "plugins" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "plugins" / name).write_text(text)
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, plugins_dir=tmp_path / "plugins"
    ) as running:
        yield running


async def test_the_first_tool_answers_in_the_chat(platform: Platform) -> None:
    await platform.services.plugins.activate("weather", actor="u1")
    (asked,) = re.findall(r"^`(call tool mcp__weather.*?)`", GUIDE.read_text(), re.MULTILINE)
    async with await platform.chat() as chat:
        await ask_and_allow(chat, asked)
        results = [item.event for item in chat.seen if isinstance(item.event, events.ToolResult)]
        assert "In Oslo it will be fine." in str(results[-1].content)
