"""Leases: which server works on a session."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of leases."""
    op.create_table(
        "session_leases",
        sa.Column("session_id", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("node_id", sa.String(36), nullable=False),
        sa.Column("run_id", sa.String(36), nullable=False),
        sa.Column("taken_from", sa.String(36), nullable=True),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("session_leases")
