"""Tables, as SQLAlchemy 2 declarative classes. Migrations live in ``storage/migrations``.

Ids are opaque strings (UUIDs in text form). Times of rows are timezone-aware UTC.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
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


class LoginRow(Base):
    """One sign-in, for the person to recognise it by. It has ended when none of its refresh tokens is good any more."""

    __tablename__ = "logins"

    # The family of its refresh tokens.
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    method: Mapped[str] = mapped_column(String(16))
    address: Mapped[str] = mapped_column(String(64))
    client: Mapped[str] = mapped_column(String(200))
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_used_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ExternalIdentityRow(Base):
    """What an identity provider calls a user. Issuer and subject together never change; a mail address does."""

    __tablename__ = "external_identities"

    issuer: Mapped[str] = mapped_column(String(255), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class OneTimeLinkRow(Base):
    """A link that lets somebody choose a password, by the hash of its secret. Using it deletes it."""

    __tablename__ = "one_time_links"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    purpose: Mapped[str] = mapped_column(String(16))
    # None for the link that makes the first user.
    user_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SignInTriesRow(Base):
    """How many passwords may still be tried for something; what it is stands there as a hash."""

    __tablename__ = "sign_in_tries"

    key_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    # When all tries would be back: one time does the work of a bucket and its last refill.
    full_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class SigningKeyRow(Base):
    """A generation of the key that signs access tokens. The key itself is stored nowhere."""

    __tablename__ = "signing_keys"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    # None for the one that signs; until then what it signed is taken.
    retires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


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
    # As sessions/plugin_choice.py has it; nothing for a session that works with every active plugin.
    plugins: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # ``plugin:profile``; nothing for a session that was made without one.
    profile: Mapped[str | None] = mapped_column(String(200))
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


class ApprovalRow(Base):
    """A tool call that waits, or waited, for a person. ``status`` is ``pending``, ``allow`` or ``deny``.

    ``input_hash`` binds the answer to this tool and this input.
    """

    __tablename__ = "approvals"
    __table_args__ = (Index("ix_approvals_session_status", "session_id", "status"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    turn_id: Mapped[str | None] = mapped_column(String(36))
    tool_use_id: Mapped[str | None] = mapped_column(String(128))
    tool: Mapped[str] = mapped_column(Text)
    input: Mapped[str] = mapped_column(Text)
    input_hash: Mapped[str] = mapped_column(String(64))
    rule: Mapped[str | None] = mapped_column(String(80))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    status: Mapped[str] = mapped_column(String(16))
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # A user's id, or "system".
    decided_by: Mapped[str | None] = mapped_column(String(36))
    message: Mapped[str | None] = mapped_column(Text)


class PolicyRuleRow(Base):
    """A rule of the permission gate that was made while the server ran: by an approval, or by an operator.

    ``scope`` is ``session``, ``user`` (all sessions of ``user_id``), ``role`` or ``everyone``.
    """

    __tablename__ = "policy_rules"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    scope: Mapped[str] = mapped_column(String(16), index=True)
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    role: Mapped[str | None] = mapped_column(String(16))
    rule: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(String(36))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


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


class RateLimitRow(Base):
    """A bucket of :mod:`claude_sdk_pattern.limits`; servers that share a PostgreSQL share these. Not for keeping."""

    __tablename__ = "rate_limits"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # By the database's clock; fractions of a millisecond count.
    full_at_ms: Mapped[float] = mapped_column(Float(53))


class UsageRow(Base):
    """One answer of the model. Nothing refers to other tables: what was spent stays spent."""

    __tablename__ = "usage"
    __table_args__ = (Index("ix_usage_user", "user_id", "at_ms"), Index("ix_usage_session", "session_id"))

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at_ms: Mapped[int] = mapped_column(BigInteger)
    user_id: Mapped[str | None] = mapped_column(String(36))
    session_id: Mapped[str] = mapped_column(String(36))
    turn_id: Mapped[str | None] = mapped_column(String(36))
    model: Mapped[str] = mapped_column(Text)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    cache_write_tokens: Mapped[int] = mapped_column(BigInteger)
    cache_read_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cost_usd: Mapped[float] = mapped_column(Float)
    is_complete: Mapped[bool] = mapped_column(Boolean)


class AuditRow(Base):
    """One entry of the audit log. Triggers refuse to change or delete it.

    Nothing refers to other tables: an entry outlasts the user and the session it names.
    """

    __tablename__ = "audit_log"
    __table_args__ = (
        Index("ix_audit_log_actor", "actor", "seq"),
        Index("ix_audit_log_action", "action", "seq"),
        Index("ix_audit_log_at", "at_ms"),
    )

    seq: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    )
    at_ms: Mapped[int] = mapped_column(BigInteger)
    action: Mapped[str] = mapped_column(String(64))
    actor: Mapped[str | None] = mapped_column(String(255))
    target: Mapped[str | None] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    correlation_id: Mapped[str | None] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))


class AuditHeadRow(Base):
    """The one row that says which entry of the audit log is the last; who adds one locks it first."""

    __tablename__ = "audit_head"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    seq: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str] = mapped_column(String(64))


class PluginRow(Base):
    """What is known of one plugin, whichever server found it. ``plugins/records.py`` says what the columns mean."""

    __tablename__ = "plugins"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[str] = mapped_column(String(16))
    source: Mapped[str] = mapped_column(String(16))
    origin: Mapped[str] = mapped_column(Text)
    is_present: Mapped[bool] = mapped_column(Boolean)
    is_enabled: Mapped[bool] = mapped_column(Boolean)
    was_enabled: Mapped[bool] = mapped_column(Boolean)
    digest: Mapped[str | None] = mapped_column(String(64))
    version: Mapped[str] = mapped_column(String(200))
    # JSON, as are `warnings`, `running_needs`, `agreed` and `config`.
    problems: Mapped[str] = mapped_column(Text)
    warnings: Mapped[str] = mapped_column(Text)
    running_digest: Mapped[str | None] = mapped_column(String(64))
    running_version: Mapped[str] = mapped_column(String(200))
    running_needs: Mapped[str] = mapped_column(Text)
    agreed: Mapped[str | None] = mapped_column(Text)
    config: Mapped[str] = mapped_column(Text)
    generation: Mapped[int] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(Text)
    trouble: Mapped[str | None] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class PluginChangesRow(Base):
    """The one row that counts changes to plugins; who changes one locks it first, and servers look whether it grew."""

    __tablename__ = "plugin_changes"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    count: Mapped[int] = mapped_column(BigInteger)


class PluginArchiveRow(Base):
    """A plugin's files, packed, by the digest of the files. Folders on the disks of servers are copies of this."""

    __tablename__ = "plugin_archives"

    plugin: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    archive: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class PluginSecretRow(Base):
    """One secret of a plugin's configuration, encrypted for this plugin and this key. It outlasts the plugin's row."""

    __tablename__ = "plugin_secrets"

    plugin: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    ciphertext: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class MarketplaceRow(Base):
    """A marketplace that was uploaded: a catalogue of plugins, packed together with them."""

    __tablename__ = "marketplaces"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    archive: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
