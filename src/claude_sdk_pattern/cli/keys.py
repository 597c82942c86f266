"""``claude-sdk-pattern keys ...``: the keys that sign access tokens. A running server takes notice within seconds."""

from datetime import timedelta
from typing import Annotated

import typer

from claude_sdk_pattern.accounts.audit import CLI_ACTOR
from claude_sdk_pattern.cli.administering import administer

app = typer.Typer(help="Manage the keys that sign access tokens.", no_args_is_help=True)

_DEFAULT_LIFETIME_SECONDS = 900


@app.command("list")
def list_keys() -> None:
    """List the keys that are good now; the first one signs."""
    for key in administer(lambda administration: administration.keys()):
        state = "signs" if key.retires_at is None else f"is taken until {key.retires_at:%Y-%m-%d %H:%M:%S}"
        typer.echo(f"{key.id}  since {key.created_at:%Y-%m-%d %H:%M:%S}  {state}")


@app.command("rotate")
def rotate(
    token_lifetime_seconds: Annotated[
        int, typer.Option(min=1, help="Life of an access token: so long the key before is still taken.")
    ] = _DEFAULT_LIFETIME_SECONDS,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Take nothing that the keys before have signed: clients get new tokens.")
    ] = False,
) -> None:
    """Sign with a new key from now on."""
    lifetime = timedelta(0) if at_once else timedelta(seconds=token_lifetime_seconds)
    key = administer(lambda administration: administration.rotate_keys(token_lifetime=lifetime, actor=CLI_ACTOR))
    typer.echo(f"{key.id} signs from now on")
