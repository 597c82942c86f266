"""Plugins in the shapes in which public ones of Claude Code come, written anew: they load, run and answer unchanged.

Real: Claude Code behind its walls, which runs the hooks, commands and scripts itself, and the scripted model.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.platform import Platform, running_platform
from tests.support.plugins import write_files
from tests.support.plugins_at_work import activate, ask_and_allow, call_tool

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.plugins.runtime.init_report import problems_in
from claude_sdk_pattern.plugins.runtime.offer import Offer
from claude_sdk_pattern.sessions import agent_process

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform without a pool: each session starts its own process, with the plugins that are active then."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as running:
        yield running


def public_plugin(root: Path, files: dict[str, str], **manifest: Any) -> Path:
    """Write a plugin of Claude Code's format, called like its folder; scripts can be executed."""
    write_files(root, {".claude-plugin/plugin.json": json.dumps({"name": root.name, **manifest}), **files})
    for script in (path for path in files if path.endswith((".sh", ".py"))):
        (root / script).chmod(0o755)
    return root


def hooks(**commands: str) -> str:
    """Return a ``hooks.json`` that runs a command for each event."""
    found = {event: [{"hooks": [{"type": "command", "command": told}]}] for event, told in commands.items()}
    return json.dumps({"description": "Hooks", "hooks": found})


def told(platform: Platform) -> str:
    """Return all that the model was sent."""
    return " ".join(request.raw_body.decode() for request in platform.model.requests)


