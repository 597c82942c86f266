"""Requests and rules as rows, on SQLite and PostgreSQL."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from claude_sdk_pattern.policy.approval_store import SYSTEM, ApprovalStore, PendingApproval
from claude_sdk_pattern.policy.errors import ApprovalNotPendingError, UnknownRuleError
from claude_sdk_pattern.policy.model import Rule
from claude_sdk_pattern.policy.rule_store import RuleStore
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionRow, UserRow

pytestmark = pytest.mark.anyio

NOW = datetime.now(UTC)
RULE = Rule(id="suggested", decision="allow", tools=("Bash",), commands=("git push *",), reason="Pushing.")


@pytest.fixture
async def session_id(database: Database, anyio_backend: str) -> str:
    async with database.sessions.begin() as session:
        await _people_and_sessions(session)
    return "s1"


async def _people_and_sessions(session: AsyncSession) -> None:
    for user_id in ("u1", "u2"):
        session.add(UserRow(id=user_id, username=user_id, password_hash="x", role="user", created_at=NOW))
    await session.flush()
    for session_id, owner_id in (("s1", "u1"), ("s2", "u1"), ("s3", "u2")):
        row = SessionRow(
            id=session_id, owner_id=owner_id, title="t", model="m", permission_mode="default", created_at=NOW
        )
        row.last_active_at = NOW
        session.add(row)


def request(request_id: str, session_id: str, *, seconds: float = 60) -> PendingApproval:
    return PendingApproval(
        request_id=request_id,
        session_id=session_id,
        turn_id=None,
        tool_use_id=None,
        tool="Bash",
        input={"command": "ls"},
        rule=None,
        created_at=datetime.now(UTC),
        expires_at=datetime.now(UTC) + timedelta(seconds=seconds),
    )


async def test_of_many_who_decide_at_once_one_does(database: Database, session_id: str) -> None:
    store, other = ApprovalStore(database), ApprovalStore(database)
    await store.add(request("r1", session_id))
    deciding = [(store, "allow", "u1"), (other, "deny", "u2")] * 10
    outcomes = await asyncio.gather(
        *(place.decide("r1", decision, by=by) for place, decision, by in deciding), return_exceptions=True
    )
    assert outcomes.count(None) == 1
    _, decision, winner = deciding[outcomes.index(None)]
    assert await store.status_of("r1") == decision
    assert {outcome.decided_by for outcome in outcomes if isinstance(outcome, ApprovalNotPendingError)} == {winner}


async def test_nobody_decides_after_its_time_but_the_clock(database: Database, session_id: str) -> None:
    store = ApprovalStore(database)
    await store.add(request("r1", session_id, seconds=-1))
    with pytest.raises(ApprovalNotPendingError):
        await store.decide("r1", "allow", by="u1")
    await store.decide("r1", "deny", by=SYSTEM)
    assert await store.status_of("r1") == "deny"
    with pytest.raises(ApprovalNotPendingError):
        await store.decide("never", "allow", by="u1")


async def test_what_a_killed_server_left_pending_is_denied(database: Database, session_id: str) -> None:
    store = ApprovalStore(database)
    of_first = request("r1", "s1")
    for added in (of_first, request("r2", "s1"), request("r3", "s2")):
        await store.add(added)
    await store.add(request("r4", "s1", seconds=-1))
    await store.decide("r2", "allow", by="u1")
    assert await store.pending("s1") == [of_first]
    await store.deny_pending("s1", "restarted")
    assert await store.pending("s1") == []
    assert [await store.status_of(name) for name in ("r1", "r2", "r3")] == ["deny", "allow", "pending"]


async def test_rules_hold_where_they_were_made_for(database: Database, session_id: str) -> None:
    store = RuleStore(database)
    of_session = await store.add(RULE, scope="session", session_id="s1", created_by="u1")
    of_user = await store.add(RULE, scope="user", user_id="u1", created_by="u1")
    of_role = await store.add(RULE, scope="role", role="operator", created_by="u2")
    of_all = await store.add(RULE, scope="everyone", created_by="u2")
    found = [item.rule.id for item in await store.for_session("s1", owner_id="u1", role="user")]
    assert found == [of_session.rule.id, of_user.rule.id, of_all.rule.id]
    found = [item.rule.id for item in await store.for_session("s2", owner_id="u1", role="operator")]
    assert found == [of_user.rule.id, of_role.rule.id, of_all.rule.id]
    assert [item.rule.id for item in await store.of_roles()] == [of_role.rule.id, of_all.rule.id]
    assert (await store.for_session("s1", owner_id="u1", role="user"))[0].rule.commands == RULE.commands


async def test_only_ones_own_rules_can_be_removed(database: Database, session_id: str) -> None:
    store = RuleStore(database)
    stored = await store.add(RULE, scope="session", session_id="s1", created_by="u1")
    revision = store.revision
    with pytest.raises(UnknownRuleError):
        await store.remove_remembered(stored.rule.id, session_id="s3", owner_id="u2")
    with pytest.raises(UnknownRuleError):
        await store.remove_of_roles(stored.rule.id)
    await store.remove_remembered(stored.rule.id, session_id="s1", owner_id="u1")
    assert await store.remembered("s1", owner_id="u1") == []
    assert store.revision > revision, "who keeps rules reads them again"
