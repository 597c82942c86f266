"""Active plugins in sessions: the real Claude Code, the real gateway, the scripted model, real plugin processes."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.support.platform import Chat, Platform, eventually, running_platform
from tests.support.plugins import SKILL
from tests.support.plugins_at_work import EXAMPLES, activate, ask_and_allow, call_tool, tool_plugin, write_plugin

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.plugins.errors import ActivationError, UnknownPluginError

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform without a pool: each session starts its own process, with the plugins that are active then."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as running:
        yield running


async def servers_of(chat: Chat) -> set[str]:
    """Return the names of the MCP servers that Claude Code knows."""
    process = chat.conversation.process
    assert process is not None
    return {server["name"] for server in (await process.mcp_status())["mcpServers"]}


def seen(chat: Chat, kind: type[events.Event]) -> list[Any]:
    return [item.event for item in chat.seen if isinstance(item.event, kind)]


async def test_the_examples_bring_tools_servers_skills_agents_and_hooks(platform: Platform) -> None:
    names = ("dice", "notes", "plain-english", "house-rules", "changelog")
    await activate(platform, *(EXAMPLES / name for name in names))
    async with await platform.chat() as chat:
        rolled = await call_tool(chat, "mcp__dice__roll", count=2, sides=6)
        assert not rolled.is_error
        assert " = " in str(rolled.content)
        used = seen(chat, events.ToolUse)
        assert [(use.tool, use.plugin) for use in used] == [("mcp__dice__roll", "dice")]
        await call_tool(chat, "mcp__notes-book__add_note", text="water the plants")
        read = await call_tool(chat, "mcp__notes-book__read_notes")
        # Structured content comes as one text, by which the page tells an app what it was.
        assert "water the plants" in json.loads(str(read.content))["result"]
        # A security hook denies, in the plugin's own process; another writes down what was used.
        await ask_and_allow(chat, 'call tool Write with {"file_path": "a.locked", "content": "x"}')
        assert not (chat.workspace / "a.locked").exists()
        assert "locked are left as they are" in str(seen(chat, events.ToolResult)[-1].content)
        written = platform.data_dir / "plugin-data" / "house-rules" / "tools.txt"
        await eventually(lambda: _holds(written, "mcp__notes-book__read_notes"))
        # Nothing is missing of what Claude Code itself says it has loaded.
        assert not [notice for notice in seen(chat, events.Notice) if notice.code == "plugin_not_loaded"]
        skill = await call_tool(chat, "Skill", skill="plain-english:plain-english")
        assert not skill.is_error, skill.content
        style = await call_tool(chat, "Skill", skill="changelog:changelog-style")
        assert not style.is_error, style.content
        started = await ask_and_allow(
            chat,
            "call tool Agent with "
            + json.dumps(
                {"subagent_type": "house-rules:reviewer", "description": "Review", "prompt": "say exactly: reviewed"}
            ),
        )
        assert started[1].subtype == "success"
        agents = seen(chat, events.AgentStart)
        assert [agent.agent_type for agent in agents] == ["house-rules:reviewer"]
        assert "reviewed" in str(seen(chat, events.ToolResult)[-1].content)


async def _holds(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


UNRULY = """
import os
from claude_agent_sdk import tool

@tool("crash", "End the process", {})
async def crash(arguments): os._exit(1)

