"""``claude-sdk-pattern plugin ...``: make plugins, judge them, and manage those of a deployment.

The commands that manage change the database; running servers take notice within seconds and start or stop what has to
be.
"""

import asyncio
import hashlib
import json
import logging
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import structlog
import typer
from pydantic import TypeAdapter

from claude_sdk_pattern import __version__, serving
from claude_sdk_pattern.accounts.audit import CLI_ACTOR, AuditAction, AuditLog
from claude_sdk_pattern.cli.database import opened_database
from claude_sdk_pattern.cli.failing import explained_failures, fail
from claude_sdk_pattern.config.settings import SecretSettings
from claude_sdk_pattern.plugins.archives import pack_folder
from claude_sdk_pattern.plugins.cli_validation import CliValidator
from claude_sdk_pattern.plugins.judging import PackageJudge
from claude_sdk_pattern.plugins.manifest import Name, PluginType, manifest_schema
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.registry import PluginOverview, PluginRegistry
from claude_sdk_pattern.plugins.scaffold import write_scaffold
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.plugins.signatures import sign_archive
from claude_sdk_pattern.runtime import CLI
from claude_sdk_pattern.workbench.developing import kept_active
from claude_sdk_pattern.workbench.inspection import inspect

app = typer.Typer(help="Make plugins, judge them, and manage those of a deployment.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The plugin's folder.", exists=True, file_okay=False)]
_Config = Annotated[
    Path | None,
    typer.Option("--config", help="JSON file with the values of its configuration.", exists=True, dir_okay=False),
]
_PluginName = Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name.")]


# --- for authors ------------------------------------------------------------------------------------------------


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and hyphens.")],
    kind: Annotated[str, typer.Option("--type", help="tool, mcp, skill or endpoint.")] = "tool",
    into: Annotated[Path, typer.Option("--into", help="Where its folder is made.", file_okay=False)] = Path("plugins"),
) -> None:
    """Write a small working plugin to begin with."""
    with explained_failures():
        checked = _checked_name(name)
        known = TypeAdapter[PluginType](PluginType).validate_python(kind) if kind in _TYPES else _unknown_type(kind)
        try:
            root = write_scaffold(into, checked, known)
        except FileExistsError:
            raise ValueError(f"{into / checked} is there already") from None
    typer.echo(f"wrote {root}; look at it with `claude-sdk-pattern plugin check {root}`")


@app.command("check")
def check(
    folder: _Folder,
    config: _Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object for programs.")] = False,
) -> None:
    """Say whether a plugin is valid and works, what it offers, and what it asks for.

    It is activated for a moment, behind the walls it would have, on a platform of its own: its modules are
    imported, its servers started and asked for their tools.
    """
    with explained_failures():
        with _unlogged():
            found = asyncio.run(inspect(folder, _read_config(config)))
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        package = found.package
        typer.echo(f"{package.name} {package.version} ({package.format}): valid, and it starts")
        for tool in found.tools:
            typer.echo(f"  {'tool':13} {tool.name}" + ("" if tool.is_declared else "  (not in permissions.tools)"))
        for label, value in _facts(package):
            typer.echo(f"  {label:13} {value}")
        for warning in package.warnings:
            typer.echo(f"warning: {warning}", err=True)
    if found.trouble is not None:
        fail(found.trouble)


@app.command("dev")
def dev(folder: _Folder, config: _Config = None) -> None:
    """Run the demo with a plugin that is put to work again whenever a file of it changes, until Ctrl-C.

    Conversations are thrown away at the end. Begin a new one to have the plugin as it is now.
    """
    with tempfile.TemporaryDirectory(prefix="plugin-dev-") as temporary:
        with explained_failures():
            values = _read_config(config)
            data = Path(temporary) / "data"
            settings = serving.demo_settings(
                data_dir=data,
                db_url=f"sqlite+aiosqlite:///{data / 'dev.db'}",
                plugins_dir=Path(temporary) / "plugins",
                log_level="ERROR",
            )
            password = asyncio.run(serving.prepare_demo(settings))
        serving.announce_demo(settings, password, None)
        keep = partial(kept_active, folder=folder.resolve(), config=values, say=lambda text: typer.echo(f"  {text}"))
        serving.serve(settings, alongside=keep)


