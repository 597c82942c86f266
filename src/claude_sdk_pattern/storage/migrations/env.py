"""Alembic's entry point. The connection comes from :mod:`claude_sdk_pattern.storage.schema`, which owns it."""

from alembic import context

from claude_sdk_pattern.storage.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite can change few things about a table; batch mode rebuilds it for the others.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
