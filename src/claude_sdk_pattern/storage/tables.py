"""Tables, as SQLAlchemy 2 declarative classes. Migrations live in ``storage/migrations``.

Ids are opaque strings (UUIDs in text form). Times of rows are timezone-aware UTC.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcDateTime(TypeDecorator[datetime]):
    """A timezone-aware datetime on every database; SQLite has none of its own and would drop the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive datetimes: guessing their zone is how times shift by hours."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("naive datetime: pass one with a timezone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the zone back to what SQLite returns without one."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Declarative base of every table."""


class UserRow(Base):
    """An account."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    username: Mapped[str] = mapped_column(String(64), unique=True)
    password_hash: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class RefreshTokenRow(Base):
    """One refresh token, by hash. Tokens that descend from one login share a family."""

    __tablename__ = "refresh_tokens"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    family_id: Mapped[str] = mapped_column(String(36), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    issued_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    spent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class TicketRow(Base):
    """A one-use ticket, by hash, that opens one WebSocket or event stream."""

    __tablename__ = "tickets"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    # The login it was asked for with: when that ends, so does what the ticket opened.
    family_id: Mapped[str] = mapped_column(String(36))
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class SessionRow(Base):
    """A durable conversation. Its events are in :class:`EventRow`, its files in its workspace folder."""

    __tablename__ = "sessions"
    __table_args__ = (Index("ix_sessions_owner_recent", "owner_id", "last_active_at"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    title: Mapped[str] = mapped_column(String(200))
    model: Mapped[str] = mapped_column(String(100))
    permission_mode: Mapped[str] = mapped_column(String(32))
    output_schema: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    # The id the agent process keeps its own transcript under, and the folder it works in. Both exist before the
    # session when a warm process is adopted, so neither can be derived from the session's id.
    agent_session_id: Mapped[str | None] = mapped_column(String(36), unique=True)
    workspace_id: Mapped[str | None] = mapped_column(String(36))
    forked_from: Mapped[str | None] = mapped_column(String(36))
    cost_usd: Mapped[float] = mapped_column(Float, default=0.0)
    context_percent: Mapped[float | None] = mapped_column(Float)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_active_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SessionLeaseRow(Base):
    """Which server works on a session, and until when unless it says again that it does.

    ``node_id`` names the server's data folder and outlives restarts, ``run_id`` one run of it. ``expires_at_ms`` is by
    the database's clock. No index on it: renewing would then have to change the index as well, and there are never
    more rows than sessions that are open somewhere.
    """

    __tablename__ = "session_leases"

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    node_id: Mapped[str] = mapped_column(String(36))
    run_id: Mapped[str] = mapped_column(String(36))
    # The node that held it before and did not give it back.
    taken_from: Mapped[str | None] = mapped_column(String(36))
    expires_at_ms: Mapped[int] = mapped_column(BigInteger)


class EventRow(Base):
    """One event of a tape. ``payload`` is the event's own JSON, the other columns are its envelope."""

    __tablename__ = "events"
    __table_args__ = (
        # A message is run once: the client's id for it is unique in its session.
        Index(
            "uq_events_client_id",
            "session_id",
            "client_id",
            unique=True,
            sqlite_where=text("client_id IS NOT NULL"),
            postgresql_where=text("client_id IS NOT NULL"),
        ),
        # Compaction looks for the deltas of one turn, recovery for the result of one.
        Index("ix_events_turn", "session_id", "turn_id", "type"),
        # Recovery starts from the messages of all sessions, few among the events of all sessions.
        Index(
            "ix_events_opened",
            "session_id",
            "turn_id",
            sqlite_where=text("type = 'user_message'"),
            postgresql_where=text("type = 'user_message'"),
        ),
        {"sqlite_with_rowid": False},
    )

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    type: Mapped[str] = mapped_column(String(32))
    turn_id: Mapped[str | None] = mapped_column(String(36))
    block_id: Mapped[str | None] = mapped_column(String(128))
    client_id: Mapped[str | None] = mapped_column(String(128))
    actor: Mapped[str] = mapped_column(String(64))
    ts_ms: Mapped[int] = mapped_column(BigInteger)
    payload: Mapped[str] = mapped_column(Text)


class AttachmentRow(Base):
    """A file that was uploaded to a session. Its bytes are on disk; a fork has a row and bytes of its own."""

    __tablename__ = "attachments"

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    # A fork's tape names the ids of its source, hence the session in the key.
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    media_type: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    # When a message first carried it; what never is sent is not kept for long.
    sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class TranscriptEntryRow(Base):
    """One line of an agent process's own transcript, mirrored so that any machine can resume it."""

    __tablename__ = "transcript_entries"
    __table_args__ = (
        Index("ix_transcript_entries_key", "project_key", "agent_session_id", "subpath", "id"),
        Index(
            "uq_transcript_entries_uuid",
            "project_key",
            "agent_session_id",
            "subpath",
            "entry_uuid",
            unique=True,
            sqlite_where=text("entry_uuid IS NOT NULL"),
            postgresql_where=text("entry_uuid IS NOT NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)
    project_key: Mapped[str] = mapped_column(String(255))
    agent_session_id: Mapped[str] = mapped_column(String(64))
    subpath: Mapped[str] = mapped_column(String(255))
    entry_uuid: Mapped[str | None] = mapped_column(String(64))
    written_at_ms: Mapped[int] = mapped_column(BigInteger)
    entry: Mapped[str] = mapped_column(Text)
