"""Rows of sessions: the settings and totals of each conversation."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, tuple_, update
from uuid_utils import uuid7

from claude_sdk_pattern.sessions.errors import SessionNotFoundError
from claude_sdk_pattern.sessions.plugin_choice import PluginChoice
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import EventRow, SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session's row at one moment. ``last_seq`` is the number of its last event, 0 for none."""

    id: str
    owner_id: str
    title: str
    model: str
    permission_mode: str
    output_schema: dict[str, Any] | None
    plugins: PluginChoice
    profile: str | None
    agent_session_id: str | None
    workspace_id: str | None
    forked_from: str | None
    cost_usd: float
    context_percent: float | None
    created_at: datetime
    last_active_at: datetime
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageKey:
    """Where a page of the session list begins: after this session, in order of last activity."""

    last_active_at: datetime
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCosts:
    """What the sessions of one user have cost, in USD, and how many there are."""

    owner_id: str
    cost_usd: float
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CostKey:
    """Where a page of costs begins: after this user, the dearest first."""

    cost_usd: float
    owner_id: str


class SessionRepository:
    """Reads and writes the ``sessions`` table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self,
        *,
        owner_id: str,
        title: str,
        model: str,
        permission_mode: str,
        output_schema: dict[str, Any] | None = None,
        plugins: PluginChoice | None = None,
        profile: str | None = None,
        agent_session_id: str | None = None,
        workspace_id: str | None = None,
        forked_from: str | None = None,
        context_percent: float | None = None,
    ) -> Session:
        """Insert a session and return it."""
        now = datetime.now(UTC)
        row = SessionRow(
            id=str(uuid7()),
            owner_id=owner_id,
            title=title,
            model=model,
            permission_mode=permission_mode,
            output_schema=output_schema,
            plugins=None if plugins is None else plugins.to_row(),
            profile=profile,
            agent_session_id=agent_session_id,
            workspace_id=workspace_id,
            forked_from=forked_from,
            cost_usd=0.0,
            context_percent=context_percent,
            created_at=now,
            last_active_at=now,
        )
        async with self._database.sessions.begin() as session:
            session.add(row)
        return _session(row, 0)

    async def get(self, session_id: str) -> Session:
        """Return a session.

        Raises:
            SessionNotFoundError: there is none with this id.
        """
        query = select(SessionRow, _last_seq()).where(SessionRow.id == session_id)
        found = None
        # PostgreSQL does not even compare with a NUL, which an address may hold.
        if "\0" not in session_id:
            async with self._database.reading() as session:
                found = (await session.execute(query)).one_or_none()
        if found is None:
            raise SessionNotFoundError(f"no session {session_id}")
        return _session(*found)

    async def list(
        self,
        *,
        owner_id: str | None,
        query: str | None = None,
        title: str | None = None,
        limit: int,
        after: PageKey | None = None,
    ) -> Sequence[Session]:
        """Return sessions, most recently active first.

        Args:
            owner_id: only this user's; None for everybody's.
            query: only sessions whose title, or one of whose messages or answers, contains this text.
            title: only sessions whose title contains this text.
            limit: at most this many.
            after: begin behind this place.
        """
        statement = select(SessionRow, _last_seq()).order_by(SessionRow.last_active_at.desc(), SessionRow.id.desc())
        if owner_id is not None:
            statement = statement.where(SessionRow.owner_id == owner_id)
        if title:
            statement = statement.where(SessionRow.title.ilike(f"%{_escaped(title)}%", escape="\\"))
        if query:
            said = select(EventRow.session_id).where(or_(*_says(query)))
            titled = SessionRow.title.ilike(f"%{_escaped(query)}%", escape="\\")
            statement = statement.where(or_(titled, SessionRow.id.in_(said)))
        if after is not None:
            place = tuple_(SessionRow.last_active_at, SessionRow.id)
            statement = statement.where(place < tuple_(after.last_active_at, after.session_id))
        async with self._database.reading() as session:
            rows = (await session.execute(statement.limit(limit))).all()
        return [_session(*row) for row in rows]

    async def costs(self, *, limit: int, after: CostKey | None = None) -> Sequence[OwnerCosts]:
        """Return what the sessions of each user have cost, the dearest first; those who have none are not listed."""
        total = func.sum(SessionRow.cost_usd)
        statement = (
            select(SessionRow.owner_id, total, func.count())
            .group_by(SessionRow.owner_id)
            .order_by(total.desc(), SessionRow.owner_id.desc())
        )
        if after is not None:
            statement = statement.having(tuple_(total, SessionRow.owner_id) < tuple_(after.cost_usd, after.owner_id))
        async with self._database.reading() as session:
            rows = (await session.execute(statement.limit(limit))).tuples()
            return [OwnerCosts(owner_id=owner, cost_usd=cost, sessions=count) for owner, cost, count in rows]

    async def total_cost(self) -> float:
        """Return what all sessions have cost together, in USD."""
        async with self._database.reading() as session:
            return await session.scalar(select(func.coalesce(func.sum(SessionRow.cost_usd), 0.0))) or 0.0

    async def foreign(self, session_ids: set[str], owner_id: str) -> set[str]:
        """Return which of these ids are those of sessions of others."""
        statement = select(SessionRow.id).where(SessionRow.id.in_(session_ids), SessionRow.owner_id != owner_id)
        async with self._database.reading() as session:
            return set((await session.scalars(statement)).all())

    async def update(self, session_id: str, **values: Any) -> None:
        """Set columns of a session; a session that is gone is not an error."""
        statement = update(SessionRow).where(SessionRow.id == session_id).values(**values)
        await self._database.write(lambda connection: connection.execute(statement))

    async def record_turn(self, session_id: str, **values: Any) -> None:
        """Mark a session active now, and set further columns."""
        await self.update(session_id, last_active_at=datetime.now(UTC), **values)

    async def delete(self, session_id: str) -> None:
        """Delete a session and with it its tape."""
        statement = delete(SessionRow).where(SessionRow.id == session_id)
        await self._database.write(lambda connection: connection.execute(statement))


def _last_seq() -> Any:
    return (
        select(func.coalesce(func.max(EventRow.seq), 0))
        .where(EventRow.session_id == SessionRow.id)
        .correlate(SessionRow)
        .scalar_subquery()
    )


def _says(query: str) -> Iterator[ColumnElement[bool]]:
    """Yield what is true of an event in which a person or the agent says ``query``.

    A payload is JSON with its fields in the order in which :mod:`claude_sdk_pattern.events.types` has them. What comes
    before the words is part of the pattern, or a search for "text" would find everything.
    """
    words = _escaped(json.dumps(query, ensure_ascii=False)[1:-1])
    for kind, before, behind in (("user_message", '"text":"', '","client_id":'), ("text", '"content":"', "")):
        pattern = f"%{before}%{words}%{_escaped(behind)}%"
        yield and_(EventRow.type == kind, EventRow.payload.ilike(pattern, escape="\\"))


def _escaped(text: str) -> str:
    """Return ``text`` for use inside LIKE, where it has to stand for itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _session(row: SessionRow, last_seq: int) -> Session:
    return Session(
        id=row.id,
        owner_id=row.owner_id,
        title=row.title,
        model=row.model,
        permission_mode=row.permission_mode,
        output_schema=row.output_schema,
        plugins=PluginChoice.from_row(row.plugins),
        profile=row.profile,
        agent_session_id=row.agent_session_id,
        workspace_id=row.workspace_id,
        forked_from=row.forked_from,
        cost_usd=row.cost_usd,
        context_percent=row.context_percent,
        created_at=row.created_at,
        last_active_at=row.last_active_at,
        last_seq=last_seq,
    )
