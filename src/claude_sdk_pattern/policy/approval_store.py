"""Permission requests as rows: they outlive the server that asked, and each is decided once."""

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from sqlalchemy import Connection, insert, select, update

from claude_sdk_pattern.policy.calls import JsonObject, input_hash
from claude_sdk_pattern.policy.errors import ApprovalNotPendingError
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import ApprovalRow

SYSTEM = "system"
"""Who decides where nobody did: the clock, a stop, a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A request that waits for a person, or is about to."""

    request_id: str
    session_id: str
    turn_id: str | None
    tool_use_id: str | None
    tool: str
    input: JsonObject
    rule: str | None
    created_at: datetime
    expires_at: datetime

    @property
    def input_hash(self) -> str:
        """What the answer is bound to."""
        return input_hash(self.tool, self.input)


class ApprovalStore:
    """The table of permission requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, approval: PendingApproval) -> None:
        """Store a request, pending."""
        values = insert(ApprovalRow).values(
            id=approval.request_id,
            session_id=approval.session_id,
            turn_id=approval.turn_id,
            tool_use_id=approval.tool_use_id,
            tool=approval.tool,
            input=orjson.dumps(approval.input).decode(),
            input_hash=approval.input_hash,
            rule=approval.rule,
            created_at=approval.created_at,
            expires_at=approval.expires_at,
            status="pending",
        )
        await self._database.write(lambda connection: connection.execute(values))

    async def decide(self, request_id: str, decision: str, *, by: str, message: str | None = None) -> None:
        """Decide a pending request. Of several who try at once one succeeds, on whichever server they are.

        Raises:
            ApprovalNotPendingError: it was decided, has expired, or never was.
        """
        now = datetime.now(UTC)
        statement = (
            update(ApprovalRow)
            .where(ApprovalRow.id == request_id, ApprovalRow.status == "pending")
            .values(status=decision, decided_at=now, decided_by=by, message=message)
            .returning(ApprovalRow.id)
        )
        if by != SYSTEM:
            statement = statement.where(ApprovalRow.expires_at > now)
        decider = select(ApprovalRow.decided_by).where(ApprovalRow.id == request_id)

        def update_or_look(connection: Connection) -> tuple[bool, str | None]:
            if connection.execute(statement).first() is not None:
                return True, by
            return False, connection.execute(decider).scalar()

        is_decided, decided_by = await self._database.write(update_or_look)
        if not is_decided:
            raise ApprovalNotPendingError(request_id, decided_by=decided_by)

    async def pending(self, session_id: str) -> list[PendingApproval]:
        """Return what waits for an answer in a session and has not expired, oldest first."""
        statement = (
            select(ApprovalRow)
            .where(
                ApprovalRow.session_id == session_id,
                ApprovalRow.status == "pending",
                ApprovalRow.expires_at > datetime.now(UTC),
            )
            .order_by(ApprovalRow.created_at, ApprovalRow.id)
        )
        async with self._database.reading() as session:
            return [_pending(row) for row in await session.scalars(statement)]

    async def deny_pending(self, session_id: str, message: str) -> None:
        """Deny what still waits in a session whose agent process is gone."""
        statement = (
            update(ApprovalRow)
            .where(ApprovalRow.session_id == session_id, ApprovalRow.status == "pending")
            .values(status="deny", decided_at=datetime.now(UTC), decided_by=SYSTEM, message=message)
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def status_of(self, request_id: str) -> str | None:
        """Return ``pending``, ``allow`` or ``deny``; None if there is no such request."""
        async with self._database.reading() as session:
            return await session.scalar(select(ApprovalRow.status).where(ApprovalRow.id == request_id))


def _pending(row: ApprovalRow) -> PendingApproval:
    return PendingApproval(
        request_id=row.id,
        session_id=row.session_id,
        turn_id=row.turn_id,
        tool_use_id=row.tool_use_id,
        tool=row.tool,
        input=orjson.loads(row.input),
        rule=row.rule,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )
