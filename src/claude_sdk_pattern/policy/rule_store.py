"""Rules made while the server runs: remembered answers of people, and rules of operators for roles and for everyone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import delete, or_, select
from uuid_utils import uuid4

from claude_sdk_pattern.policy.errors import UnknownRuleError
from claude_sdk_pattern.policy.model import RoleName, Rule
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PolicyRuleRow

type Scope = Literal["session", "user", "role", "everyone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRule:
    """A rule, whom it is for, and who made it. Of ``session_id``, ``user_id`` and ``role`` the scope's own is set."""

    rule: Rule
    scope: Scope
    session_id: str | None = None
    user_id: str | None = None
    role: RoleName | None = None
    created_by: str
    created_at: datetime


class RuleStore:
    """The table of rules."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.revision = 0
        """Grows with each change made through this object; whoever keeps rules looks here whether to read again."""

    async def add(
        self,
        rule: Rule,
        *,
        scope: Scope,
        created_by: str,
        session_id: str | None = None,
        user_id: str | None = None,
        role: RoleName | None = None,
    ) -> StoredRule:
        """Store a rule under a new id and return it."""
        stored = StoredRule(
            rule=rule.model_copy(update={"id": f"{scope}.{uuid4()}"}),
            scope=scope,
            session_id=session_id,
            user_id=user_id,
            role=role,
            created_by=created_by,
            created_at=datetime.now(UTC),
        )
        row = PolicyRuleRow(
            id=stored.rule.id,
            scope=scope,
            session_id=session_id,
            user_id=user_id,
            role=role,
            rule=stored.rule.model_dump_json(),
            created_by=created_by,
            created_at=stored.created_at,
        )
        async with self._database.sessions.begin() as session:
            session.add(row)
        self.revision += 1
        return stored

    async def for_session(self, session_id: str, *, owner_id: str, role: RoleName) -> list[StoredRule]:
        """Return all rules that hold in a session, the closest first."""
        holds = or_(
            PolicyRuleRow.session_id == session_id,
            PolicyRuleRow.user_id == owner_id,
            PolicyRuleRow.role == role,
            PolicyRuleRow.scope == "everyone",
        )
        found = await self._read(select(PolicyRuleRow).where(holds))
        return sorted(found, key=lambda stored: (_NEARNESS[stored.scope], stored.created_at))

    async def of_roles(self) -> list[StoredRule]:
        """Return the rules of operators: those for roles and for everyone."""
        statement = select(PolicyRuleRow).where(PolicyRuleRow.scope.in_(("role", "everyone")))
        return await self._read(statement.order_by(PolicyRuleRow.created_at))

    async def remembered(self, session_id: str, *, owner_id: str) -> list[StoredRule]:
        """Return the answers that are remembered for a session or for its owner."""
        mine = or_(PolicyRuleRow.session_id == session_id, PolicyRuleRow.user_id == owner_id)
        return await self._read(select(PolicyRuleRow).where(mine).order_by(PolicyRuleRow.created_at))

    async def remove_remembered(self, rule_id: str, *, session_id: str, owner_id: str) -> None:
        """Forget an answer.

        Raises:
            UnknownRuleError: there is none with this id that this session remembers.
        """
        mine = or_(PolicyRuleRow.session_id == session_id, PolicyRuleRow.user_id == owner_id)
        await self._remove(delete(PolicyRuleRow).where(PolicyRuleRow.id == rule_id, mine))

    async def remove_of_roles(self, rule_id: str) -> None:
        """Remove an operator's rule.

        Raises:
            UnknownRuleError: there is none with this id.
        """
        of_roles = PolicyRuleRow.scope.in_(("role", "everyone"))
        await self._remove(delete(PolicyRuleRow).where(PolicyRuleRow.id == rule_id, of_roles))

    async def _read(self, statement: Any) -> list[StoredRule]:
        async with self._database.reading() as session:
            rows: Sequence[PolicyRuleRow] = (await session.scalars(statement)).all()
        return [_stored(row) for row in rows]

    async def _remove(self, statement: Any) -> None:
        async with self._database.sessions.begin() as session:
            if await session.scalar(statement.returning(PolicyRuleRow.id)) is None:
                raise UnknownRuleError
        self.revision += 1


_NEARNESS: dict[Scope, int] = {"session": 0, "user": 1, "role": 2, "everyone": 3}


def _stored(row: PolicyRuleRow) -> StoredRule:
    return StoredRule(
        rule=Rule.model_validate_json(row.rule),
        scope=row.scope,  # pyright: ignore[reportArgumentType] - only `add` writes it
        session_id=row.session_id,
        user_id=row.user_id,
        role=row.role,  # pyright: ignore[reportArgumentType] - likewise
        created_by=row.created_by,
        created_at=row.created_at,
    )
