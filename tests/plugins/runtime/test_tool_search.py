"""Tool search: with many tools of plugins the model is told of names only, and looks up those it needs.

Real: Claude Code, the gateway, the plugins. Scripted: the model.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.support.platform import Platform, running_platform
from tests.support.plugins_at_work import activate, call_tool, tool_plugin

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

TOOLS = """
from claude_agent_sdk import tool

def made(number):
    @tool(f"tool_{number}", f"Does thing number {number}", {"what": str})
    async def run(arguments): return {"content": [{"type": "text", "text": f"did {number}"}]}
    return run

"""


def tools(folder: Path, count: int) -> Path:
    """Write a plugin with so many tools."""
    return tool_plugin(folder / "many", TOOLS + "\n".join(f"t{n} = made({n})" for n in range(count)))


def offered(platform: Platform) -> list[dict[str, Any]]:
    """Return the plugin's tools that the model was given in full."""
    body = next(request.body for request in reversed(platform.model.requests) if "tools" in request.body)
    mine = [tool for tool in body["tools"] if tool["name"].startswith("mcp__many__")]
    return [tool for tool in mine if not tool.get("defer_loading")]


@pytest.mark.parametrize("count", [5, 12])
async def test_from_a_number_of_tools_on_they_are_looked_up(sqlite_url: str, tmp_path: Path, count: int) -> None:
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, tool_search_min_tools=12
    ) as platform:
        await activate(platform, tools(tmp_path, count))
        async with await platform.chat() as chat:
            await chat.ask("hello")
            assert len(offered(platform)) == (5 if count == 5 else 0)
            # Either way it can be called.
            called = await call_tool(chat, "mcp__many__tool_3", what="x")
            assert "did 3" in str(called.content)
