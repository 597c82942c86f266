"""Which profile a session was made with."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; sessions that are there have none."""
    op.add_column("sessions", sa.Column("profile", sa.String(200), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("sessions", "profile")
