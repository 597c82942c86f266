"""AppCalls: what apps of plugins may do in a session.

An app is a page that a tool of a plugin shows below its call. It belongs to that call: whoever may read the session may
see it, and what it wants to call passes the same hooks and the same gate as what the agent calls, with the rules of the
session. No agent process is needed for that. Where the agent would have to ask a person, so does an app.
"""

from typing import Any

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.plugin_app import PluginApp
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.policy.calls import GateContext, ToolCall, Verdict
from claude_sdk_pattern.policy.gate import NEVER_ASK_MODE, PermissionGate, denied_unasked
from claude_sdk_pattern.policy.hooks import GATE_ORDER, Hook, HookCall, HookDispatcher, HookReply
from claude_sdk_pattern.sessions.errors import AppCallDeniedError, AppNotFoundError, ConsentNeededError
from claude_sdk_pattern.sessions.policy_services import PolicyServices
from claude_sdk_pattern.sessions.repository import Session

type JsonObject = dict[str, Any]

# Names the workspace of a session that has none yet: its agent has not begun.
_NO_WORKSPACE = "none"


class AppCalls:
    """Finds apps, and decides what they may call."""

    def __init__(self, policy: PolicyServices, plugins: PluginRuntime) -> None:
        self._policy = policy
        self._plugins = plugins

    def find(self, call: events.Event | None, chosen: PluginSet) -> PluginApp:
        """Return the app of a tool call on the tape of a session.

        Args:
            call: the event.
            chosen: the plugins the session works with.

        Raises:
            AppNotFoundError: it is no call, or has no app, or its plugin is not at work for this session now.
        """
        app = None
        if isinstance(call, events.ToolUse) and call.ui_resource is not None and call.plugin in chosen.names:
            app = self._plugins.app_of(call.plugin, call.tool)
        if app is None:
            raise AppNotFoundError("There is no such app, or its plugin is not at work any more.")
        return app

    async def check(
        self, session: Session, chosen: PluginSet, tool: str, arguments: JsonObject, *, has_consent: bool
    ) -> JsonObject:
        """Return the arguments with which an app may call a tool.

        Args:
            session: the session the app is shown in.
            chosen: the plugins it works with.
            tool: the tool as agents name it.
            arguments: what the app wants to call it with.
            has_consent: the person who looks at the app has agreed to this call.

        Raises:
            AppCallDeniedError: it may not.
            ConsentNeededError: somebody has to agree first.
        """
        context = await self._context(session)
        gate = self._policy.gate_for(chosen)
        hooks = [*self._plugins.hooks(chosen), _gate_hook(gate, context)]
        dispatcher = HookDispatcher(hooks=hooks, on_failure=self._policy.metrics.count_hook_failure)
        reply = await dispatcher.dispatch(
            HookCall(
                event="PreToolUse",
                data={
                    "hook_event_name": "PreToolUse",
                    "session_id": session.id,
                    "cwd": str(context.workspace),
                    "permission_mode": session.permission_mode,
                    "tool_name": tool,
                    "tool_input": arguments,
                },
            )
        )
        if reply.decision == "deny":
            raise AppCallDeniedError(f"{reply.reason} (policy rule: {reply.rule})")
        if reply.decision != "allow" and session.permission_mode == NEVER_ASK_MODE:
            raise AppCallDeniedError(str(denied_unasked(Verdict(decision="ask", reason=reply.reason)).reason))
        if reply.decision != "allow" and not has_consent:
            raise ConsentNeededError(reply.reason or f"{tool} is called for an app only when a person agrees.")
        return arguments if reply.updated_input is None else reply.updated_input

    async def _context(self, session: Session) -> GateContext:
        role = await self._policy.role_of(session.owner_id)
        stored = await self._policy.rules.for_session(session.id, owner_id=session.owner_id, role=role)
        return GateContext(
            role=role,
            workspace=self._policy.workspaces.path(session.workspace_id or _NO_WORKSPACE),
            permission_mode=session.permission_mode,
            rules=tuple(item.rule for item in stored),
        )


def _gate_hook(gate: PermissionGate, context: GateContext) -> Hook:
    async def decide(call: HookCall) -> HookReply:
        verdict = gate.decide(ToolCall(tool=call.data["tool_name"], input=call.data["tool_input"]), context)
        decision = None if verdict.decision == "allow" and not verdict.is_granted else verdict.decision
        return HookReply(
            decision=decision, reason=verdict.reason, rule=verdict.rule, updated_input=verdict.changed_input
        )

    return Hook(name="permission-gate", event="PreToolUse", run=decide, kind="security", order=GATE_ORDER)
