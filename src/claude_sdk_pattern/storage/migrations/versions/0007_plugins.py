"""Plugins: what is known of them, their files, their secrets, and marketplaces that were uploaded."""

import sqlalchemy as sa
from alembic import op

from claude_sdk_pattern.storage.tables import UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, and the counter of changes."""
    op.create_table(
        "plugins",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("is_present", sa.Boolean(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("was_enabled", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.Column("version", sa.String(200), nullable=False),
        sa.Column("problems", sa.Text(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("running_digest", sa.String(64), nullable=True),
        sa.Column("running_version", sa.String(200), nullable=False),
        sa.Column("running_needs", sa.Text(), nullable=False),
        sa.Column("agreed", sa.Text(), nullable=True),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    )
    changes = op.create_table(
        "plugin_changes",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
    )
    op.bulk_insert(changes, [{"id": 1, "count": 0}])
    op.create_table(
        "plugin_archives",
        sa.Column("plugin", sa.String(64), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("archive", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
    )
    op.create_table(
        "plugin_secrets",
        sa.Column("plugin", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("ciphertext", sa.Text(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    )
    op.create_table(
        "marketplaces",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("archive", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("marketplaces", "plugin_secrets", "plugin_archives", "plugin_changes", "plugins"):
        op.drop_table(table)
