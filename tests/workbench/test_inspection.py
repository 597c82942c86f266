"""What a plugin turns out to be when it is activated for a moment: real processes, real Claude Code."""

import json
from pathlib import Path

import pytest
from tests.support.plugins_at_work import tool_plugin, write_plugin

from claude_sdk_pattern.plugins.errors import ActivationError, InvalidConfigError
from claude_sdk_pattern.workbench.inspection import inspect

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

_SERVER = "import time\ntime.sleep(3600)\n"

_ONE_TOOL = """
from claude_agent_sdk import tool

@tool("seen", "Be seen", {})
async def seen(arguments): return {"content": []}

@tool("hidden", "Be hidden", {})
async def hidden(arguments): return {"content": []}
"""


async def test_tools_are_named_as_agents_see_them_and_those_not_declared_are_told(tmp_path: Path) -> None:
    root = write_plugin(
        tmp_path / "two",
        {"two_tools.py": _ONE_TOOL},
        type="tool",
        capabilities={"tools": {"module": "two_tools"}},
        permissions={"tools": ["mcp__two__seen"], "hosts": ["example.org"]},
    )
    found = json.loads(json.dumps((await inspect(root, {})).as_json()))
    assert [(tool["name"], tool["is_declared"]) for tool in found["tools"]] == [
        ("mcp__two__hidden", False),
        ("mcp__two__seen", True),
    ]
    assert found["permissions"]["hosts"] == ["example.org"]
    assert (found["trouble"], found["inventory"]["has_tools"]) == (None, True)


async def test_server_that_claude_code_starts_tells_its_tools_too(tmp_path: Path) -> None:
    server = {"command": "/usr/bin/python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}
    root = tmp_path / "native"
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "native", "version": "1.0.0"}))
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"echo": server}}))
    (root / "server.py").write_text(_ECHO)
    found = await inspect(root, {})
    assert [tool.name for tool in found.tools] == ["mcp__plugin_native_echo__echo"]


_ECHO = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}]},
    }
    if request.get("method") in results:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize(
    ("code", "start_seconds", "said"),
    [
        ("raise RuntimeError('no such luck')", 60, "no such luck"),
        ("import os; os._exit(3)", 60, "it ended"),
        ("while True: pass", 3, "did not answer within 3 s"),
    ],
)
async def test_python_that_cannot_be_imported_is_told_within_a_bound(
    tmp_path: Path, code: str, start_seconds: float, said: str
) -> None:
    with pytest.raises(ActivationError, match=said):
        await inspect(tool_plugin(tmp_path / "bad", code), {}, start_seconds=start_seconds)


async def test_server_that_does_not_answer_is_told_within_a_bound(tmp_path: Path) -> None:
    server = {"type": "stdio", "command": "python3", "args": ["${plugin_root}/server.py"]}
    root = write_plugin(
        tmp_path / "mute", {"server.py": _SERVER}, type="mcp", capabilities={"mcp_servers": {"wall": server}}
    )
    with pytest.raises(ActivationError, match="mute-wall did not start: it did not answer within 3 s"):
        await inspect(root, {}, start_seconds=3)


async def test_configuration_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    root = tool_plugin(tmp_path / "asking", _ONE_TOOL)
    manifest = json.loads((root / "plugin.json").read_text())
    (root / "plugin.json").write_text(json.dumps(manifest | {"config_schema": schema}))
    with pytest.raises(InvalidConfigError, match="city: has to be set"):
        await inspect(root, {})
    assert len((await inspect(root, {"city": "Oslo"})).tools) == 2
