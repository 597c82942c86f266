"""All tables of the first version."""

import sqlalchemy as sa
from alembic import op

from claude_sdk_pattern.storage.tables import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    _create_accounts()
    _create_sessions()
    _create_events()
    _create_transcripts()


def downgrade() -> None:
    """Drop every table, those that refer to others first."""
    for table in (
        "transcript_entries",
        "events",
        "sessions",
        "tickets",
        "refresh_tokens",
        "users",
    ):
        op.drop_table(table)


def _create_accounts() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("username", sa.String(64), nullable=False, unique=True),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("disabled_at", UtcDateTime(), nullable=True),
    )
    op.create_table(
        "refresh_tokens",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("user_id", sa.String(36), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("family_id", sa.String(36), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("issued_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("spent_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
    )
    op.create_index("ix_refresh_tokens_user_id", "refresh_tokens", ["user_id"])
    op.create_index("ix_refresh_tokens_family_id", "refresh_tokens", ["family_id"])
    op.create_table(
        "tickets",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("user_id", sa.String(36), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("family_id", sa.String(36), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_tickets_expires_at", "tickets", ["expires_at"])


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner_id", sa.String(36), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("model", sa.String(100), nullable=False),
        sa.Column("permission_mode", sa.String(32), nullable=False),
        sa.Column("output_schema", sa.JSON(), nullable=True),
        sa.Column("agent_session_id", sa.String(36), nullable=True, unique=True),
        sa.Column("workspace_id", sa.String(36), nullable=True),
        sa.Column("forked_from", sa.String(36), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("context_percent", sa.Float(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_active_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_sessions_owner_recent", "sessions", ["owner_id", "last_active_at"])


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("session_id", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", _BIG_ID, primary_key=True),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("turn_id", sa.String(36), nullable=True),
        sa.Column("block_id", sa.String(128), nullable=True),
        sa.Column("client_id", sa.String(128), nullable=True),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("ts_ms", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    has_client_id, is_message = sa.text("client_id IS NOT NULL"), sa.text("type = 'user_message'")
    op.create_index(
        "uq_events_client_id",
        "events",
        ["session_id", "client_id"],
        unique=True,
        sqlite_where=has_client_id,
        postgresql_where=has_client_id,
    )
    op.create_index("ix_events_turn", "events", ["session_id", "turn_id", "type"])
    op.create_index(
        "ix_events_opened",
        "events",
        ["session_id", "turn_id"],
        sqlite_where=is_message,
        postgresql_where=is_message,
    )


def _create_transcripts() -> None:
    op.create_table(
        "transcript_entries",
        sa.Column("id", _BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("project_key", sa.String(255), nullable=False),
        sa.Column("agent_session_id", sa.String(64), nullable=False),
        sa.Column("subpath", sa.String(255), nullable=False),
        sa.Column("entry_uuid", sa.String(64), nullable=True),
        sa.Column("written_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
    )
    key = ["project_key", "agent_session_id", "subpath"]
    op.create_index("ix_transcript_entries_key", "transcript_entries", [*key, "id"])
    has_uuid = sa.text("entry_uuid IS NOT NULL")
    op.create_index(
        "uq_transcript_entries_uuid",
        "transcript_entries",
        [*key, "entry_uuid"],
        unique=True,
        sqlite_where=has_uuid,
        postgresql_where=has_uuid,
    )
