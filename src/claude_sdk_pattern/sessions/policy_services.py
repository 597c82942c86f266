"""What the policies of all sessions share, put together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.policy.approval_store import ApprovalStore
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.hooks import HookEvent
from claude_sdk_pattern.policy.model import Policy, RoleName
from claude_sdk_pattern.policy.prompt_guard import PromptGuard
from claude_sdk_pattern.policy.rule_store import RuleStore
from claude_sdk_pattern.sessions.repository import SessionRepository
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.telemetry.metrics import Metrics

CORE_EVENTS: tuple[HookEvent, ...] = ("PreToolUse", "Notification", "PreCompact")
"""The events that the platform itself has hooks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyServices:
    """What the policies of all sessions share.

    Attributes:
        gate: decides about tool calls.
        guard: decides about messages.
        rules: the rules made while the server runs.
        approvals: the table of permission requests.
        role_of: returns the role of a user.
        foreign_ids: of ids of sessions, returns those that are not this user's.
        workspaces: where sessions have their files.
        metrics: is told of decisions.
        approval_timeout_seconds: how long a request waits.
        gate_for: returns the gate of a set of plugins.
    """

    gate: PermissionGate
    guard: PromptGuard
    rules: RuleStore
    approvals: ApprovalStore
    role_of: Callable[[str], Awaitable[RoleName]]
    foreign_ids: Callable[[set[str], str], Awaitable[set[str]]]
    workspaces: Workspaces
    metrics: Metrics
    approval_timeout_seconds: float
    gate_for: Callable[[PluginSet], PermissionGate]


def make_policy_services(
    policy: Policy,
    *,
    database: Database,
    role_of: Callable[[str], Awaitable[RoleName]],
    workspaces: Workspaces,
    metrics: Metrics,
    approval_timeout_seconds: float,
    plugins: PluginRuntime,
) -> PolicyServices:
    """Return the services that decide by ``policy`` and what plugins lay over it."""
    gate = PermissionGate(policy)
    return PolicyServices(
        gate=gate,
        gate_for=lambda of: plugins.gate(gate, of),
        guard=PromptGuard(policy.prompt, workspaces=workspaces.root),
        rules=RuleStore(database),
        approvals=ApprovalStore(database),
        role_of=role_of,
        foreign_ids=SessionRepository(database).foreign,
        workspaces=workspaces,
        metrics=metrics,
        approval_timeout_seconds=approval_timeout_seconds,
    )
