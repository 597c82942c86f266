"""Which plugins a session works with."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; sessions that are there work with all plugins."""
    op.add_column("sessions", sa.Column("plugins", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("sessions", "plugins")
