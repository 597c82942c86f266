"""``claude-sdk-pattern migrate``, and the database as the other commands open it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import typer

from claude_sdk_pattern.cli.failing import explained_failures
from claude_sdk_pattern.config.settings import StorageSettings
from claude_sdk_pattern.storage import schema
from claude_sdk_pattern.storage.database import Database


def migrate() -> None:
    """Bring the database to the current schema. Does nothing if it is there already."""
    with explained_failures():
        asyncio.run(schema.migrate(StorageSettings().database_url))
    typer.echo(f"the database is at revision {schema.head_revision()}")


@asynccontextmanager
async def opened_database() -> AsyncGenerator[Database]:
    """Open the configured database for a command.

    Raises:
        SchemaMismatch: it was never migrated, or not to this version.
    """
    async with Database(StorageSettings().database_url) as database:
        if database.dialect == "sqlite" and not Path(database.sqlite_path).exists():  # noqa: ASYNC240 - nothing else runs
            # Opening it would make an empty file.
            raise schema.SchemaMismatch(None, schema.head_revision())
        await schema.require_current_schema(database)
        yield database
