"""The audit log: who did what that somebody may have to answer for. Entries are added, never changed.

The database refuses changes by triggers, and the chain of :mod:`claude_sdk_pattern.accounts.audit_chain` shows those
that were made in spite of them. Entries name people and things by their ids; what was said is on the tape, and
secrets are nowhere.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

import orjson
import structlog
from pydantic import JsonValue
from sqlalchemy import ColumnElement, Connection, insert, select, update

from claude_sdk_pattern.accounts.audit_chain import Anchor, AuditEntry, ChainCheck, ChainReport
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import AuditHeadRow, AuditRow, UserRow

CLI_ACTOR: Final = "cli"
"""The actor of what is done on the command line: whoever has the database."""

# As much of a text as an entry keeps. Some come from people who are not signed in.
_MAX_TEXT: Final = 200

# Most entries that one transaction adds, and that are read at a time.
_BATCH: Final = 500

_LOCKED_HEAD: Final = select(AuditHeadRow.seq, AuditHeadRow.hash).where(AuditHeadRow.id == 1).with_for_update()
_INSERT: Final = insert(AuditRow)
_MOVE_HEAD: Final = update(AuditHeadRow)

# Anchors are noted after so many entries of this server.
_ANCHOR_EVERY: Final = 100


# What comes within so long is one transaction. Most entries are of messages, which are on their way to an agent now,
# and a thread that writes would keep the event loop from that.
_GATHER_SECONDS = 0.01


class AuditAction(StrEnum):
    """What is recorded; ``docs/audit.md`` says what each means and what its target and details are."""

    LOGIN = "auth.login"
    LOGIN_FAILED = "auth.login_failed"
    LOGOUT = "auth.logout"
    SESSION_CREATED = "session.created"
    SESSION_OPENED = "session.opened"
    SESSION_CHANGED = "session.changed"
    SESSION_FORKED = "session.forked"
    SESSION_REWOUND = "session.rewound"
    SESSION_DELETED = "session.deleted"
    MESSAGE = "session.message"
    INTERRUPTED = "session.interrupted"
    APPROVAL_DECIDED = "approval.decided"
    USER_CREATED = "user.created"
    USER_ROLE_CHANGED = "user.role_changed"
    USER_DISABLED = "user.disabled"
    USER_ENABLED = "user.enabled"
    USER_DELETED = "user.deleted"
    USER_LINKED = "user.linked"
    USER_SIGNED_OUT = "user.signed_out"
    PASSWORD_LINK_MADE = "user.password_reset"  # noqa: S105 - the name of an action
    PASSWORD_CHANGED = "user.password_changed"  # noqa: S105 - the name of an action
    KEYS_ROTATED = "keys.rotated"
    POLICY_RULE_CHANGED = "policy.rule_changed"
    AUDIT_EXPORTED = "audit.exported"
    PLUGIN_INSTALLED = "plugin.installed"
    PLUGIN_ACTIVATED = "plugin.activated"
    PLUGIN_UPDATED = "plugin.updated"
    PLUGIN_DEACTIVATED = "plugin.deactivated"
    PLUGIN_CONFIGURED = "plugin.configured"
    PLUGIN_RELOADED = "plugin.reloaded"
    PLUGIN_FAILED = "plugin.failed"
    PLUGIN_REMOVED = "plugin.removed"
    PLUGIN_SECRETS_ROTATED = "plugin.secrets_rotated"
    APP_CALLED_TOOL = "app.called_tool"
    MARKETPLACE_ADDED = "marketplace.added"
    MARKETPLACE_REMOVED = "marketplace.removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries are wanted; what is ``None`` does not matter. An action ending in ``.`` stands for all below it."""

    actor: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry:
    """An entry and the name its actor has today; ``None`` for one who is no user."""

    entry: AuditEntry
    actor_name: str | None


@dataclass(slots=True, kw_only=True)
class _Draft:
    at_ms: int
    action: str
    actor: str | None
    target: str | None
    details: dict[str, JsonValue]
    correlation_id: str | None
    stored: asyncio.Future[None]


