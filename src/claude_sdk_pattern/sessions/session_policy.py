"""SessionPolicy: the permission gate, the hooks, the approvals and the prompt guard, as one session uses them.

Every tool call passes :meth:`SessionPolicy.run_hook` first. What the gate or the permission mode puts to a person comes
back as :meth:`SessionPolicy.decide_permission`.
"""

from typing import Protocol

from claude_agent_sdk import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)
from claude_agent_sdk.types import PermissionMode

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event, JsonObject
from claude_sdk_pattern.policy.calls import GateContext, ToolCall, Verdict
from claude_sdk_pattern.policy.edited_input import check_edited_input
from claude_sdk_pattern.policy.errors import InputRefusedError, PromptBlockedError
from claude_sdk_pattern.policy.gate import NEVER_ASK_MODE, denied_unasked
from claude_sdk_pattern.policy.hooks import GATE_ORDER, Hook, HookCall, HookDispatcher, HookReply
from claude_sdk_pattern.policy.model import Rule
from claude_sdk_pattern.policy.prompt_guard import PromptVerdict, ids_in
from claude_sdk_pattern.policy.suggestions import suggest_rules
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.approvals import Answer, Approvals, Question
from claude_sdk_pattern.sessions.cli_mode import cli_mode
from claude_sdk_pattern.sessions.policy_services import PolicyServices
from claude_sdk_pattern.sessions.session_rules import SessionRules, Standing

# The modes a plan can be carried out in.
_WORKING_MODES: dict[str, PermissionMode] = {"default": "default", "acceptEdits": "acceptEdits"}

_DENIED = "The user denied this tool call."


class PolicyHost(Protocol):
    """The session, as far as its policy is concerned."""

    @property
    def turn_id(self) -> str | None:
        """The turn that runs."""
        ...

    @property
    def permission_mode(self) -> str:
        """The mode the session is in."""
        ...

    def emit(self, event: Event) -> None:
        """Put an event on the tape."""
        ...

    def on_mode_changed(self, mode: PermissionMode) -> None:
        """Learn that the agent process has gone over to another permission mode."""
        ...


