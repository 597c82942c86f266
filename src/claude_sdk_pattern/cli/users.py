"""``claude-sdk-pattern user ...``: who may sign in. Works on the database directly; a running server takes notice."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.users import Account, Role, Users
from claude_sdk_pattern.cli.failing import explained_failures, fail
from claude_sdk_pattern.config.settings import StorageSettings
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import SchemaMismatch, head_revision, require_current_schema

app = typer.Typer(help="Manage users.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The username.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the user is trusted with.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking for it.")
]


@app.command("add")
def add(name: Name, role: RoleOption = Role.USER, password_stdin: PasswordStdin = False) -> None:
    """Make a user."""
    password = _password(from_stdin=password_stdin)
    user = _with_users(lambda users: users.add(name, password, role))
    typer.echo(f"added {user.username} ({user.role})")


@app.command("list")
def list_users() -> None:
    """List all users."""
    accounts = _with_users(lambda users: users.list())
    width = max((len(account.user.username) for account in accounts), default=0)
    for account in accounts:
        typer.echo(f"{account.user.username:{width}}  {account.user.role:8}  {_state(account)}")


@app.command("set-password")
def set_password(name: Name, password_stdin: PasswordStdin = False) -> None:
    """Give a user a new password and sign them out everywhere."""
    password = _password(from_stdin=password_stdin)
    user = _with_users(lambda users: users.set_password(name, password))
    typer.echo(f"{user.username} has a new password and is signed out everywhere")


@app.command("set-role")
def set_role(name: Name, role: Annotated[Role, typer.Argument(metavar="ROLE", help="The new role.")]) -> None:
    """Change a user's role."""
    user = _with_users(lambda users: users.set_role(name, role))
    typer.echo(f"{user.username} is now {user.role}")


@app.command("disable")
def disable(name: Name) -> None:
    """Keep a user from signing in and sign them out everywhere. Their conversations stay."""
    user = _with_users(lambda users: users.disable(name))
    typer.echo(f"{user.username} cannot sign in any more")


@app.command("enable")
def enable(name: Name) -> None:
    """Let a disabled user sign in again."""
    user = _with_users(lambda users: users.enable(name))
    typer.echo(f"{user.username} can sign in")


def _with_users[T](work: Callable[[Users], Awaitable[T]]) -> T:
    """Return what ``work`` returns; end the command with a message if it cannot be done."""

    async def run() -> T:
        async with _opened_users() as users:
            return await work(users)

    with explained_failures():
        return asyncio.run(run())


@asynccontextmanager
async def _opened_users() -> AsyncGenerator[Users]:
    async with Database(StorageSettings().database_url) as database:
        _require_file(database)
        await require_current_schema(database)
        yield Users(database, Passwords())


def _require_file(database: Database) -> None:
    """Refuse an SQLite database that does not exist: opening it would make an empty file."""
    if database.dialect == "sqlite" and not Path(database.sqlite_path).exists():
        raise SchemaMismatch(None, head_revision())


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not sys.stdin.isatty():
        fail("there is no terminal to ask for the password; use --password-stdin")
    return typer.prompt("Password", hide_input=True, confirmation_prompt="Password, again")


def _state(account: Account) -> str:
    if account.disabled_at is not None:
        return f"disabled since {account.disabled_at:%Y-%m-%d}"
    return f"since {account.created_at:%Y-%m-%d}"
