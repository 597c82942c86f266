"""The ledger of what the model has cost."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table. What was spent before is known for each session only, and stays with the sessions."""
    op.create_table(
        "usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.String(36), nullable=True),
        sa.Column("session_id", sa.String(36), nullable=False),
        sa.Column("turn_id", sa.String(36), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        *(
            sa.Column(f"{kind}_tokens", sa.BigInteger(), nullable=False)
            for kind in ("input", "cache_write", "cache_read", "output")
        ),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_usage_user", "usage", ["user_id", "at_ms"])
    op.create_index("ix_usage_session", "usage", ["session_id"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("usage")
