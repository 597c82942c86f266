"""Hooks of a plugin for every event there is, heard in the plugin's own process.

Real: Claude Code, which raises all of them but one. Scripted: the model.
"""

import json
from pathlib import Path

import pytest
from tests.support.platform import eventually, running_platform
from tests.support.plugins_at_work import activate, ask_and_allow, call_tool, write_plugin

from claude_sdk_pattern.policy.hooks import HOOK_EVENTS, HookCall

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

LISTENER = """
from claude_sdk_pattern.plugins.author import plugin

def note(data):
    with open(plugin.data / "heard.txt", "a") as file:
        file.write(data["hook_event_name"] + "\\n")
"""


async def test_every_event_that_a_manifest_can_name_reaches_its_hook(sqlite_url: str, tmp_path: Path) -> None:
    root = write_plugin(
        tmp_path / "listener",
        {"listening.py": LISTENER, "skills/hear/SKILL.md": "---\nname: hear\ndescription: Hears.\n---\nHear.\n"},
        type="skill",
        capabilities={"skills": ["skills"]},
        permissions={"events": list(HOOK_EVENTS)},
        hooks=[{"event": event, "function": "listening:note"} for event in HOOK_EVENTS],
        agents={"helper": {"description": "Helps.", "prompt": "Help."}},
    )
    heard = tmp_path / "data" / "plugin-data" / "listener" / "heard.txt"

    def missing() -> set[str]:
        return set[str](HOOK_EVENTS) - set(heard.read_text().split() if heard.exists() else ())

    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as platform:
        await activate(platform, root)
        async with await platform.chat(permission_mode="default") as chat:
            assert (await call_tool(chat, "Bash", command="false")).is_error
            await call_tool(chat, "Write", file_path="a.txt", content="x")
            helper = {"subagent_type": "listener:helper", "description": "Help", "prompt": "say exactly: helped"}
            await ask_and_allow(chat, f"call tool Agent with {json.dumps(helper)}")
            await chat.ask("/compact")
            # Ends one conversation of Claude Code's and begins another.
            await chat.ask("/clear")
            process = chat.conversation.process
            assert process is not None
            # The one that Claude Code raises from its terminal only.
            await process.run_hook(HookCall(event="Notification", data={"hook_event_name": "Notification"}))

        async def all_are_there() -> bool:
            return not missing()

        try:
            await eventually(all_are_there, seconds=10)
        except TimeoutError:
            pytest.fail(f"nobody heard of {sorted(missing())}")