@tool("greet", "Greet", {})
async def greet(arguments): return {"content": [{"type": "text", "text": "hello there"}]}
"""


async def test_a_crash_is_told_with_the_plugins_name_and_the_session_goes_on(
    platform: Platform, tmp_path: Path
) -> None:
    await activate(platform, tool_plugin(tmp_path / "unruly", UNRULY))
    async with await platform.chat() as chat:
        result = await call_tool(chat, "mcp__unruly__crash")
        assert result.is_error
        (error,) = seen(chat, events.ToolError)
        assert (error.tool, error.plugin) == ("mcp__unruly__crash", "unruly")
        assert "hello there" in str((await call_tool(chat, "mcp__unruly__greet")).content)


async def test_a_tool_that_the_plugin_does_not_declare_is_refused(platform: Platform, tmp_path: Path) -> None:
    root = write_plugin(
        tmp_path / "sneaky",
        {"sneaky_tools.py": UNRULY},
        type="tool",
        capabilities={"tools": {"module": "sneaky_tools"}},
        permissions={"tools": ["mcp__sneaky__crash", "mcp__*", "*"]},
    )
    await activate(platform, root)
    async with await platform.chat() as chat:
        result = await call_tool(chat, "mcp__sneaky__greet")
        assert result.is_error
        assert "tools.undeclared" in str(result.content)


async def test_agents_have_the_folders_and_variables_of_a_plugin(platform: Platform) -> None:
    await activate(platform, EXAMPLES / "house-rules", config={"contact": "the night shift"})
    async with await platform.chat() as chat:
        await ask_and_allow(chat, "run bash: echo ask $HOUSE_RULES_CONTACT")
        assert str(seen(chat, events.ToolResult)[-1].content).startswith("ask the night shift")
        process = chat.conversation.process
        assert process is not None
        (handbook,) = process.offer.readable
        assert (handbook.name, str(handbook) in str(platform.model.requests[-1].body)) == ("handbook", True)
        read = await call_tool(chat, "Read", file_path=str(handbook / "names.md"))
        assert "quarterly-report.md" in str(read.content)
        await ask_and_allow(
            chat, "call tool Write with " + json.dumps({"file_path": str(handbook / "new.md"), "content": "x"})
        )
        assert seen(chat, events.ToolResult)[-1].is_error
        assert not (handbook / "new.md").exists()
    # Turned off for a session, it sets nothing; its hook stays.
    await platform.services.plugins.deactivate("house-rules", actor="u1")
    async with await platform.chat() as chat:
        await ask_and_allow(chat, "run bash: echo ask ${HOUSE_RULES_CONTACT:-nobody}")
        assert str(seen(chat, events.ToolResult)[-1].content).startswith("ask nobody")


async def test_a_folder_of_a_plugin_is_read_and_not_obeyed(platform: Platform, tmp_path: Path) -> None:
    """Instructions, settings and skills that lie in a folder for reading are files, and nothing nobody agreed to."""
    touch = {"type": "command", "command": "touch planted"}
    settings = {"env": {"PLANTED": "yes"}, "hooks": {"UserPromptSubmit": [{"hooks": [touch]}]}}
    root = write_plugin(
        tmp_path / "shelf",
        {
            "SKILL.md": SKILL,
            "reference.md": "Beside the skill.",
            "books/CLAUDE.md": "Planted instructions.",
            "books/.claude/settings.json": json.dumps(settings),
            "books/.claude/skills/planted-skill/SKILL.md": SKILL.replace("name: ", "name: planted-"),
            "books/.mcp.json": '{"mcpServers": {"planted": {"command": "/bin/sleep"}}}',
        },
        type="skill",
        capabilities={"skills": ["."], "folders": ["books"]},
    )
    await activate(platform, root)
    async with await platform.chat() as chat:
        await ask_and_allow(chat, "run bash: echo is ${PLANTED:-not planted}")
        assert str(seen(chat, events.ToolResult)[-1].content).startswith("is not planted")
        assert not any("planted" in path.name for path in chat.workspace.iterdir())
        process = chat.conversation.process
        assert process is not None
        (books,) = process.offer.readable
        assert (books / "CLAUDE.md").is_file()
        asked = str(platform.model.requests[-1].body)
        assert "Planted instructions" not in asked
        assert "planted-skill" not in asked
        assert "planted" not in await servers_of(chat)
        # What a skill tells the agent to read.
        (reference,) = process.offer.folders["shelf"].glob("skills/*/reference.md")
        before = len(seen(chat, events.PermissionRequest))
        assert "Beside the skill." in str((await call_tool(chat, "Read", file_path=str(reference))).content)
        assert len(seen(chat, events.PermissionRequest)) == before, "nobody is asked about what the operator added"
        refused = await call_tool(chat, "Read", file_path=str(reference.parents[3].parent / "other" / "x"))
        assert "files.outside-session" in str(refused.content)


async def test_a_variable_has_one_plugin_that_sets_it_and_a_value_that_fits(platform: Platform, tmp_path: Path) -> None:
    def setting(name: str, value: str) -> Path:
        return write_plugin(
            tmp_path / name,
            {"SKILL.md": SKILL},
            type="skill",
            capabilities={"skills": ["."], "environment": {"REGION": value}},
            permissions={"environment": ["REGION"]},
            config_schema={"type": "object", "properties": {"region": {"type": "string", "default": "north"}}},
        )

    await activate(platform, setting("first", "${config.region}"))
    with pytest.raises(ActivationError, match="The variable REGION is set by the plugin first"):
        await activate(platform, setting("second", "south"))
    for region in ("no\0rth", "n" * 20_000):
        with pytest.raises(ActivationError, match="The variable REGION would have"):
            await platform.services.plugins.configure("first", {"region": region}, actor="u1")
    await platform.services.plugins.configure("first", {"region": "east"}, actor="u1")
    async with await platform.chat() as chat:
        await ask_and_allow(chat, "run bash: echo in the $REGION")
        assert str(seen(chat, events.ToolResult)[-1].content).startswith("in the east")


async def test_a_plugin_is_turned_off_for_one_session_from_its_next_process_on(platform: Platform) -> None:
    await activate(platform, EXAMPLES / "dice", EXAMPLES / "house-rules")
    async with await platform.chat(plugins=["dice"]) as chat:
        assert not (await call_tool(chat, "mcp__dice__roll", count=1, sides=6)).is_error
        before = chat.conversation.process
        assert before is not None
        # The one with a security hook guards every session, whatever it was made with.
        assert before.plugins.names == {"dice", "house-rules"}
        for plugin in ("dice", "house-rules"):
            await chat.conversation.configure_plugin(plugin, enabled=False, actor="user:u1")
        told = [event.plugins for event in seen(chat, events.SessionUpdated) if event.plugins]
        result = await call_tool(chat, "mcp__dice__roll", count=1, sides=6)
        assert result.is_error
        told = [event.plugins for event in seen(chat, events.SessionUpdated) if event.plugins]
        assert told == [{"dice": False}, {"house-rules": False}]
        after = chat.conversation.process
        assert after is not None
        assert after.plugins.names == {"house-rules"}
        with pytest.raises(UnknownPluginError):
            await chat.conversation.configure_plugin("nobody", enabled=True, actor="user:u1")
    async with await platform.watch(chat.session_id) as again:
        assert again.conversation.session.plugins.switched == {"dice": False, "house-rules": False}


async def test_a_session_keeps_the_plugins_it_has_and_the_next_gets_the_new_ones(
    platform: Platform, tmp_path: Path
) -> None:
    root = tool_plugin(tmp_path / "changing", UNRULY)
    await activate(platform, root)
    async with await platform.chat() as old, await platform.chat() as new:
        assert "hello there" in str((await call_tool(old, "mcp__changing__greet")).content)
        (root / "changing_tools.py").write_text(UNRULY.replace("hello there", "good evening"))
        await activate(platform, root)
        assert "hello there" in str((await call_tool(old, "mcp__changing__greet")).content)
        assert "good evening" in str((await call_tool(new, "mcp__changing__greet")).content)


async def test_what_claude_code_could_not_load_is_shown_and_marks_the_plugin(
    platform: Platform, tmp_path: Path
) -> None:
    root = tmp_path / "odd"
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin" / "plugin.json").write_text('{"name": "odd", "version": "1.0.0"}')
    (root / ".mcp.json").write_text('{"mcpServers": {"gone": {"command": "/no/such/program"}}}')
    await activate(platform, root)
    async with await platform.chat() as chat:
        await chat.ask("say exactly: hello")
        await chat.ask("say exactly: hello again")
        (notice,) = [event for event in seen(chat, events.Notice) if event.code == "plugin_not_loaded"]
        assert "plugin:odd:gone is failed" in notice.message
        # Where Claude Code starts servers of plugins, those that a workspace names are none of them.
        (chat.workspace / ".mcp.json").write_text('{"mcpServers": {"planted": {"command": "/bin/sleep"}}}')
        await chat.fall_asleep()
        await chat.ask("say exactly: and again")
        (_, notice) = [event for event in seen(chat, events.Notice) if event.code == "plugin_not_loaded"]
        assert "planted" not in notice.message
        assert "planted" not in await servers_of(chat)
