"""``claude-sdk-pattern user ...``: who may sign in. Works on the database directly; a running server takes notice."""

import sys
from typing import Annotated

import typer

from claude_sdk_pattern.accounts.audit import CLI_ACTOR
from claude_sdk_pattern.accounts.users import Account, Role
from claude_sdk_pattern.cli.administering import administer
from claude_sdk_pattern.cli.failing import fail

app = typer.Typer(help="Manage users.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The username.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the user is trusted with.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking for it.")
]


@app.command("add")
def add(
    name: Name,
    role: RoleOption = Role.USER,
    password_stdin: PasswordStdin = False,
    link: Annotated[
        bool, typer.Option("--link", help="Ask for no password; print a link with which they choose one.")
    ] = False,
) -> None:
    """Make a user."""
    password = None if link else _password(from_stdin=password_stdin)
    user = administer(lambda administration: administration.add(name, password, role, actor=CLI_ACTOR))
    typer.echo(f"added {user.username} ({user.role})")
    if link:
        _print_link(name)


@app.command("list")
def list_users() -> None:
    """List all users."""
    accounts = administer(lambda administration: administration.users.list())
    width = max((len(account.user.username) for account in accounts), default=0)
    for account in accounts:
        typer.echo(f"{account.user.username:{width}}  {account.user.role:8}  {_state(account)}")


@app.command("set-password")
def set_password(name: Name, password_stdin: PasswordStdin = False) -> None:
    """Give a user a new password and sign them out everywhere."""
    password = _password(from_stdin=password_stdin)
    user = administer(lambda administration: administration.set_password(name, password, actor=CLI_ACTOR))
    typer.echo(f"{user.username} has a new password and is signed out everywhere")


@app.command("reset-password")
def reset_password(name: Name) -> None:
    """Print a link with which a user chooses a new password. Until then the old one is good."""
    _print_link(name)


@app.command("set-role")
def set_role(name: Name, role: Annotated[Role, typer.Argument(metavar="ROLE", help="The new role.")]) -> None:
    """Change a user's role and sign them out everywhere."""
    user = administer(lambda administration: administration.set_role(name, role, actor=CLI_ACTOR))
    typer.echo(f"{user.username} is now {user.role}")


@app.command("disable")
def disable(name: Name) -> None:
    """Keep a user from signing in and sign them out everywhere. Their conversations stay."""
    user = administer(lambda administration: administration.disable(name, actor=CLI_ACTOR))
    typer.echo(f"{user.username} cannot sign in any more")


@app.command("enable")
def enable(name: Name) -> None:
    """Let a disabled user sign in again."""
    user = administer(lambda administration: administration.enable(name, actor=CLI_ACTOR))
    typer.echo(f"{user.username} can sign in")


@app.command("sign-ins")
def sign_ins(name: Name) -> None:
    """List where a user is signed in."""
    for login in administer(lambda administration: administration.sign_ins(name)):
        typer.echo(
            f"{login.last_used_at:%Y-%m-%d %H:%M}  {login.method:8}  {login.origin.address:15}  {login.origin.client}"
        )


@app.command("sign-out")
def sign_out(name: Name) -> None:
    """Sign a user out everywhere."""
    user = administer(lambda administration: administration.sign_out(name, actor=CLI_ACTOR))
    typer.echo(f"{user.username} is signed out everywhere")


@app.command("link")
def link_identity(
    name: Name,
    subject: Annotated[str, typer.Option("--subject", help="What the identity provider calls them: its `sub` claim.")],
    issuer: Annotated[str, typer.Option("--issuer", help="The identity provider, as in OIDC_ISSUER.")],
) -> None:
    """Let a user sign in through the identity provider."""
    user = administer(lambda administration: administration.link(name, issuer, subject, actor=CLI_ACTOR))
    typer.echo(f"{user.username} signs in as {subject} of {issuer}")


@app.command("delete")
def delete(name: Name) -> None:
    """Delete a user who has no conversations; the page and the API delete those too."""
    administer(lambda administration: administration.delete(name, actor=CLI_ACTOR))
    typer.echo(f"deleted {name}")


def _print_link(name: str) -> None:
    link = administer(lambda administration: administration.reset_password(name, actor=CLI_ACTOR))
    typer.echo(
        f"give them this, behind the address of the server; it works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC:"
    )
    typer.echo(link.path)


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
