"""How commands change users and keys: on the database, with the audit log."""

import asyncio
from collections.abc import Awaitable, Callable

from claude_sdk_pattern.accounts.administration import Administration
from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.cli.database import opened_database
from claude_sdk_pattern.cli.failing import explained_failures


def administer[T](work: Callable[[Administration], Awaitable[T]]) -> T:
    """Return what ``work`` returns; end the command with a message if it cannot be done."""

    async def run() -> T:
        async with opened_database() as database, AuditLog(database) as audit:
            return await work(Administration(database, audit))

    with explained_failures():
        return asyncio.run(run())
