"""Running the server from the command line: for real, and as a demo that needs nothing."""

import secrets
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import SecretStr

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api.http_protocol import bounded_to
from claude_sdk_pattern.config.logging import configure_logging
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.main import Alongside, create_app
from claude_sdk_pattern.model_gateway.prices import load_prices
from claude_sdk_pattern.plugins.signatures import load_public_keys
from claude_sdk_pattern.sessions.housing import resolve_housing
from claude_sdk_pattern.stopping import OPEN_REQUEST_SECONDS, StoppableServer
from claude_sdk_pattern.storage.data_folder import require_free_data_folder
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import migrate, require_current_schema

# A message has at most 32,000 characters by default; the rest is for what a person may change of a tool's input.
MAX_FRAME_BYTES = 1024 * 1024

# Proxies drop connections that say nothing, most of them after a minute.
_PING_SECONDS = 20.0

# Stands for "none given" until a real one is made up; never used to sign anything.
_UNSET_KEY = "0" * 64

DEMO_USERS = (Role.ADMIN, Role.OPERATOR, Role.USER)
"""Demo mode has one user of each role, named after it."""


async def check(settings: Settings) -> None:
    """Find out before anything starts whether the server can run.

    Raises:
        DataFolderInUse: another server runs on the data folder.
        SchemaMismatch: the database has to be migrated first.
        IsolationUnavailableError: the isolation that was asked for cannot be had.
        PriceTableError: the file of prices is not there or is none.
        ValueError: a file of a key that signs plugins is not there or holds none.
    """
    load_public_keys(settings.plugin_signing_keys)
    load_prices(settings.model_prices_file)
    require_free_data_folder(settings.data_dir)
    async with Database(settings.database_url) as database:
        await require_current_schema(database)
    await resolve_housing(settings)


def serve(settings: Settings, *, alongside: Alongside | None = None) -> None:
    """Run the server, and something beside it, until it is told to stop; see :mod:`claude_sdk_pattern.stopping`."""
    given = (
        settings.secret_key,
        settings.previous_secret_key,
        settings.anthropic_api_key,
        settings.demo_password,
        None if settings.oidc_secret is None else SecretStr(settings.oidc_secret),
    )
    configure_logging(settings.log_level, secrets=[secret.get_secret_value() for secret in given if secret is not None])
    app = create_app(settings, alongside=alongside)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=bounded_to(settings.max_connections),
        ws="websockets-sansio",
        # Compressing every token for every viewer costs twice the processor time and three times the memory.
        ws_per_message_deflate=False,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PING_SECONDS,
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        # Our own server runs the application's lifespan, so that a signal can end a start that is under way.
        lifespan="off",
        timeout_graceful_shutdown=OPEN_REQUEST_SECONDS,
    )
    StoppableServer(app, config, grace_seconds=settings.shutdown_grace_seconds).run()


async def announce_setup(settings: Settings) -> None:
    """Print a link that makes the first user, if there is none yet."""
    async with Database(settings.database_url) as database:
        accounts = Accounts(database, secret_key=settings.secret_key.get_secret_value())
        link = await accounts.setup_link()
    if link is None:
        return
    address = settings.public_url or f"http://{settings.host}:{settings.port}"
    print(
        f"""
  There are no users yet. Open this address within an hour and make the first administrator; it works once.

      {address}{link.path}

  Or run: claude-sdk-pattern user add NAME --role admin
""",
        flush=True,
    )


class _DemoSettings(Settings):
    """Settings of which a newcomer has to set none."""

    demo: bool = True
    secret_key: SecretStr = SecretStr(_UNSET_KEY)


def demo_settings(**fixed: Any) -> Settings:
    """Return the settings of demo mode: those that are set, and made-up secrets that last for the others.

    ``fixed`` are settings by name that count more than what is set.
    """
    found = _DemoSettings(**fixed)
    kept = found.data_dir / "run"
    made_up: dict[str, SecretStr] = {}
    if found.secret_key.get_secret_value() == _UNSET_KEY:
        made_up["secret_key"] = SecretStr(_kept(kept / "secret-key"))
    if found.demo_password is None:
        made_up["demo_password"] = SecretStr(_kept(kept / "demo-password", length=6))
    return found.model_copy(update=made_up)


async def prepare_demo(settings: Settings) -> str:
    """Bring the database up to date, give the demo users their password, and return it.

    Raises:
        DataFolderInUse: another server runs on the data folder.
    """
    require_free_data_folder(settings.data_dir)
    if settings.demo_password is None:
        raise ValueError("demo mode needs a password for its users")
    password = settings.demo_password.get_secret_value()
    await migrate(settings.database_url)
    async with Database(settings.database_url) as database:
        users = Accounts(database, secret_key=settings.secret_key.get_secret_value()).users
        for role in DEMO_USERS:
            # Not simply set: that would sign everybody out at each restart.
            await users.ensure(role.value, password, role)
    return password


def announce_demo(settings: Settings, password: str, folder: Path | None) -> None:
    """Print what a newcomer needs to know. Paths are shown as seen from ``folder``; without one nothing is kept."""
    what_becomes = "are thrown away"
    if folder is not None:
        data_dir = settings.data_dir.absolute()
        what_becomes = f"are kept in {data_dir.relative_to(folder) if data_dir.is_relative_to(folder) else data_dir}/"
    print(
        f"""
  claude_sdk_pattern, demo mode: the real Claude Code, answering from a script. No API key is used.

      open       http://{settings.host}:{settings.port}
      sign in    {", ".join(role.value for role in DEMO_USERS)}
      password   {password}

  Write "hello" for a tour. Ctrl-C stops the server; conversations {what_becomes}.
""",
        flush=True,
    )


def _kept(path: Path, *, length: int = 32) -> str:
    """Return the secret in a file of its owner's, made up the first time."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(length))
    return path.read_text()
