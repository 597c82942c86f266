"""The beginnings of plugins: one working example of each type, to be changed into what is wanted."""

import json
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.manifest import MANIFEST_VERSION, SCHEMA_URL, PluginType

_TOOLS: Final = '''"""The tools of this plugin. They run in a process of their own; see docs/plugins.md."""

from typing import Annotated, Any

from claude_agent_sdk import tool


@tool("count_words", "Count the words of a text.", {"text": Annotated[str, "The text to count"]})
async def count_words(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return how many words there are, as text that the agent reads."""
    count = len(arguments["text"].split())
    return {"content": [{"type": "text", "text": f"{count} words"}]}
'''

_SERVER: Final = '''"""An MCP server: a program that reads requests from standard input. Any MCP client can run it."""

import os

from mcp.server import MCPServer

server = MCPServer("SERVER")


@server.tool()
def greet(name: str) -> str:
    """Greet somebody the way it is configured."""
    return f"{os.environ.get('GREETING', 'Hello')}, {name}!"


if __name__ == "__main__":
    server.run("stdio")
'''

_ROUTES: Final = '''"""Routes of this plugin, below /api/v1/plugins/NAME/. Whoever calls them has to be signed in."""

from fastapi import APIRouter
from pydantic import BaseModel

router = APIRouter()


class Text(BaseModel):
    """What is sent."""

    text: str


@router.post("/count")
async def count(body: Text) -> dict[str, int]:
    """Return how many words a text has."""
    return {"words": len(body.text.split())}
'''

_SKILL: Final = """---
name: SKILL
description: Reviews a text for plain language. Use it when somebody asks for a text to be made clearer.
---

# Plain language

Read the text once without changing it. Then go through it sentence by sentence:

1. One thought in a sentence. Split those that hold more.
2. Take the common word where there is one.
3. Say who does what, in this order.

Show the new text first, and below it a list of what you changed and why.
"""


_TEST: Final = '''"""Tests of this plugin: pytest activates it on a platform of its own, with a scripted model."""

from claude_sdk_pattern.workbench.active_plugin import ActivePlugin


'''

_TOOL_TEST: Final = """def test_words_are_counted(active_plugin: ActivePlugin) -> None:
    call = active_plugin.call("count_words", text="one two three")
    assert (call.text, call.is_error) == ("3 words", False)
"""

_SERVER_TEST: Final = """def test_people_are_greeted_as_configured(active_plugin: ActivePlugin) -> None:
    assert "Hello, Ada!" in active_plugin.call("greet", name="Ada").text
"""

_ROUTES_TEST: Final = """def test_words_are_counted(active_plugin: ActivePlugin) -> None:
    answer = active_plugin.request("POST", "/count", json={"text": "one two three"})
    assert answer.json() == {"words": 3}
"""

_SKILL_TEST: Final = """def test_agents_have_the_skill(active_plugin: ActivePlugin) -> None:
    answer = active_plugin.ask('call tool Skill with {"skill": "NAME:plain-language"}')
    assert [(call.tool, call.is_error) for call in answer.calls] == [("Skill", False)]
"""


def scaffold(name: str, kind: PluginType) -> dict[str, str]:
    """Return the files of a new plugin by their paths. ``name`` has to be in kebab case."""
    module = name.replace("-", "_")
    manifest: dict[str, Any] = {
        "$schema": SCHEMA_URL,
        "manifest_version": MANIFEST_VERSION,
        "name": name,
        "version": "0.1.0",
        "description": "",
        "platform_version": ">=0.1.0",
        "type": kind,
    }
    files: dict[str, str] = {}
    match kind:
        case "tool":
            manifest["description"] = "Counts the words of a text."
            manifest["capabilities"] = {"tools": {"module": f"{module}_tools", "timeout_seconds": 10}}
            manifest["permissions"] = {"tools": [f"mcp__{name}__count_words"]}
            files[f"{module}_tools.py"] = _TOOLS
            test = _TOOL_TEST
        case "mcp":
            manifest["description"] = "Greets people through an MCP server."
            server = {
                "type": "stdio",
                "command": "python3",
                "args": ["${plugin_root}/server.py"],
                "env": {"GREETING": "${config.greeting}"},
            }
            manifest["capabilities"] = {"mcp_servers": {"greeter": server}}
            manifest["permissions"] = {"tools": [f"mcp__{name}-greeter__*"]}
            greeting = {"type": "string", "title": "Greeting", "default": "Hello"}
            manifest["config_schema"] = {"type": "object", "properties": {"greeting": greeting}}
            files["server.py"] = _SERVER.replace("SERVER", name)
            test = _SERVER_TEST
        case "skill":
            manifest["description"] = "Teaches the agent to write plainly."
            manifest["capabilities"] = {"skills": ["skills"]}
            files["skills/plain-language/SKILL.md"] = _SKILL.replace("SKILL", "plain-language")
            test = _SKILL_TEST.replace("NAME", name)
        case "endpoint":
            manifest["description"] = "Answers requests over HTTP."
            manifest["capabilities"] = {"endpoints": {"module": f"{module}_routes", "timeout_seconds": 10}}
            files[f"{module}_routes.py"] = _ROUTES.replace("NAME", name)
            test = _ROUTES_TEST
    files[f"test_{module}.py"] = _TEST + test
    files["plugin.json"] = json.dumps(manifest, indent=2) + "\n"
    return files


def write_scaffold(folder: Path, name: str, kind: PluginType) -> Path:
    """Write a new plugin into a folder named after it inside ``folder``; return that.

    Raises:
        FileExistsError: there is something of this name.
        OSError: it cannot be written.
    """
    root = folder / name
    root.mkdir(parents=True)
    for path, text in scaffold(name, kind).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root
