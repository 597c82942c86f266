"""The pure parts: which plugins a session has, what they change about the policy, what hooks may answer."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.plugins_at_work import EXAMPLES, active, write_plugin

from claude_sdk_pattern.plugins.author import JsonObject
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.runtime.init_report import problems_in
from claude_sdk_pattern.plugins.runtime.names import owner_of, owners
from claude_sdk_pattern.plugins.runtime.offer import Offer, agents_of
from claude_sdk_pattern.plugins.runtime.policy_layers import hooks_of, policy_layer, read_reply
from claude_sdk_pattern.policy.hooks import HOOK_FAILED, HookCall, HookDispatcher
from claude_sdk_pattern.sessions.plugin_choice import PluginChoice

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def examples() -> PluginSet:
    return PluginSet.of(active(EXAMPLES / name) for name in ("dice", "notes", "house-rules", "changelog"))


def test_a_session_has_all_or_those_it_chose_and_always_those_that_guard(examples: PluginSet) -> None:
    everything = PluginChoice()
    assert everything.among(examples).names == examples.names
    assert everything.to_row() is None
    assert everything.switch("dice", enabled=False).among(examples).names == examples.names - {"dice"}
    one = PluginChoice.of_names(["dice", "gone"])
    assert one.among(examples).names == {"dice", "house-rules"}
    changed = one.switch("notes", enabled=True).switch("dice", enabled=False).switch("house-rules", enabled=False)
    assert changed.among(examples).names == {"notes", "house-rules"}
    assert PluginChoice.from_row(changed.to_row()) == changed
    assert PluginChoice.of_names([]).among(examples).names == {"house-rules"}


def test_sets_are_equal_by_what_they_mean(examples: PluginSet) -> None:
    again = PluginSet.of(active(EXAMPLES / name) for name in ("changelog", "house-rules", "notes", "dice"))
    assert again == examples
    assert hash(again) == hash(examples)
    assert examples.without(["dice"]) != examples


def test_each_tool_has_its_plugin(examples: PluginSet) -> None:
    servers = owners(examples)
    assert owner_of("mcp__dice__roll", servers) == "dice"
    assert owner_of("mcp__notes-book__add_note", servers) == "notes"
    assert owner_of("mcp__somebody__else", servers) is None
    assert owner_of("Bash", servers) is None


def test_a_plugin_declares_tools_of_its_own_and_no_others(tmp_path: Path) -> None:
    root = write_plugin(
        tmp_path / "greedy",
        {"tools.py": ""},
        type="tool",
        capabilities={
            "tools": {"module": "tools"},
            "mcp_servers": {"far": {"type": "http", "url": "http://a.example"}},
        },
        permissions={"tools": ["*", "Bash", "mcp__*", "mcp__other__x", "mcp__greedy__*", "mcp__greedy-far__one"]},
    )
    layer = policy_layer(active(root))
    assert layer.tools == {"mcp__greedy__*": "mcp", "mcp__greedy-far__one": "mcp"}
    assert layer.hosts.allow == ()


def test_agents_have_the_name_of_their_plugin_before_theirs(examples: PluginSet) -> None:
    agents = agents_of(_found(examples, "house-rules"))
    assert list(agents) == ["house-rules:reviewer"]
    assert agents["house-rules:reviewer"].prompt.startswith("You review files.")


@pytest.mark.parametrize(
    "reply",
    [{"decision": "allow"}, {"decision": "deny!"}, {"updated_input": "text"}],
    ids=["allow", "unknown", "no-object"],
)
def test_a_hook_may_object_ask_change_and_add_but_not_allow(reply: JsonObject) -> None:
    with pytest.raises(ValueError, match="a hook of acme"):
        read_reply("acme", reply)


def test_a_hooks_answer_names_its_plugin() -> None:
    reply = read_reply("acme", {"decision": "deny", "reason": "no", "context": 1})
    assert (reply.decision, reply.rule, reply.reason, reply.context) == ("deny", "plugin.acme", "no", None)
    assert read_reply("acme", None).decision is None


async def test_a_security_hook_that_cannot_be_asked_denies(examples: PluginSet) -> None:
    async def fail(function: str, data: JsonObject, timeout_seconds: float) -> JsonObject | None:
        raise RuntimeError("the process is gone")

    dispatcher = HookDispatcher(hooks=hooks_of(_found(examples, "house-rules"), fail))
    call = HookCall(event="PreToolUse", data={"tool_name": "Write", "tool_input": {"file_path": "a"}})
    reply = await dispatcher.dispatch(call)
    assert (reply.decision, reply.rule) == ("deny", HOOK_FAILED)
    other = HookCall(event="PreToolUse", data={"tool_name": "Bash", "tool_input": {"command": "ls"}})
    assert (await dispatcher.dispatch(other)).decision is None
    await dispatcher.aclose()


def test_what_is_missing_of_an_offer_is_found() -> None:
    sdk: Any = {"type": "sdk"}
    agent: Any = object()
    offer = Offer(
        servers={"dice": sdk, "notes-book": sdk},
        owners={"dice": "dice", "notes-book": "notes"},
        agents={"rules:reviewer": agent},
        folders={"changelog": Path("/p/changelog"), "odd": Path("/p/odd")},
        missing={"late": "it was stopped"},
    )
    whole = {
        "mcp_servers": [{"name": "dice", "status": "connected"}, {"name": "notes-book", "status": "pending"}],
        "agents": ["rules:reviewer"],
        "plugins": [{"path": "/p/changelog"}, {"path": "/p/odd"}],
    }
    assert problems_in(offer, whole) == {"late": "it was stopped"}
    broken = {
        "mcp_servers": [{"name": "dice", "status": "failed"}, {"name": "plugin:odd:gone", "status": "failed"}],
        "plugins": [{"path": "/p/odd"}],
        "plugin_errors": [{"plugin": "inline[0]", "message": "no manifest", "path": "/p/changelog"}],
    }
    assert problems_in(offer, broken) == {
        "late": "it was stopped",
        "dice": "the server dice is failed",
        "notes": "the server notes-book is missing",
        "odd": "the server plugin:odd:gone is failed",
        "changelog": "its folder was not loaded; no manifest",
        "rules": "the agent rules:reviewer was not loaded",
    }


def _found(plugins: PluginSet, name: str) -> ActivePlugin:
    plugin = plugins.find(name)
    assert plugin is not None
    return plugin
