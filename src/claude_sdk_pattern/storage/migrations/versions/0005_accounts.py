"""Sign-ins people can look at, identity providers, one-time links, counted tries and rotating keys."""

import sqlalchemy as sa
from alembic import op

from claude_sdk_pattern.storage.tables import UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, and a row for each sign-in that is there already."""
    op.create_table(
        "logins",
        sa.Column("id", sa.String(36), primary_key=True),
        _user_id(nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("client", sa.String(200), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_logins_user_id", "logins", ["user_id"])
    op.execute(
        "INSERT INTO logins (id, user_id, method, address, client, started_at, last_used_at) "
        "SELECT family_id, user_id, 'password', '', '', MIN(issued_at), MAX(issued_at) "
        "FROM refresh_tokens GROUP BY family_id, user_id"
    )
    op.create_table(
        "external_identities",
        sa.Column("issuer", sa.String(255), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        _user_id(nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_external_identities_user_id", "external_identities", ["user_id"])
    op.create_table(
        "one_time_links",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("purpose", sa.String(16), nullable=False),
        _user_id(nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_one_time_links_user_id", "one_time_links", ["user_id"])
    op.create_table(
        "sign_in_tries",
        sa.Column("key_hash", sa.String(64), primary_key=True),
        sa.Column("full_at", UtcDateTime(), nullable=False),
    )
    op.create_index("ix_sign_in_tries_full_at", "sign_in_tries", ["full_at"])
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("retires_at", UtcDateTime(), nullable=True),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("signing_keys", "sign_in_tries", "one_time_links", "external_identities", "logins"):
        op.drop_table(table)


def _user_id(*, nullable: bool) -> sa.Column[str]:
    return sa.Column("user_id", sa.String(36), sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=nullable)
