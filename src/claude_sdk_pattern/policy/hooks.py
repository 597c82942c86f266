"""HookDispatcher: the hooks of the platform and of its plugins, in order, with a limit of time each.

Order: security hooks one after the other, by ``order`` and then by name. The permission gate has the highest order
there is and so sees an input as every other hook has left it. The first denial ends it; of the other answers the
strictest counts: ask, then allow, then none. Observing hooks are told afterwards, and nobody waits for them.

Failure: a security hook that raises, takes too long or answers with something else than an answer denies. An observing
hook that does so is logged and counted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

import structlog

from claude_sdk_pattern.policy.calls import JsonObject
from claude_sdk_pattern.policy.model import Decision

logger = structlog.get_logger(__name__)

type HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Notification",
    "SubagentStart",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PermissionRequest",
    "Stop",
]

HOOK_EVENTS: tuple[HookEvent, ...] = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Notification", "SubagentStart",
    "SubagentStop", "SessionStart", "SessionEnd", "PreCompact", "PermissionRequest", "Stop",
)  # fmt: skip

type HookKind = Literal["security", "observing"]

GATE_ORDER = 1_000_000
"""Behind every other security hook."""

HOOK_FAILED = "hooks.failed"
"""The rule by which a call is denied when a security hook fails."""

# A decision takes under a millisecond. A hook that looks something up may take longer; one that takes this long hangs.
DEFAULT_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """What happened. ``data`` is what the CLI says about it, in its own words; see the SDK's hook inputs."""

    event: HookEvent
    data: JsonObject

    @property
    def tool(self) -> str | None:
        """The tool it is about, if it is about one."""
        return self.data.get("tool_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReply:
    """What a security hook says.

    Attributes:
        decision: None: no opinion.
        reason: said to the agent and to people.
        rule: id of the rule that decided.
        updated_input: what to run instead, for ``PreToolUse``.
        context: something to tell the model besides.
    """

    decision: Decision | None = None
    reason: str | None = None
    rule: str | None = None
    updated_input: JsonObject | None = None
    context: str | None = None


NO_OPINION = HookReply()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Something to be asked or told.

    Attributes:
        name: for logs; unique among the hooks of a dispatcher.
        event: what it is about.
        run: is given the call. A security hook returns a :class:`HookReply`, an observing one nothing that counts.
        kind: whether its failure denies.
        tools: for which tools, with ``*``; only for events that are about one.
        order: security hooks of lower order come first.
        timeout_seconds: how long it may take.
    """

    name: str
    event: HookEvent
    run: Callable[[HookCall], Awaitable[Any]]
    kind: HookKind = "observing"
    tools: tuple[str, ...] = ("*",)
    order: int = 0
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def is_about(self, call: HookCall) -> bool:
        """Whether a call concerns it."""
        if self.event != call.event:
            return False
        return call.tool is None or any(fnmatchcase(call.tool, pattern) for pattern in self.tools)


type FailureReport = Callable[[HookEvent, HookKind], None]


@dataclass(slots=True, kw_only=True, eq=False)
class HookDispatcher:
    """Runs hooks. ``on_failure`` is told of each that failed."""

    hooks: Sequence[Hook] = ()
    on_failure: FailureReport | None = None
    _observing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def __post_init__(self) -> None:
        names = [hook.name for hook in self.hooks]
        if len(set(names)) != len(names):
            raise ValueError("two hooks have the same name")
        self.hooks = sorted(self.hooks, key=lambda hook: (hook.order, hook.name))

    async def dispatch(self, call: HookCall) -> HookReply:
        """Ask and tell all hooks that an event concerns; return what they say together. Never raises."""
        concerned = [hook for hook in self.hooks if hook.is_about(call)]
        reply = await self._ask([hook for hook in concerned if hook.kind == "security"], call)
        for hook in concerned:
            if hook.kind == "observing":
                task = asyncio.create_task(self._tell(hook, call))
                self._observing.add(task)
                task.add_done_callback(self._observing.discard)
        return reply

    def with_hooks(self, hooks: Sequence[Hook]) -> "HookDispatcher":
        """Return a dispatcher with other hooks, which waits for the observing ones of this as well when it ends."""
        return HookDispatcher(hooks=hooks, on_failure=self.on_failure, _observing=self._observing)

    async def aclose(self) -> None:
        """Wait for observing hooks that are still at it; their own limits end those that hang."""
        await asyncio.gather(*self._observing, return_exceptions=True)

    async def _ask(self, hooks: Sequence[Hook], call: HookCall) -> HookReply:
        total = NO_OPINION
        for hook in hooks:
            reply = await self._answer_of(hook, call)
            if reply.decision == "deny":
                return reply
            if reply.updated_input is not None:
                call = replace(call, data={**call.data, "tool_input": reply.updated_input})
            total = _merged(total, reply)
        return total

    async def _answer_of(self, hook: Hook, call: HookCall) -> HookReply:
        try:
            async with asyncio.timeout(hook.timeout_seconds):
                reply = await hook.run(call)
            if not isinstance(reply, HookReply):
                raise TypeError(f"a security hook answers with a HookReply, not {type(reply).__name__}")
        except Exception:
            # Whatever it was: what could not be checked must not happen.
            logger.exception("security_hook_failed", hook=hook.name, hook_event=hook.event)
            self._report(hook)
            reason = "The safety check of this platform failed, so nothing was done. Try again, or do without it."
            return HookReply(decision="deny", reason=reason, rule=HOOK_FAILED)
        return reply

    async def _tell(self, hook: Hook, call: HookCall) -> None:
        try:
            async with asyncio.timeout(hook.timeout_seconds):
                await hook.run(call)
        except Exception:
            # It only watches: what it watches goes on.
            logger.exception("observing_hook_failed", hook=hook.name, hook_event=hook.event)
            self._report(hook)

    def _report(self, hook: Hook) -> None:
        if self.on_failure is not None:
            self.on_failure(hook.event, hook.kind)


_STRICTNESS: dict[Decision | None, int] = {None: 0, "allow": 1, "ask": 2, "deny": 3}


def _merged(first: HookReply, second: HookReply) -> HookReply:
    """Return the stricter of two replies, with the latest input and everything that is to be told."""
    stricter = second if _STRICTNESS[second.decision] > _STRICTNESS[first.decision] else first
    told = "\n".join(text for text in (first.context, second.context) if text)
    changed = second.updated_input if second.updated_input is not None else first.updated_input
    return replace(stricter, updated_input=changed, context=told or None)
