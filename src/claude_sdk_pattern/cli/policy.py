"""``claude-sdk-pattern policy ...``: try a policy file before a server is started with it."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from pydantic import TypeAdapter

from claude_sdk_pattern.cli.failing import explained_failures
from claude_sdk_pattern.policy.calls import GateContext, ToolCall
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.loading import load_policy
from claude_sdk_pattern.policy.model import RoleName

app = typer.Typer(help="Look at the policy of tools, files, hosts and commands.", no_args_is_help=True)

_FileOption = Annotated[
    Path | None, typer.Option("--file", help="A policy file laid over the built-in policy.", dir_okay=False)
]


@app.command("check")
def check(file: Annotated[Path | None, typer.Argument(help="The policy file.", dir_okay=False)] = None) -> None:
    """Say whether a policy file is valid; without one, look at the built-in policy."""
    with explained_failures():
        policy = load_policy(file)
    typer.echo(f"{len(policy.tools)} tools, {len(policy.rules)} rules, {len(policy.hosts.allow)} open hosts: valid")


@app.command("explain")
def explain(
    tool: Annotated[str, typer.Argument(help="Name of the tool, such as Bash.")],
    tool_input: Annotated[str, typer.Argument(metavar="INPUT", help='Its input as JSON: {"command": "ls"}.')],
    file: _FileOption = None,
    role: Annotated[str, typer.Option(help="Role of the person whose session it is.")] = "user",
    mode: Annotated[str, typer.Option(help="Permission mode of the session.")] = "default",
    workspace: Annotated[Path, typer.Option(help="The session's folder.")] = Path("/workspace"),
) -> None:
    """Say what the gate would decide about a call, and by which rule."""
    with explained_failures():
        known = TypeAdapter[RoleName](RoleName).validate_python(role)
        data = TypeAdapter(dict[str, Any]).validate_json(tool_input)
        gate = PermissionGate(load_policy(file))
        context = GateContext(role=known, workspace=workspace, permission_mode=mode)
        verdict = gate.decide(ToolCall(tool=tool, input=data), context)
    typer.echo(f"{verdict.decision}{f' by {verdict.rule}' if verdict.rule else ''}")
    if verdict.reason:
        typer.echo(verdict.reason)
    if verdict.changed_input is not None:
        typer.echo(f"with {orjson.dumps(verdict.changed_input).decode()}")
