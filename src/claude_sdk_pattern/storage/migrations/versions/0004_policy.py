"""Permission requests, and rules made while the server runs."""

import sqlalchemy as sa
from alembic import op

from claude_sdk_pattern.storage.tables import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("session_id", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("turn_id", sa.String(36), nullable=True),
        sa.Column("tool_use_id", sa.String(128), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("input_hash", sa.String(64), nullable=False),
        sa.Column("rule", sa.String(80), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("decided_by", sa.String(36), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
    )
    op.create_index("ix_approvals_session_status", "approvals", ["session_id", "status"])
    op.create_table(
        "policy_rules",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("session_id", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=True),
        sa.Column("user_id", sa.String(36), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=True),
        sa.Column("role", sa.String(16), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(36), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
    )
    for column in ("scope", "session_id", "user_id"):
        op.create_index(f"ix_policy_rules_{column}", "policy_rules", [column])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("policy_rules")
    op.drop_table("approvals")
