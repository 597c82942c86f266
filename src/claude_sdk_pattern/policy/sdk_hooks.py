"""Hooks as the SDK wants them. The only file of this room that knows the SDK."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from claude_agent_sdk import HookContext, HookInput, HookMatcher
from claude_agent_sdk.types import HookJSONOutput

from claude_sdk_pattern.policy.hooks import HOOK_FAILED, HookCall, HookEvent, HookReply

type HookRunner = Callable[[HookCall], Awaitable[HookReply]]

# The CLI's own limit comes behind those of our hooks, and fails closed as well.
CLI_TIMEOUT_SECONDS = 60.0

# Where a failure has to stop what is under way; for the others the CLI ignores the setting or has nothing to stop.
_GUARDED: frozenset[HookEvent] = frozenset({"PreToolUse", "UserPromptSubmit"})


def sdk_hooks(run: HookRunner, events: Sequence[HookEvent]) -> dict[Any, list[HookMatcher]]:
    """Return the SDK's ``hooks`` option: every event, for every tool, goes to ``run``.

    Args:
        run: is asked; for ``PreToolUse`` an exception of it denies.
        events: which events to ask for. Each costs a round trip whenever it happens.
    """
    return {
        event: [
            HookMatcher(
                hooks=[_callback(event, run)],
                timeout=CLI_TIMEOUT_SECONDS,
                # Without it the CLI takes a callback that failed for one without an opinion.
                on_failure="block" if event in _GUARDED else None,
            )
        ]
        for event in events
    }


def _callback(event: HookEvent, run: HookRunner) -> Callable[..., Awaitable[HookJSONOutput]]:
    async def callback(data: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        try:
            reply = await run(HookCall(event=event, data=cast("dict[str, Any]", data)))
            return _output(event, reply)
        except Exception:  # noqa: BLE001 - the CLI would go on as if nobody had objected
            return _output(event, HookReply(decision="deny", reason="The safety check failed.", rule=HOOK_FAILED))

    return callback


def _output(event: HookEvent, reply: HookReply) -> HookJSONOutput:
    """Return a reply in the CLI's words."""
    specific: dict[str, Any] = {"hookEventName": event}
    if reply.context is not None:
        specific["additionalContext"] = reply.context
    output: dict[str, Any] = {}
    if event == "PreToolUse":
        if reply.decision is not None:
            specific["permissionDecision"] = reply.decision
            specific["permissionDecisionReason"] = reply.reason or ""
        if reply.updated_input is not None:
            specific["updatedInput"] = reply.updated_input
    elif event == "UserPromptSubmit" and reply.decision == "deny":
        output = {"decision": "block", "reason": reply.reason or ""}
    if len(specific) > 1:
        output["hookSpecificOutput"] = specific
    return cast("HookJSONOutput", output)