@app.command("pack")
def pack(
    folder: _Folder,
    output: Annotated[
        Path | None, typer.Option("--output", help="The archive; by default NAME-VERSION.zip.", dir_okay=False)
    ] = None,
    sign: Annotated[
        Path | None, typer.Option("--sign", help="File with a private Ed25519 key in PEM.", exists=True, dir_okay=False)
    ] = None,
) -> None:
    """Write a valid plugin into an archive to upload. Equal folders give equal archives."""
    with explained_failures():
        package = asyncio.run(_judge(folder))
        archive = pack_folder(folder)
        target = output or Path(f"{package.name}-{package.version}.zip")
        target.write_bytes(archive)
        signature = None if sign is None else sign_archive(archive, sign)
    typer.echo(f"wrote {target}")
    typer.echo(f"sha256     {hashlib.sha256(archive).hexdigest()}")
    if signature is not None:
        typer.echo(f"signature  {signature}")


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of manifests, for editors."""
    typer.echo(json.dumps(manifest_schema(), indent=2))


# --- for operators ----------------------------------------------------------------------------------------------


@app.command("list")
def list_plugins() -> None:
    """List the plugins that the deployment knows."""
    overviews = _manage(lambda registry: registry.overview())
    width = max((len(one.record.name) for one in overviews), default=0)
    for one in overviews:
        told = f"  {one.record.last_error}" if one.record.last_error else ""
        typer.echo(f"{one.record.name:{width}}  {one.record.status.value:10}  {one.record.version:8}{told}")


@app.command("install")
def install(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder, or a zip archive.", exists=True)],
) -> None:
    """Add a plugin, or another version of one. It is not activated by that."""

    async def work(registry: PluginRegistry) -> PluginOverview:
        if await asyncio.to_thread(path.is_dir):
            return await registry.install_folder(path, actor=CLI_ACTOR, source="upload", origin=path.resolve().name)
        return await registry.install(await asyncio.to_thread(path.read_bytes), actor=CLI_ACTOR, origin=path.name)

    overview = _manage(work)
    typer.echo(f"installed {overview.record.name} {overview.record.version}")
    if overview.package is not None:
        for label, value in _facts(overview.package):
            typer.echo(f"  {label:13} {value}")


@app.command("activate")
def activate(name: _PluginName) -> None:
    """Have servers put a plugin to work, and agree to what it asks for. `list` says whether it worked."""
    overview = _manage(lambda registry: registry.activate(name, actor=CLI_ACTOR))
    typer.echo(f"{name} {overview.record.running_version} is to be active")


@app.command("deactivate")
def deactivate(name: _PluginName) -> None:
    """Have servers take a plugin away from new sessions."""
    _manage(lambda registry: registry.deactivate(name, actor=CLI_ACTOR))
    typer.echo(f"{name} is not active any more")


@app.command("remove")
def remove(name: _PluginName) -> None:
    """Forget a plugin with its configuration and secrets."""
    _manage(lambda registry: registry.remove(name, actor=CLI_ACTOR))
    typer.echo(f"removed {name}")


@app.command("secrets-rotate")
def secrets_rotate() -> None:
    """Encrypt all secrets of plugins with the secret key of today; CLAUDE_SDK_PATTERN_PREVIOUS_SECRET_KEY is read."""

    async def work() -> int:
        settings = SecretSettings.model_validate({})
        previous = settings.previous_secret_key
        async with opened_database() as database, AuditLog(database) as audit:
            store = SecretStore(
                database,
                secret_key=settings.secret_key.get_secret_value(),
                previous_secret_key=None if previous is None else previous.get_secret_value(),
            )
            count = await store.rotate()
            await audit.record(AuditAction.PLUGIN_SECRETS_ROTATED, actor=CLI_ACTOR, details={"count": count})
            return count

    with explained_failures():
        count = asyncio.run(work())
    typer.echo(f"encrypted {count} secrets anew")


_TYPES = ("tool", "mcp", "skill", "endpoint")


def _manage[T](work: Callable[[PluginRegistry], Awaitable[T]]) -> T:
    """Return what ``work`` returns, done with the records of the configured database."""

    async def run() -> T:
        settings = SecretSettings.model_validate({})
        with tempfile.TemporaryDirectory(prefix="plugin-command-") as temporary:
            async with opened_database() as database, AuditLog(database) as audit:
                registry = PluginRegistry(
                    database,
                    # The server's own folder is the server's.
                    store=PackageStore(database, Path(temporary) / "packages"),
                    secrets=SecretStore(database, secret_key=settings.secret_key.get_secret_value()),
                    judge=_make_judge(),
                    audit=audit,
                    plugins_dir=Path(temporary) / "none",
                    activators=[],
                    activation_timeout_seconds=30.0,
                    is_server=False,
                )
                return await work(registry)

    with explained_failures():
        return asyncio.run(run())


@contextmanager
def _unlogged() -> Generator[None]:
    """Log nothing: what a platform says while it comes and goes is not what was asked for."""
    configured = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        structlog.configure(**configured)


def _read_config(path: Path | None) -> dict[str, Any]:
    values: Any = {} if path is None else json.loads(path.read_text("utf-8"))
    if not isinstance(values, dict):
        raise ValueError(f"{path} has to hold an object")
    return cast("dict[str, Any]", values)


async def _judge(folder: Path) -> PluginPackage:
    return await _make_judge().judge(folder)


def _make_judge() -> PackageJudge:
    return PackageJudge(platform_version=__version__, validate=CliValidator(CLI))


def _facts(package: PluginPackage) -> list[tuple[str, str]]:
    """Return what a plugin brings and what it asks for, as lines; nothing for what it does not."""
    brought, asked = package.inventory, package.permissions
    facts = [
        ("brings tools", "yes" if brought.has_tools else ""),
        ("servers", ", ".join(brought.mcp_servers)),
        ("skills", ", ".join(brought.skills)),
        ("folders", ", ".join(brought.folders)),
        ("commands", ", ".join(brought.commands)),
        ("agents", ", ".join(brought.agents)),
        ("hooks", ", ".join(brought.hooks)),
        ("endpoints", "yes" if brought.endpoints else ""),
        ("profiles", ", ".join(brought.profiles)),
        ("page", ", ".join(brought.ui)),
        ("unused here", ", ".join(brought.other)),
        ("needs", ", ".join(f"{name} {wanted}" for name, wanted in package.dependencies.items())),
        ("may use", ", ".join(asked.tools)),
        ("may reach", ", ".join(asked.hosts)),
        ("may read", ", ".join(asked.paths.readable)),
        ("may write", ", ".join(asked.paths.writable)),
        ("is given", ", ".join(asked.secrets)),
        ("sets", ", ".join(asked.environment)),
        ("is told of", ", ".join(asked.events)),
        ("runs in page", ", ".join(asked.slots)),
        ("shows apps", "yes" if asked.apps else ""),
    ]
    return [(label, value) for label, value in facts if value]


def _checked_name(name: str) -> str:
    try:
        return TypeAdapter[str](Name).validate_python(name)
    except ValueError:
        raise ValueError(f"{name!r} is no name for a plugin: write lower-case letters, digits and hyphens") from None


def _unknown_type(kind: str) -> PluginType:
    raise ValueError(f"{kind!r} is no type of plugin: write {', '.join(_TYPES)}")
