"""``claude-sdk-pattern migrate``."""

import asyncio

import typer

from claude_sdk_pattern.cli.failing import explained_failures
from claude_sdk_pattern.config.settings import StorageSettings
from claude_sdk_pattern.storage import schema


def migrate() -> None:
    """Bring the database to the current schema. Does nothing if it is there already."""
    with explained_failures():
        asyncio.run(schema.migrate(StorageSettings().database_url))
    typer.echo(f"the database is at revision {schema.head_revision()}")