class AuditLog:
    """Adds entries and reads them. Open it with ``async with``: what waits to be written is written at the end.

    ``on_anchor`` is given an anchor every hundred entries and at the end, to note it where the database's owner cannot
    reach.
    """

    def __init__(self, database: Database, *, on_anchor: Callable[[Anchor], None] | None = None) -> None:
        self._database = database
        self._on_anchor: Callable[[Anchor], None] = on_anchor or _keep_nowhere
        self._waiting: list[_Draft] = []
        self._writing: asyncio.Task[None] | None = None
        self._since_anchor = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._writing is not None:
            await self._writing
            if self._since_anchor:
                self._on_anchor(await self.head())

    async def record(
        self,
        action: str,
        *,
        actor: str | None,
        target: str | None = None,
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Add an entry; it is stored when this returns, and also if the caller is cancelled meanwhile.

        Args:
            action: one of :class:`AuditAction`.
            actor: the id of the user who did it, :data:`CLI_ACTOR`, or ``None`` for somebody unknown.
            target: the id of what it was done to.
            details: what else is worth knowing; never what people wrote, never a secret. Long texts are cut.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: it could not be stored. What was to be recorded must not be kept quiet
                about as done.
        """
        draft = _Draft(
            at_ms=time.time_ns() // 1_000_000,
            action=action,
            actor=None if actor is None else _plain(actor),
            target=None if target is None else _plain(target),
            details={
                name: _plain(value) if isinstance(value, str) else value for name, value in (details or {}).items()
            },
            correlation_id=structlog.contextvars.get_contextvars().get("correlation_id"),
            stored=asyncio.get_running_loop().create_future(),
        )
        self._waiting.append(draft)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting(), name="audit-log")
        await asyncio.shield(draft.stored)

    async def head(self) -> Anchor:
        """Return number and hash of the last entry."""
        async with self._database.reading() as session:
            row = await session.get_one(AuditHeadRow, 1)
        return Anchor(seq=row.seq, hash=row.hash)

    async def page(self, wanted: AuditFilter, *, limit: int, before: int | None = None) -> Sequence[NamedEntry]:
        """Return the last entries that are wanted, the newest first; ``before`` is the number of one to go on from."""
        query = (
            select(AuditRow, UserRow.username)
            .outerjoin(UserRow, UserRow.id == AuditRow.actor)
            .where(*_criteria(wanted))
            .order_by(AuditRow.seq.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(AuditRow.seq < before)
        async with self._database.reading() as session:
            return [NamedEntry(entry=_entry(row), actor_name=name) for row, name in await session.execute(query)]

    async def entries(self, *, until: int | None = None) -> AsyncGenerator[AuditEntry]:
        """Yield all entries in order, as they stand; up to number ``until``."""
        after = 0
        while True:
            query = select(AuditRow).where(AuditRow.seq > after).order_by(AuditRow.seq).limit(_BATCH)
            if until is not None:
                query = query.where(AuditRow.seq <= until)
            async with self._database.reading() as session:
                rows = (await session.scalars(query)).all()
            for row in rows:
                yield _entry(row)
            if len(rows) < _BATCH:
                return
            after = rows[-1].seq

    async def verify(self, anchors: Sequence[Anchor] = ()) -> ChainReport:
        """Look at the whole chain. ``anchors`` are those that were noted elsewhere; the database's own is one more."""
        check = ChainCheck([*anchors, await self.head()])
        async with aclosing(self.entries()) as entries:
            async for entry in entries:
                check.see(entry)
        report, head = check.report(), await self.head()
        if report.head.seq > head.seq:
            unknown = f"the database knows of no entry after {head.seq}, but there is entry {report.head.seq}"
            return replace(report, faults=(*report.faults, unknown))
        return report

    async def _write_waiting(self) -> None:
        while self._waiting:
            await asyncio.sleep(_GATHER_SECONDS)
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            try:
                head = await self._write(batch)
            except Exception as error:  # noqa: BLE001 - whatever it was, it goes to those who wait for it
                for draft in batch:
                    draft.stored.set_exception(error)
                    # Those who were cancelled meanwhile do not ask any more.
                    draft.stored.exception()
                continue
            for draft in batch:
                draft.stored.set_result(None)
            self._since_anchor += len(batch)
            if self._since_anchor >= _ANCHOR_EVERY:
                self._since_anchor = 0
                self._on_anchor(head)

    async def _write(self, batch: Sequence[_Draft]) -> Anchor:
        # Not through a session: entries are made while agents begin to answer, and its care for objects costs more
        # processor time than all the rest.
        return await self._database.write(lambda connection: _add(connection, batch))


def _add(connection: Connection, batch: Sequence[_Draft]) -> Anchor:
    # The lock makes servers take turns; SQLite has none and needs none, its write transactions take turns anyway.
    row = connection.execute(_LOCKED_HEAD).one()
    head = Anchor(seq=row.seq, hash=row.hash)
    rows: list[dict[str, object]] = []
    for draft in batch:
        entry = _following(head, draft)
        head = Anchor(seq=entry.seq, hash=entry.hash)
        rows.append(_row(entry))
    connection.execute(_INSERT, rows)
    connection.execute(_MOVE_HEAD, {"seq": head.seq, "hash": head.hash})
    return head


def _following(head: Anchor, draft: _Draft) -> AuditEntry:
    entry = AuditEntry(
        seq=head.seq + 1,
        at_ms=draft.at_ms,
        action=draft.action,
        actor=draft.actor,
        target=draft.target,
        details=draft.details,
        correlation_id=draft.correlation_id,
        hash="",
    )
    return replace(entry, hash=entry.hash_after(head.hash))


def _row(entry: AuditEntry) -> dict[str, object]:
    return {**asdict(entry), "details": orjson.dumps(entry.details).decode()}


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(
        seq=row.seq,
        at_ms=row.at_ms,
        action=row.action,
        actor=row.actor,
        target=row.target,
        details=_details(row.details),
        correlation_id=row.correlation_id,
        hash=row.hash,
    )


def _details(text: str) -> dict[str, JsonValue]:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # Altered by hand; the hash will say so, and the rest of the log can still be read.
        return {"unreadable": text[:_MAX_TEXT]}


def _criteria(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    criteria: list[ColumnElement[bool]] = []
    if wanted.actor is not None:
        criteria.append(AuditRow.actor == wanted.actor)
    if wanted.action is not None:
        is_prefix = wanted.action.endswith(".")
        criteria.append(
            AuditRow.action.startswith(wanted.action, autoescape=True)
            if is_prefix
            else AuditRow.action == wanted.action
        )
    if wanted.since is not None:
        criteria.append(AuditRow.at_ms >= _milliseconds(wanted.since))
    if wanted.until is not None:
        criteria.append(AuditRow.at_ms < _milliseconds(wanted.until))
    return criteria


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _plain(text: str) -> str:
    """Return a text that every database stores: no half characters, no NUL, not endless."""
    return text[:_MAX_TEXT].encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def _keep_nowhere(anchor: Anchor) -> None:
    """Where nobody keeps anchors."""
