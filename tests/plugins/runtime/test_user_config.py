"""``userConfig`` of Claude Code's format: asked for like any configuration, and handed to the plugin's parts.

Real: Claude Code behind its walls, which runs the hook and the server and fills in the command, and the scripted model.
"""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.support.platform import Chat, Platform, eventually, running_platform
from tests.support.plugins import write_files
from tests.support.plugins_at_work import activate, call_tool

from claude_sdk_pattern.plugins.errors import ActivationError, InvalidConfigError
from claude_sdk_pattern.plugins.user_config import config_schema

pytestmark = pytest.mark.anyio

ASKED: dict[str, Any] = {
    "greeting": {"type": "string", "title": "Greeting", "description": "What to say", "required": True},
    "level": {"type": "number", "title": "Level", "description": "How loud", "default": 3, "min": 1, "max": 9},
    "polite": {"type": "boolean", "title": "Polite", "description": "With please", "default": True},
    "places": {"type": "string", "title": "Places", "description": "Where", "multiple": True},
    "tone": {"type": "string", "title": "T", "description": "t", "options": ["dry", "warm"], "default": "dry"},
    "token": {"type": "string", "title": "Token", "description": "Of the service", "sensitive": True},
}

# A server needs nothing but a Python: it answers what its arguments and its environment were.
SERVER = """
import json, os, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    told = json.dumps({"args": sys.argv[1:], "level": os.environ.get("LEVEL"), "token": os.environ.get("TOKEN")})
    result = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}
        },
        "tools/list": {"tools": [{"name": "told", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": told}]},
    }.get(call["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform without a pool."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as running:
        yield running


def greeter(root: Path, **server: Any) -> Path:
    """Write a plugin that uses its options in a hook, a command and a server."""
    script = '#!/bin/sh\necho "options: $CLAUDE_PLUGIN_OPTION_GREETING $CLAUDE_PLUGIN_OPTION_PLACES"\n'
    hook = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/start.sh"'}
    started = {
        "command": "python3",
        "args": ["${CLAUDE_PLUGIN_ROOT}/server.py", "${user_config.greeting}"],
        "env": {"LEVEL": "${user_config.level}"},
        **server,
    }
    files = {
        ".claude-plugin/plugin.json": json.dumps(
            {"name": root.name, "userConfig": ASKED, "mcpServers": {"told": started}}
        ),
        "hooks/hooks.json": json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}),
        "start.sh": script,
        "server.py": SERVER,
        "commands/greet.md": "---\ndescription: Greet\n---\n"
        "say exactly: ${user_config.greeting} at ${user_config.level}\n",
    }
    write_files(root, files)
    (root / "start.sh").chmod(0o755)
    return root


async def told_to_server(chat: Chat) -> dict[str, Any]:
    """Return what the plugin's server says it was started with, once it is there."""

    async def is_there() -> bool:
        process = chat.conversation.process
        assert process is not None
        states = (await process.mcp_status())["mcpServers"]
        return [(one["name"], one["status"]) for one in states] == [("plugin:greeter:told", "connected")]

    await eventually(is_there)
    content = (await call_tool(chat, "mcp__plugin_greeter_told__told")).content
    assert isinstance(content, list)
    return json.loads(content[0]["text"])


@pytest.mark.cli
async def test_values_reach_hooks_commands_and_servers(platform: Platform, tmp_path: Path) -> None:
    config = {"greeting": "good day", "level": 7, "places": ["here", "there"]}
    await activate(platform, greeter(tmp_path / "greeter"), config=config)
    async with await platform.chat() as chat:
        assert (await chat.ask("/greeter:greet"))[0] == "good day at 7"
        assert any(b"options: good day here,there" in request.raw_body for request in platform.model.requests)

        assert await told_to_server(chat) == {"args": ["good day"], "level": "7", "token": None}
    # What is asked next time is what holds next time.
    await platform.services.plugins.configure("greeter", config | {"greeting": "hello"}, actor="u1")
    async with await platform.chat() as chat:
        assert (await chat.ask("/greeter:greet"))[0] == "hello at 7"


@pytest.mark.cli
async def test_what_is_required_has_to_be_said_and_has_to_fit(platform: Platform, tmp_path: Path) -> None:
    registry = platform.services.plugins
    root = greeter(tmp_path / "greeter")
    await registry.install_folder(root, actor="u1", source="upload", origin="x")
    with pytest.raises(InvalidConfigError, match="greeting"):
        await registry.activate("greeter", actor="u1")
    for wrong in ({"level": 10}, {"tone": "loud"}, {"places": "here"}, {"polite": "yes"}, {"other": 1}):
        with pytest.raises(InvalidConfigError):
            await registry.configure("greeter", {"greeting": "hi", **wrong}, actor="u1")
    await registry.configure("greeter", {"greeting": "hi" * 40_000}, actor="u1")
    with pytest.raises(ActivationError, match="configuration has more than"):
        await registry.activate("greeter", actor="u1")


@pytest.mark.cli
async def test_a_secret_is_neither_asked_for_nor_handed_to_anything(platform: Platform, tmp_path: Path) -> None:
    root = greeter(tmp_path / "greeter", env={"TOKEN": "${user_config.token}"})
    registry = platform.services.plugins
    await registry.install_folder(root, actor="u1", source="upload", origin="x")
    warnings = (await registry.find("greeter")).record.warnings
    assert [one.path for one in warnings if "secret" in one.message] == ["userConfig.token"]
    assert "token" not in (await registry.read_config("greeter")).schema["properties"]
    with pytest.raises(InvalidConfigError):
        await registry.configure("greeter", {"greeting": "hi", "token": "canary-token"}, actor="u1")
    await registry.configure("greeter", {"greeting": "hi"}, actor="u1")
    await registry.activate("greeter", actor="u1")
    async with await platform.chat() as chat:
        assert (await chat.ask("/greeter:greet"))[0] == "hi at 3"
        assert (await told_to_server(chat))["token"] == ""


def test_fields_become_properties_of_a_schema() -> None:
    schema = config_schema(ASKED | {"folder": {"type": "directory"}, "odd": "no field"})
    assert schema["required"] == ["greeting"]
    assert schema["properties"] == {
        "greeting": {"type": "string", "title": "Greeting", "description": "What to say"},
        "level": {
            "type": "number",
            "title": "Level",
            "description": "How loud",
            "default": 3,
            "minimum": 1,
            "maximum": 9,
        },
        "polite": {"type": "boolean", "title": "Polite", "description": "With please", "default": True},
        "places": {"type": "array", "items": {"type": "string"}, "title": "Places", "description": "Where"},
        "tone": {"type": "string", "title": "T", "description": "t", "enum": ["dry", "warm"], "default": "dry"},
        "folder": {"type": "string"},
    }
    assert config_schema(None) == {}