class SessionPolicy:
    """The policy of one session."""

    def __init__(self, session_id: str, owner_id: str, host: PolicyHost, services: PolicyServices) -> None:
        self._session_id = session_id
        self._owner_id = owner_id
        self._host = host
        self._services = services
        self._rules = SessionRules(session_id, owner_id=owner_id, store=services.rules, role_of=services.role_of)
        self.approvals = Approvals(
            session_id,
            store=services.approvals,
            emit=host.emit,
            checks=self,
            on_wait=services.metrics.observe_approval,
            timeout_seconds=services.approval_timeout_seconds,
        )
        self._process: AgentProcess | None = None
        self._decider = services.gate
        self._standing: Standing | None = None
        self._dispatcher = HookDispatcher(hooks=self._core_hooks(), on_failure=services.metrics.count_hook_failure)

    async def aclose(self) -> None:
        """Wait for what is still under way."""
        await self._dispatcher.aclose()
        await self.approvals.aclose()

    # --- messages -----------------------------------------------------------------------------------------------

    async def check_prompt(self, text: str, *, workspace_id: str | None) -> PromptVerdict:
        """Return what the prompt guard says of a message that may be accepted.

        Raises:
            PromptBlockedError: it may not.
        """
        found = ids_in(text)
        foreign = await self._services.foreign_ids(found, self._owner_id) if found else set[str]()
        verdict = self._services.guard.check(text, foreign_ids=foreign, own_workspace=workspace_id)
        self._services.metrics.count_prompt(verdict.reaction)
        if verdict.reaction == "block":
            raise PromptBlockedError(str(verdict.rule), str(verdict.why))
        return verdict

    # --- tool calls ---------------------------------------------------------------------------------------------

    async def run_hook(self, call: HookCall, process: AgentProcess) -> HookReply:
        """Answer an event of the agent process. Never raises: what fails denies."""
        self._work_with(process)
        return await self._dispatcher.dispatch(call)

    async def decide_permission(
        self, tool: str, tool_input: JsonObject, context: ToolPermissionContext, process: AgentProcess
    ) -> PermissionResult:
        """Put a tool call to the people in the session and return what they say."""
        self._work_with(process)
        call = ToolCall(tool=tool, input=tool_input, tool_use_id=context.tool_use_id, agent_id=context.agent_id)
        # The hook has seen it already. Looked at again, because here is where it is allowed.
        verdict, gate_context = await self._judge(call, self._host.permission_mode)
        if verdict.decision == "allow" and gate_context.permission_mode == NEVER_ASK_MODE:
            verdict = denied_unasked(verdict)
        if verdict.decision == "deny":
            self._tell_denial(call, verdict)
            return PermissionResultDeny(message=_told(verdict))
        answer = await self.approvals.ask(
            Question(
                tool=tool,
                input=tool_input,
                tool_use_id=context.tool_use_id,
                turn_id=self._host.turn_id,
                reason=verdict.reason or context.decision_reason or context.title,
                rule=verdict.rule if verdict.decision == "ask" else None,
                rules=self._suggestions(call, context, gate_context),
            )
        )
        if answer.decision == "deny":
            return PermissionResultDeny(message=answer.message or _DENIED)
        allowed = answer.updated_input if answer.updated_input is not None else tool_input
        return PermissionResultAllow(updated_input=allowed, updated_permissions=self._after_plan(tool, answer))

    def _work_with(self, process: AgentProcess) -> None:
        """Decide for this process from now on, with the plugins that it has."""
        if process is self._process:
            return
        self._decider = self._services.gate_for(process.plugins)
        self._dispatcher = self._dispatcher.with_hooks((*self._core_hooks(), *process.offer.hooks))
        self._process = process

    # --- answers (AnswerCheck) ----------------------------------------------------------------------------------

    def check(self, question: Question, answer: Answer) -> None:
        """Check the input that a person put in place of the agent's.

        Raises:
            InputRefusedError: it is not of its shape, or the gate denies it.
        """
        if answer.decision == "deny" or answer.updated_input is None:
            return
        check_edited_input(question.tool, question.input, answer.updated_input)
        if self._standing is None:
            raise InputRefusedError("The policy of this session is not known any more. Try again.")
        call = ToolCall(tool=question.tool, input=answer.updated_input, tool_use_id=question.tool_use_id)
        verdict = self._decider.decide(call, self._context(self._standing, self._host.permission_mode))
        if verdict.decision == "deny" or verdict.changed_input is not None:
            raise InputRefusedError(_told(verdict) if verdict.decision == "deny" else " ".join(verdict.changes))

    async def remember(self, rule: Rule, answer: Answer) -> None:
        """Keep a rule for this session, or for all sessions of its owner."""
        is_session = answer.remember == "session"
        await self._services.rules.add(
            rule,
            scope="session" if is_session else "user",
            session_id=self._session_id if is_session else None,
            user_id=None if is_session else self._owner_id,
            created_by=answer.by,
        )

    # --- the platform's own hooks -------------------------------------------------------------------------------

    def _core_hooks(self) -> tuple[Hook, ...]:
        return (
            Hook(name="permission-gate", event="PreToolUse", run=self._gate, kind="security", order=GATE_ORDER),
            Hook(name="notification", event="Notification", run=self._on_notification),
            Hook(name="compaction", event="PreCompact", run=self._on_compaction),
        )

    async def _gate(self, hook_call: HookCall) -> HookReply:
        data = hook_call.data
        call = ToolCall(
            tool=data["tool_name"],
            input=data["tool_input"],
            tool_use_id=data.get("tool_use_id"),
            agent_id=data.get("agent_id"),
        )
        # The CLI knows sooner that a mode has changed, but nothing of the one in which nobody is asked.
        told, wanted = data.get("permission_mode"), self._host.permission_mode
        verdict, _ = await self._judge(call, wanted if told in (None, cli_mode(wanted)) else told)
        self._services.metrics.count_decision(verdict.decision, verdict.category)
        if verdict.decision == "deny":
            self._tell_denial(call, verdict)
        elif verdict.changes:
            self._tell_changes(call, verdict)
        if call.tool == "EnterPlanMode" and verdict.decision == "allow" and call.agent_id is None:
            self._host.on_mode_changed("plan")
        # Nothing against it is no permission: the mode decides, as it would without us.
        decision = None if verdict.decision == "allow" and not verdict.is_granted else verdict.decision
        reason = _told(verdict) if verdict.decision == "deny" else verdict.reason
        return HookReply(decision=decision, reason=reason, rule=verdict.rule, updated_input=verdict.changed_input)

    async def _on_notification(self, call: HookCall) -> None:
        message, kind, title = (call.data.get(name) for name in ("message", "notification_type", "title"))
        if isinstance(message, str):
            self._host.emit(events.Notification(message=message, kind=kind, title=title))

    async def _on_compaction(self, call: HookCall) -> None:
        self._host.emit(events.Compaction(trigger="auto" if call.data.get("trigger") == "auto" else "manual"))

    # --- small things -------------------------------------------------------------------------------------------

    async def _judge(self, call: ToolCall, mode: str) -> tuple[Verdict, GateContext]:
        self._standing = await self._rules.standing()
        context = self._context(self._standing, mode)
        return self._decider.decide(call, context), context

    def _context(self, standing: Standing, mode: str) -> GateContext:
        process, workspaces = self._process, self._services.workspaces
        if process is None:
            raise RuntimeError("there is no agent process to decide for")
        return GateContext(
            role=standing.role,
            workspace=workspaces.path(process.workspace_id),
            permission_mode=mode,
            # Where Claude Code keeps long results of tools, and the plan it is writing.
            readable=(process.home / "projects",),
            writable=(process.home / "plans",),
            home=process.home,
            rules=standing.rules,
        )

    def _suggestions(
        self, call: ToolCall, context: ToolPermissionContext, gate_context: GateContext
    ) -> tuple[Rule, ...]:
        own = suggest_rules(call, self._decider.policy, gate_context)
        theirs = [rule for update in context.suggestions for rule in _rules_of(update)] if own else []
        known = {rule.commands for rule in own}
        return (*own, *(rule for rule in theirs if rule.commands not in known))

    def _after_plan(self, tool: str, answer: Answer) -> list[PermissionUpdate] | None:
        """Return what takes the CLI out of plan mode into the mode that the person chose."""
        if tool != "ExitPlanMode":
            return None
        wanted = _WORKING_MODES.get(answer.permission_mode or "")
        mode = wanted or _WORKING_MODES.get(self._host.permission_mode, "default")
        self._host.on_mode_changed(mode)
        return [PermissionUpdate(type="setMode", mode=mode, destination="session")]

    def _tell_denial(self, call: ToolCall, verdict: Verdict) -> None:
        message = f"{call.tool} was denied: {verdict.reason}"
        notice = events.Notice(code="tool_denied", message=message, rule=verdict.rule, tool_use_id=call.tool_use_id)
        self._host.emit(notice)

    def _tell_changes(self, call: ToolCall, verdict: Verdict) -> None:
        notice = events.Notice(
            code="tool_input_changed",
            message=f"{call.tool} was changed: {' '.join(verdict.changes)}",
            rule="secrets.reference",
            tool_use_id=call.tool_use_id,
        )
        self._host.emit(notice)


def _told(verdict: Verdict) -> str:
    """Return a denial in words for the agent, with the name of the rule for whoever reads along."""
    return f"{verdict.reason} (policy rule: {verdict.rule})"


def _rules_of(update: PermissionUpdate) -> list[Rule]:
    """Return what the CLI suggests to remember, as rules of ours: prefixes of commands. It asks, so they are narrow."""
    if update.type != "addRules" or update.behavior != "allow":
        return []
    found: list[Rule] = []
    for value in update.rules or []:
        content = value.rule_content or ""
        prefix = content.removesuffix(":*")
        if value.tool_name == "Bash" and prefix != content and not set(prefix) & set("*?[]'\"\\"):
            told = f"Commands that begin with `{prefix}`."
            found.append(
                Rule(id="suggested", decision="allow", tools=("Bash",), commands=(f"{prefix} *",), reason=told[:500])
            )
    return found
