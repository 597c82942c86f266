"""The transcripts of agent processes in our database, so that any machine can resume any conversation.

The CLI writes its own transcript to disk and the SDK mirrors it here line by line. It is what the model remembers;
the tape is what people saw. When the two disagree, the tape is right. The SDK's optional summaries, which serve its own
listing of sessions, are left out: sessions are listed from our own table.
"""

import json
import time
from datetime import UTC, datetime
from typing import Any

import structlog
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
)
from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError

from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.retrying import Patience, retried
from claude_sdk_pattern.storage.tables import TranscriptEntryRow

logger = structlog.get_logger(__name__)

# The SDK itself tries three times within a second and then drops what it has, silently: the agent would forget. It
# waits a minute for one call.
_PATIENCE = Patience(first_seconds=0.05, longest_seconds=1.0, give_up_after_seconds=30.0)


class TranscriptStore(SessionStore):
    """The SDK's ``SessionStore`` on our tables.

    Args:
        database: where the rows live.
        project_key: used instead of the key the SDK derives from the working directory. Workspaces lie at different
            paths on different machines, so a conversation found by its path could only ever be resumed at home.
            None keeps the SDK's keys.
    """

    # The SDK takes its own default for "not offered".
    list_session_summaries = SessionStore.list_session_summaries

    def __init__(self, database: Database, *, project_key: str | None = None) -> None:
        self._database = database
        self._project_key = project_key

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries in order; an entry whose ``uuid`` is there already is left out."""
        if not entries:
            return
        written_at_ms = time.time_ns() // 1_000_000
        rows = [self._row(key, entry, written_at_ms) for entry in entries]
        # In plain SQL and one round trip: the SDK gives out a turn's result only when its transcript is stored.
        dialect_insert = sqlite.insert if self._database.dialect == "sqlite" else postgresql.insert
        statement = dialect_insert(TranscriptEntryRow).on_conflict_do_nothing()

        async def insert() -> None:
            if not self._may_append():
                return
            await self._database.write(lambda connection: connection.execute(statement, rows))

        await retried(insert, _PATIENCE, on=(OperationalError, InterfaceError), before_retry=_warn)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries in the order they were written, or None for a key never written."""
        query = select(TranscriptEntryRow.entry).where(self._matches(key)).order_by(TranscriptEntryRow.id)
        async with self._database.reading() as session:
            rows = (await session.scalars(query)).all()
        return [json.loads(row) for row in rows] or None

    async def exists(self, key: SessionKey, *, entry_uuid: str | None = None) -> bool:
        """Whether anything was ever written under a key; if ``entry_uuid`` is given, whether that entry was."""
        query = select(TranscriptEntryRow.id).where(self._matches(key)).limit(1)
        if entry_uuid is not None:
            query = query.where(TranscriptEntryRow.entry_uuid == entry_uuid)
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

    async def delete(self, key: SessionKey) -> None:
        """Delete one transcript; a main transcript takes those of its subagents with it."""
        condition = self._matches(key) if "subpath" in key else self._belongs(key)
        await self._database.write(lambda connection: connection.execute(delete(TranscriptEntryRow).where(condition)))

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

    async def fork(self, source: str, target: str, *, until: str) -> bool:
        """Begin the transcript ``target`` with a copy of ``source`` up to the entry with the uuid ``until``.

        Entries keep their uuids, so that whatever names a place in the source names the same place in the copy.
        Returns whether there was such an entry; without one nothing is written.
        """
        entries = await self.load({"project_key": "", "session_id": source})
        end = next((i for i, entry in enumerate(entries or []) if entry.get("uuid") == until), None)
        if entries is None or end is None:
            return False
        copied: list[Any] = [{**entry, "sessionId": target} for entry in entries[: end + 1]]
        # The CLI goes on from the entry that looks newest.
        copied[-1]["timestamp"] = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        await self.append({"project_key": "", "session_id": target}, copied)
        return True

    def _may_append(self) -> bool:
        """Return whether entries may be written now; asked for each attempt. Those that may not are dropped."""
        return True

    def _project(self, project_key: str) -> str:
        return project_key if self._project_key is None else self._project_key

    def _belongs(self, key: SessionKey | SessionListSubkeysKey) -> ColumnElement[bool]:
        return and_(
            TranscriptEntryRow.project_key == self._project(key["project_key"]),
            TranscriptEntryRow.agent_session_id == key["session_id"],
        )

    def _matches(self, key: SessionKey) -> ColumnElement[bool]:
        return and_(self._belongs(key), TranscriptEntryRow.subpath == key.get("subpath", ""))

    def _row(self, key: SessionKey, entry: SessionStoreEntry, written_at_ms: int) -> dict[str, Any]:
        return {
            "project_key": self._project(key["project_key"]),
            "agent_session_id": key["session_id"],
            "subpath": key.get("subpath", ""),
            "entry_uuid": entry.get("uuid"),
            "written_at_ms": written_at_ms,
            "entry": json.dumps(entry, ensure_ascii=False, separators=(",", ":")),
        }


def _warn(error: Exception, delay: float) -> None:
    logger.warning("transcript_retry", reason=str(error.__cause__ or error), delay_seconds=delay)
