"""The transcripts of agent processes in our database, so that any machine can resume any conversation.

The CLI writes its own transcript to disk and the SDK mirrors it here line by line. It is what the model remembers;
the tape is what people saw. When the two disagree, the tape is right.
"""

import json
import time

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)
from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import TranscriptEntryRow, TranscriptSummaryRow


class TranscriptStore(SessionStore):
    """The SDK's ``SessionStore`` on our tables.

    Args:
        database: where the rows live.
        project_key: used instead of the key the SDK derives from the working directory. Workspaces lie at different
            paths on different machines, so a conversation found by its path could only ever be resumed at home.
            None keeps the SDK's keys.
    """

    def __init__(self, database: Database, *, project_key: str | None = None) -> None:
        self._database = database
        self._project_key = project_key

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries in order; an entry whose ``uuid`` is there already is left out."""
        if not entries:
            return
        async with self._database.sessions.begin() as session:
            known = await self._known_uuids(session, key, entries)
            written_at_ms = _now_ms()
            for entry in entries:
                uuid = entry.get("uuid")
                if uuid is not None:
                    if uuid in known:
                        continue
                    known.add(uuid)
                session.add(self._row(key, entry, written_at_ms))
            if "subpath" not in key:
                await self._fold_summary(session, key, entries, written_at_ms)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries in the order they were written, or None for a key never written."""
        query = select(TranscriptEntryRow.entry).where(self._matches(key)).order_by(TranscriptEntryRow.id)
        async with self._database.reading() as session:
            rows = (await session.scalars(query)).all()
        return [json.loads(row) for row in rows] or None

    async def exists(self, key: SessionKey) -> bool:
        """Whether anything was ever written under a key."""
        query = select(TranscriptEntryRow.id).where(self._matches(key)).limit(1)
        async with self._database.reading() as session:
            return await session.scalar(query) is not None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the main transcripts of a project with the time of their last write."""
        query = (
            select(TranscriptEntryRow.agent_session_id, func.max(TranscriptEntryRow.written_at_ms))
            .where(TranscriptEntryRow.project_key == self._project(project_key), TranscriptEntryRow.subpath == "")
            .group_by(TranscriptEntryRow.agent_session_id)
        )
        async with self._database.reading() as session:
            rows = (await session.execute(query)).all()
        return [{"session_id": session_id, "mtime": int(mtime)} for session_id, mtime in rows]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's summaries of a project's transcripts."""
        query = select(TranscriptSummaryRow).where(TranscriptSummaryRow.project_key == self._project(project_key))
        async with self._database.reading() as session:
            rows = (await session.scalars(query)).all()
        return [{"session_id": row.agent_session_id, "mtime": row.written_at_ms, "data": row.data} for row in rows]

    async def delete(self, key: SessionKey) -> None:
        """Delete one transcript; a main transcript takes those of its subagents with it."""
        async with self._database.sessions.begin() as session:
            if "subpath" in key:
                await session.execute(delete(TranscriptEntryRow).where(self._matches(key)))
                return
            await session.execute(delete(TranscriptEntryRow).where(self._belongs(key)))
            await session.execute(
                delete(TranscriptSummaryRow).where(
                    TranscriptSummaryRow.project_key == self._project(key["project_key"]),
                    TranscriptSummaryRow.agent_session_id == key["session_id"],
                )
            )

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths under a session: its subagents' transcripts."""
        query = (
            select(TranscriptEntryRow.subpath)
            .where(self._belongs(key), TranscriptEntryRow.subpath != "")
            .distinct()
            .order_by(TranscriptEntryRow.subpath)
        )
        async with self._database.reading() as session:
            return list((await session.scalars(query)).all())

    def _project(self, project_key: str) -> str:
        return project_key if self._project_key is None else self._project_key

    def _belongs(self, key: SessionKey | SessionListSubkeysKey) -> ColumnElement[bool]:
        return and_(
            TranscriptEntryRow.project_key == self._project(key["project_key"]),
            TranscriptEntryRow.agent_session_id == key["session_id"],
        )

    def _matches(self, key: SessionKey) -> ColumnElement[bool]:
        return and_(self._belongs(key), TranscriptEntryRow.subpath == key.get("subpath", ""))

    def _row(self, key: SessionKey, entry: SessionStoreEntry, written_at_ms: int) -> TranscriptEntryRow:
        return TranscriptEntryRow(
            project_key=self._project(key["project_key"]),
            agent_session_id=key["session_id"],
            subpath=key.get("subpath", ""),
            entry_uuid=entry.get("uuid"),
            written_at_ms=written_at_ms,
            entry=json.dumps(entry, ensure_ascii=False, separators=(",", ":")),
        )

    async def _known_uuids(self, session: AsyncSession, key: SessionKey, entries: list[SessionStoreEntry]) -> set[str]:
        """Return which of the entries' uuids are stored already."""
        uuids = [entry["uuid"] for entry in entries if "uuid" in entry]
        query = select(TranscriptEntryRow.entry_uuid).where(
            self._matches(key), TranscriptEntryRow.entry_uuid.in_(uuids)
        )
        return {uuid for uuid in await session.scalars(query) if uuid is not None}

    async def _fold_summary(
        self, session: AsyncSession, key: SessionKey, entries: list[SessionStoreEntry], written_at_ms: int
    ) -> None:
        project_key = self._project(key["project_key"])
        row = await session.get(TranscriptSummaryRow, (project_key, key["session_id"]), with_for_update=True)
        before: SessionSummaryEntry | None = (
            None if row is None else {"session_id": row.agent_session_id, "mtime": row.written_at_ms, "data": row.data}
        )
        data = fold_session_summary(before, key, entries)["data"]
        if row is None:
            row = TranscriptSummaryRow(
                project_key=project_key, agent_session_id=key["session_id"], written_at_ms=written_at_ms, data=data
            )
            session.add(row)
        # A new dict: SQLAlchemy notices a JSON column's change by identity.
        row.data = dict(data)
        row.written_at_ms = written_at_ms


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
