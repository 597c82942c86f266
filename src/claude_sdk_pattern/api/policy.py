"""REST routes of the policy: what it says, why it would decide so, and the rules made while the server runs."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.errors import NotAllowedError
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.api.dependencies import AdminUser, CurrentUser, OperatorUser
from claude_sdk_pattern.api.frames import JsonObject
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.policy.calls import GateContext, ToolCall
from claude_sdk_pattern.policy.model import Decision, RoleName, Rule
from claude_sdk_pattern.policy.rule_store import StoredRule
from claude_sdk_pattern.sessions.repository import Session

router = APIRouter(prefix="/api/v1", tags=["policy"], responses=PROBLEM_RESPONSES)

# A session that is only imagined has its folder here; nothing is read from it.
_NO_SESSION = "no-session"

# PostgreSQL takes no NUL.
_Text = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExplainCall(_Body):
    """A tool call to judge without making it. Without ``session_id``, in an empty session of one's own."""

    tool: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")
    input: JsonObject
    role: Literal["user", "operator", "admin"] | None = Field(
        default=None, description="Whose session; for operators. Otherwise one's own role."
    )
    session_id: str | None = Field(default=None, max_length=36)
    permission_mode: Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] = "default"


class Explanation(_Body):
    """What the gate would say. ``granted``: nobody is asked; any other ``allow`` is up to the permission mode."""

    decision: Decision
    granted: bool
    category: str | None
    rule: str | None
    reason: str | None
    changed_input: dict[str, Any] | None


class RuleView(_Body):
    """A rule that was made while the server runs."""

    id: str
    scope: Literal["session", "user", "role", "everyone"]
    role: str | None
    decision: Decision
    tools: list[str]
    commands: list[str]
    paths: list[str]
    hosts: list[str]
    exact: bool = Field(description="Whether it is about one exact input.")
    reason: str
    created_by: str
    created_at: datetime


class RuleList(_Body):
    """Rules, oldest first."""

    items: list[RuleView]


class NewRule(_Body):
    """A rule for people of a role, or for everyone. See docs/policy.md."""

    scope: Literal["role", "everyone"]
    role: Literal["user", "operator", "admin"] | None = None
    decision: Decision
    tools: list[_Text] = Field(min_length=1, max_length=50)
    commands: list[_Text] = Field(default=[], max_length=200)
    paths: list[_Text] = Field(default=[], max_length=200)
    hosts: list[_Text] = Field(default=[], max_length=200)
    reason: _Text

    @model_validator(mode="after")
    def _fits_scope(self) -> Self:
        if (self.scope == "role") != (self.role is not None):
            raise ValueError("role belongs to the scope `role`, and to it alone")
        return self


class PolicyView(_Body):
    """The policy of the server's files, and the rules of operators."""

    policy: dict[str, Any]
    rules: list[RuleView]


@router.get("/policy")
async def read_policy(user: OperatorUser, services: ServicesDependency) -> PolicyView:
    """Return the policy in effect."""
    stored = await services.policy.rules.of_roles()
    return PolicyView(
        policy=services.policy.gate.policy.model_dump(mode="json"), rules=[_view(rule) for rule in stored]
    )


@router.post("/policy/explain")
async def explain(body: ExplainCall, user: CurrentUser, services: ServicesDependency) -> Explanation:
    """Say what the permission gate would decide about a call, and by which rule."""
    context = await _context(body, user, services)
    verdict = services.policy.gate.decide(ToolCall(tool=body.tool, input=body.input), context)
    return Explanation(
        decision=verdict.decision,
        granted=verdict.is_granted,
        category=verdict.category,
        rule=verdict.rule,
        reason=verdict.reason,
        changed_input=verdict.changed_input,
    )


@router.post("/policy/rules", status_code=201)
async def add_rule(body: NewRule, user: AdminUser, services: ServicesDependency) -> RuleView:
    """Add a rule for a role or for everyone. It holds within seconds, in sessions that run too."""
    stored = await services.policy.rules.add(
        Rule(
            id="new",
            decision=body.decision,
            tools=tuple(body.tools),
            commands=tuple(body.commands),
            paths=tuple(body.paths),
            hosts=tuple(body.hosts),
            reason=body.reason,
        ),
        scope=body.scope,
        role=body.role,
        created_by=user.id,
    )
    await _note(services, user, stored.rule.id, change="added")
    return _view(stored)


@router.delete("/policy/rules/{rule_id}", status_code=204)
async def remove_rule(rule_id: str, user: AdminUser, services: ServicesDependency) -> Response:
    """Remove a rule for a role or for everyone."""
    await services.policy.rules.remove_of_roles(rule_id)
    await _note(services, user, rule_id, change="removed")
    return Response(status_code=204)


@router.get("/sessions/{session_id}/rules")
async def list_session_rules(session_id: str, user: CurrentUser, services: ServicesDependency) -> RuleList:
    """List the answers that are remembered for a session, or for all of its owner's."""
    session = await _session(session_id, user, services, SessionAction.READ)
    found = await services.policy.rules.remembered(session.id, owner_id=session.owner_id)
    return RuleList(items=[_view(rule) for rule in found])


@router.delete("/sessions/{session_id}/rules/{rule_id}", status_code=204)
async def forget_session_rule(
    session_id: str, rule_id: str, user: CurrentUser, services: ServicesDependency
) -> Response:
    """Forget a remembered answer."""
    session = await _session(session_id, user, services, SessionAction.MANAGE)
    await services.policy.rules.remove_remembered(rule_id, session_id=session.id, owner_id=session.owner_id)
    await _note(services, user, rule_id, change="removed")
    return Response(status_code=204)


async def _session(session_id: str, user: User, services: Services, action: SessionAction) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, action, session.owner_id)
    return session


async def _context(body: ExplainCall, user: User, services: Services) -> GateContext:
    if body.role is not None and not user.role.includes(Role.OPERATOR):
        raise NotAllowedError(f"To ask for another role needs the role {Role.OPERATOR}; yours is {user.role}.")
    workspaces, rules = services.policy.workspaces, services.policy.rules
    if body.session_id is None:
        role: RoleName = body.role or user.role.value
        stored = await rules.for_session("", owner_id=user.id, role=role)
        workspace = workspaces.path(_NO_SESSION)
    else:
        session = await _session(body.session_id, user, services, SessionAction.READ)
        role = body.role or await services.policy.role_of(session.owner_id)
        stored = await rules.for_session(session.id, owner_id=session.owner_id, role=role)
        workspace = workspaces.path(session.workspace_id or _NO_SESSION)
    return GateContext(
        role=role,
        workspace=workspace,
        permission_mode=body.permission_mode,
        rules=tuple(item.rule for item in stored),
    )


async def _note(services: Services, user: User, rule_id: str, *, change: str) -> None:
    await services.audit.record(
        AuditAction.POLICY_RULE_CHANGED, actor=user.id, target=rule_id, details={"change": change}
    )


def _view(stored: StoredRule) -> RuleView:
    rule = stored.rule
    return RuleView(
        id=rule.id,
        scope=stored.scope,
        role=stored.role,
        decision=rule.decision,
        tools=list(rule.tools),
        commands=list(rule.commands),
        paths=list(rule.paths),
        hosts=list(rule.hosts),
        exact=rule.input_hash is not None,
        reason=rule.reason,
        created_by=stored.created_by,
        created_at=stored.created_at,
    )
