"""Order, merging, limits and failures of hooks; and what the SDK is told."""

import asyncio
from typing import Any

import pytest

from claude_sdk_pattern.policy.hooks import (
    GATE_ORDER,
    HOOK_FAILED,
    NO_OPINION,
    Hook,
    HookCall,
    HookDispatcher,
    HookReply,
)
from claude_sdk_pattern.policy.sdk_hooks import sdk_hooks

pytestmark = pytest.mark.anyio

CALL = HookCall(event="PreToolUse", data={"tool_name": "Bash", "tool_input": {"command": "ls"}})


def security(name: str, reply: Any, **more: Any) -> Hook:
    async def run(call: HookCall) -> Any:
        return reply(call) if callable(reply) else reply

    return Hook(name=name, event="PreToolUse", run=run, kind="security", **more)


async def test_hooks_run_by_order_and_name_and_the_gate_sees_what_they_made_of_the_input() -> None:
    seen: list[tuple[str, Any]] = []

    def noting(name: str, **reply: Any) -> Any:
        def note(call: HookCall) -> HookReply:
            seen.append((name, call.data["tool_input"]))
            return HookReply(**reply)

        return note

    hooks = [
        security("gate", noting("gate", decision="allow", rule="r"), order=GATE_ORDER),
        security("b", noting("b", updated_input={"command": "pwd"})),
        security("a", noting("a", context="note")),
        security("other-tool", noting("other-tool"), tools=("Write",)),
    ]
    reply = await HookDispatcher(hooks=hooks).dispatch(CALL)
    assert seen == [("a", {"command": "ls"}), ("b", {"command": "ls"}), ("gate", {"command": "pwd"})]
    assert reply == HookReply(decision="allow", rule="r", updated_input={"command": "pwd"}, context="note")


@pytest.mark.parametrize(
    ("decisions", "total"),
    [
        ((None, "allow"), "allow"),
        (("allow", "ask"), "ask"),
        (("ask", "allow"), "ask"),
        (("allow", "deny", "allow"), "deny"),
        ((None, None), None),
    ],
)
async def test_the_strictest_answer_counts(decisions: tuple[Any, ...], total: str | None) -> None:
    hooks = [security(f"h{index}", HookReply(decision=item)) for index, item in enumerate(decisions)]
    assert (await HookDispatcher(hooks=hooks).dispatch(CALL)).decision == total


def raises(_: HookCall) -> HookReply:
    raise RuntimeError("broken")


@pytest.mark.parametrize("broken", [raises, None, {}, "deny", True])
async def test_a_security_hook_that_fails_denies(broken: Any) -> None:
    failures: list[tuple[str, str]] = []
    dispatcher = HookDispatcher(
        hooks=[security("broken", broken), security("gate", HookReply(decision="allow", rule="r"), order=GATE_ORDER)],
        on_failure=lambda event, kind: failures.append((event, kind)),
    )
    reply = await dispatcher.dispatch(CALL)
    assert (reply.decision, reply.rule) == ("deny", HOOK_FAILED)
    assert failures == [("PreToolUse", "security")]


async def test_a_security_hook_that_hangs_denies() -> None:
    async def hang(_: HookCall) -> HookReply:
        await asyncio.Event().wait()
        return NO_OPINION

    hook = Hook(name="hangs", event="PreToolUse", run=hang, kind="security", timeout_seconds=0.01)
    assert (await HookDispatcher(hooks=[hook]).dispatch(CALL)).decision == "deny"


async def test_an_observing_hook_is_told_and_its_failure_changes_nothing() -> None:
    told: list[str] = []
    failures: list[tuple[str, str]] = []

    async def note(call: HookCall) -> None:
        told.append(str(call.tool))
        raise RuntimeError("broken")

    dispatcher = HookDispatcher(
        hooks=[Hook(name="watcher", event="PreToolUse", run=note), security("gate", HookReply(decision="ask"))],
        on_failure=lambda event, kind: failures.append((event, kind)),
    )
    assert (await dispatcher.dispatch(CALL)).decision == "ask"
    await dispatcher.aclose()
    assert (told, failures) == (["Bash"], [("PreToolUse", "observing")])


async def test_two_hooks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        HookDispatcher(hooks=[security("x", NO_OPINION), security("x", NO_OPINION)])


async def test_the_sdk_is_told_to_block_when_a_callback_fails_and_the_callback_never_does() -> None:
    async def broken(_: HookCall) -> HookReply:
        raise RuntimeError("broken")

    found = sdk_hooks(broken, ("PreToolUse", "Notification"))
    (matcher,) = found["PreToolUse"]
    assert (matcher.matcher, matcher.on_failure) == (None, "block")
    output: Any = await matcher.hooks[0]({"tool_name": "Bash", "tool_input": {}}, None, {"signal": None})  # pyright: ignore[reportArgumentType]
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert found["Notification"][0].on_failure is None


async def test_no_opinion_says_nothing_to_the_cli() -> None:
    async def silent(_: HookCall) -> HookReply:
        return NO_OPINION

    callback = sdk_hooks(silent, ("PreToolUse",))["PreToolUse"][0].hooks[0]
    assert await callback({"tool_name": "Bash", "tool_input": {}}, None, {"signal": None}) == {}  # pyright: ignore[reportArgumentType]