@pytest.fixture
def inits(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """What Claude Code says it has, from each time that is compared with what it was given."""
    found: list[Mapping[str, Any]] = []

    def compared(offer: Offer, init: Mapping[str, Any]) -> dict[str, str]:
        found.append(init)
        return problems_in(offer, init)

    monkeypatch.setattr(agent_process, "problems_in", compared)
    return found


def of_plugins(init: Mapping[str, Any], kind: str) -> set[str]:
    """Return the names of one kind that plugins have brought."""
    return {name for name in init[kind] if ":" in name}


RULES = """
import json, os, sys
sys.path.insert(0, os.path.dirname(os.environ["CLAUDE_PLUGIN_ROOT"]))
from careful.core.words import FORBIDDEN
call = json.load(sys.stdin)
if FORBIDDEN in call["tool_input"].get("command", ""):
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    print(json.dumps({"hookSpecificOutput": answer, "systemMessage": "careful: not this one"}))
"""


async def test_hook_imports_its_modules_by_the_name_of_the_plugins_folder(platform: Platform, tmp_path: Path) -> None:
    root = public_plugin(
        tmp_path / "careful",
        {
            "hooks/hooks.json": hooks(PreToolUse="python3 ${CLAUDE_PLUGIN_ROOT}/hooks/before.py"),
            "hooks/before.py": RULES,
            "core/__init__.py": "",
            "core/words.py": "FORBIDDEN = 'rm -rf'\n",
        },
    )
    await activate(platform, root)
    async with await platform.chat() as chat:
        denied = await call_tool(chat, "Bash", command="rm -rf everything")
        assert denied.is_error
        assert "Blocked by hook" in str(denied.content)
        assert not (await call_tool(chat, "Bash", command="echo fine")).is_error


REMINDER = """
import json, os, sys
call = json.load(sys.stdin)
state = os.path.expanduser("~/.claude/reminded_" + call["session_id"])
if "eval(" in call["tool_input"].get("content", "") and not os.path.exists(state):
    os.makedirs(os.path.dirname(state), exist_ok=True)
    open(state, "w").close()
    open("/tmp/reminders.log", "a").write("reminded\\n")
    print("think about eval first", file=sys.stderr)
    sys.exit(2)
"""


async def test_hook_keeps_its_state_at_home_and_objects_once(platform: Platform, tmp_path: Path) -> None:
    command = "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/remind.py"
    root = public_plugin(
        tmp_path / "reminder", {"hooks/hooks.json": hooks(PreToolUse=command), "hooks/remind.py": REMINDER}
    )
    await activate(platform, root)
    async with await platform.chat() as chat:
        first = await call_tool(chat, "Write", file_path="a.py", content="eval(x)")
        assert first.is_error
        assert "think about eval first" in str(first.content)
        assert not (await call_tool(chat, "Write", file_path="a.py", content="eval(x)")).is_error
        assert (chat.workspace / "a.py").read_text() == "eval(x)"


async def test_hooks_at_the_start_of_a_session_tell_the_model_something(platform: Platform, tmp_path: Path) -> None:
    context = {"hookEventName": "SessionStart", "additionalContext": "Explain as you go: teal"}
    said = json.dumps({"hookSpecificOutput": context})
    for name, script in (("plain", "echo 'Explain as you go: ochre'"), ("as-json", f"cat << 'EOF'\n{said}\nEOF")):
        command = '"${CLAUDE_PLUGIN_ROOT}/handlers/start.sh"'
        files = {
            "hooks/hooks.json": hooks(SessionStart=command),
            "handlers/start.sh": f"#!/usr/bin/env bash\n{script}\n",
        }
        await activate(platform, public_plugin(tmp_path / name, files))
    async with await platform.chat() as chat:
        await chat.ask("say exactly: hello")
        assert "Explain as you go: ochre" in told(platform)
        assert "Explain as you go: teal" in told(platform)


BEGIN = """#!/bin/bash
set -euo pipefail
mkdir -p .claude
printf '%s' "$*" > .claude/again.local.md
echo "Again and again: $*"
"""

AGAIN = """#!/bin/bash
set -euo pipefail
file=.claude/again.local.md
[[ -f "$file" ]] || exit 0
transcript=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["transcript_path"])')
grep -q '"role":"assistant"' "$transcript"
prompt=$(cat "$file")
rm "$file"
printf '{"decision": "block", "reason": "%s"}' "$prompt"
"""


async def test_command_runs_a_script_first_and_a_stop_hook_lets_the_agent_go_on(
    platform: Platform, tmp_path: Path
) -> None:
    root = public_plugin(
        tmp_path / "again",
        {
            "commands/begin.md": '---\ndescription: "Do it again"\nargument-hint: "PROMPT"\n'
            'allowed-tools: ["Bash(${CLAUDE_PLUGIN_ROOT}/scripts/begin.sh:*)"]\n---\n\n```!\n'
            '"${CLAUDE_PLUGIN_ROOT}/scripts/begin.sh" $ARGUMENTS\n```\n\nWork on it.\n',
            "scripts/begin.sh": BEGIN,
            "hooks/hooks.json": hooks(Stop="${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh"),
            "hooks/stop.sh": AGAIN,
        },
    )
    await activate(platform, root)
    (warning,) = [
        one.message
        for one in (await platform.services.plugins.find("again")).record.warnings
        if one.file == "commands/begin.md"
    ]
    assert "runs commands by itself" in warning
    async with await platform.chat() as chat:
        answer, result = await ask_and_allow(chat, "/again:begin paint the fence")
        assert result.subtype == "success"
        assert "Again and again: paint the fence" in told(platform)
        # Once for the command, and once more for what the hook said when the agent wanted to stop.
        assert "Stop hook feedback" in answer
        assert not (chat.workspace / ".claude" / "again.local.md").exists()


async def test_command_shows_the_model_what_the_shell_says(platform: Platform, tmp_path: Path) -> None:
    command = "---\nallowed-tools: Bash(git status:*)\ndescription: Look\n---\n- Status: !`git status --short`\n"
    await activate(platform, public_plugin(tmp_path / "looks", {"commands/look.md": command}))
    async with await platform.chat() as chat:
        # In a folder that is no repository, people are told what went wrong, and the session goes on.
        answer, _ = await chat.ask("/looks:look")
        assert "not a git repository" in answer
        await ask_and_allow(chat, "run bash: git init -q . && echo x > fresh.txt")
        await chat.ask("/looks:look")
        assert "?? fresh.txt" in told(platform)


ODD_AGENT = """---
name: {name}
description: Use this agent when code was written. Examples:

<example>
Context: Somebody wrote a function
user: "Look at it, please"
</example>

model: sonnet
tools: ["Read"]
---

You look at code.
"""


async def test_everything_is_called_as_claude_code_calls_it(
    platform: Platform, tmp_path: Path, inits: list[Mapping[str, Any]]
) -> None:
    # A name that only Anthropic may publish under, and a frontmatter that is no YAML: the validator calls both errors,
    # and Claude Code loads both.
    root = public_plugin(
        tmp_path / "claude-shapes",
        {
            "agents/odd.md": ODD_AGENT.format(name="odd"),
            "agents/team/file.md": "---\nname: inner\ndescription: d\n---\nx\n",
            "commands/README.md": "Read me.\n",
            "commands/git/push.md": "---\ndescription: Push\n---\nsay exactly: pushed $ARGUMENTS\n",
            "skills/writing-rules/SKILL.md": "---\nname: Writing Rules\ndescription: d\n---\nx\n",
            "other/direct/SKILL.md": "---\nname: Called So\ndescription: d\n---\nx\n",
        },
        skills=["./other/direct"],
    )
    await activate(platform, root)
    overview = await platform.services.plugins.find("claude-shapes")
    assert {(one.file, one.path) for one in overview.record.warnings} >= {
        (".claude-plugin/plugin.json", "name"),
        ("agents/odd.md", "frontmatter"),
    }
    assert overview.package is not None
    inventory = overview.package.inventory
    async with await platform.chat() as chat:
        assert (await chat.ask("/claude-shapes:git:push now"))[0] == "pushed now"
    skills = of_plugins(inits[0], "skills")
    assert {f"claude-shapes:{name}" for name in inventory.agents} == of_plugins(inits[0], "agents")
    assert {f"claude-shapes:{name}" for name in inventory.skills} == skills
    assert {f"claude-shapes:{name}" for name in inventory.commands} == of_plugins(inits[0], "slash_commands") - skills
    assert not [event for event in chat.seen if isinstance(event.event, events.Notice)]


async def test_what_claude_code_does_not_load_is_refused(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    public_plugin(tmp_path / "plugins" / "unwrapped", {"hooks/hooks.json": json.dumps({"Stop": [{"hooks": []}]})})
    await platform.services.plugins.reconcile()
    found = await platform.services.plugins.find("unwrapped")
    assert found.record.status == "errored"
    assert found.record.problems[0].file == "hooks/hooks.json"
