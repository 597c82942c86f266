"""MCP servers that others have published, one in Python and one for Node, as plugins and behind the walls."""

from pathlib import Path

import pytest
from tests.plugins.runtime.conftest import Workshop
from tests.support.plugins_at_work import active, offered, put_to_work, text_of, write_plugin

from claude_sdk_pattern.plugins.plugin_set import PluginSet

pytestmark = pytest.mark.anyio

PACKAGES = Path(__file__).parents[3] / "frontend" / "node_modules"


@pytest.mark.parametrize(
    ("server", "readable", "tool", "arguments", "told"),
    [
        (
            {"command": "python3", "args": ["-m", "mcp_server_time", "--local-timezone", "Europe/Oslo"]},
            [],
            "convert_time",
            {"source_timezone": "Europe/Oslo", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            "Asia/Tokyo",
        ),
        (
            {"command": "node", "args": [f"{PACKAGES}/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]},
            [str(PACKAGES)],
            "echo",
            {"message": "hello"},
            "hello",
        ),
    ],
    ids=["python", "node"],
)
async def test_a_published_server_works_as_it_is(
    workshop: Workshop,
    tmp_path: Path,
    server: dict[str, object],
    readable: list[str],
    tool: str,
    arguments: dict[str, str],
    told: str,
) -> None:
    root = write_plugin(
        tmp_path / "published",
        {},
        type="mcp",
        capabilities={"mcp_servers": {"it": {"type": "stdio", **server}}},
        permissions={"paths": {"readable": readable}},
    )
    await put_to_work(workshop.runtime, root)
    async with offered(workshop.runtime, PluginSet.of([active(root)])) as call:
        result = await call(f"mcp__published-it__{tool}", **arguments)
        assert not result.is_error, text_of(result)
        assert told in text_of(result)
    await workshop.runtime.stopped(active(root))
