"""The command ``claude-sdk-pattern``. Each module holds the commands of one concern; this one puts them together."""

import typer

from claude_sdk_pattern.cli import audit, database, keys, plugins, policy, server, users

app = typer.Typer(
    help="A pluggable, multi-user agent platform around the Claude Agent SDK.",
    no_args_is_help=True,
    add_completion=False,
    # Frames of an exception hold local variables, and those hold passwords.
    pretty_exceptions_enable=False,
)
app.command()(server.serve)
app.command()(server.demo)
app.command()(database.migrate)
app.add_typer(users.app, name="user")
app.add_typer(keys.app, name="keys")
app.add_typer(policy.app, name="policy")
app.add_typer(audit.app, name="audit")
app.add_typer(plugins.app, name="plugin")
