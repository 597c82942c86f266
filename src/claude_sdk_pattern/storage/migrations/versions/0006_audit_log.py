"""The audit log, which the database lets nobody change by accident, and rate limits that servers share."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_GENESIS = "0" * 64

_POSTGRESQL = (
    """
    CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the audit log is append-only';
    END $$
    """,
    """
    CREATE TRIGGER audit_log_rows BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_append_only()
    """,
    """
    CREATE TRIGGER audit_log_truncate BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only()
    """,
    """
    CREATE TRIGGER audit_head_back BEFORE UPDATE ON audit_head
    FOR EACH ROW WHEN (NEW.seq <= OLD.seq OR NEW.id <> OLD.id) EXECUTE FUNCTION audit_log_is_append_only()
    """,
    """
    CREATE TRIGGER audit_head_delete BEFORE DELETE ON audit_head
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_append_only()
    """,
    """
    CREATE TRIGGER audit_head_truncate BEFORE TRUNCATE ON audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only()
    """,
)

_SQLITE = tuple(
    f"CREATE TRIGGER {name} BEFORE {event} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for name, event in (
        ("audit_log_update", "UPDATE ON audit_log"),
        ("audit_log_delete", "DELETE ON audit_log"),
        ("audit_head_back", "UPDATE ON audit_head WHEN NEW.seq <= OLD.seq OR NEW.id <> OLD.id"),
        ("audit_head_delete", "DELETE ON audit_head"),
        # REPLACE deletes without a delete trigger.
        ("audit_log_replace", "INSERT ON audit_log WHEN EXISTS (SELECT 1 FROM audit_log WHERE seq = NEW.seq)"),
        ("audit_head_replace", "INSERT ON audit_head WHEN EXISTS (SELECT 1 FROM audit_head)"),
    )
)


def upgrade() -> None:
    """Create the tables, the empty log's head, and the triggers."""
    op.create_table(
        "audit_log",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("actor", sa.String(255), nullable=True),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("correlation_id", sa.String(64), nullable=True),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("ix_audit_log_actor", "audit_log", ["actor", "seq"])
    op.create_index("ix_audit_log_action", "audit_log", ["action", "seq"])
    op.create_index("ix_audit_log_at", "audit_log", ["at_ms"])
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": _GENESIS}])
    op.create_table(
        "rate_limits",
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("full_at_ms", sa.Float(53), nullable=False),
        # Lost with a crash, and then everybody begins anew: worth no flush.
        prefixes=["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else [],
    )
    for statement in _POSTGRESQL if op.get_bind().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)


def downgrade() -> None:
    """Drop them, and with the tables their triggers."""
    op.drop_table("rate_limits")
    op.drop_table("audit_head")
    op.drop_table("audit_log")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_log_is_append_only()")
