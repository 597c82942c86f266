"""Starts and stops the parts of a server, in the order in which they depend on each other."""

import contextlib
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Final

import claude_agent_sdk
import structlog

from claude_sdk_pattern.accounts.accounts import Accounts, TokenLifetimes
from claude_sdk_pattern.api.health_checks import HealthCheckFailedError, HealthChecks, Probe
from claude_sdk_pattern.api.presence import Presence
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog, LogLimits
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.isolation.launcher import Isolation, resolve_isolation, write_launcher
from claude_sdk_pattern.model_gateway.breaker import BreakerState, CircuitBreaker
from claude_sdk_pattern.model_gateway.exchange import ModelTimeouts
from claude_sdk_pattern.model_gateway.failures import RetryPolicy
from claude_sdk_pattern.model_gateway.loopback import serve_on_loopback
from claude_sdk_pattern.model_gateway.prices import load_prices
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.model_gateway.spending import SpendingMeters
from claude_sdk_pattern.model_gateway.tokens import AgentTokens
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.manager import SessionManager
from claude_sdk_pattern.sessions.options import OptionsBuilder
from claude_sdk_pattern.sessions.orphans import AgentRecords
from claude_sdk_pattern.sessions.process_factory import ProcessFactory
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.data_folder import locked_data_folder, temporary_files_in
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import require_current_schema
from claude_sdk_pattern.telemetry.metrics import Metrics

logger = structlog.get_logger(__name__)

CLI: Final = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
"""The Claude Code executable that comes with the SDK."""


@contextlib.asynccontextmanager
async def running_services(settings: Settings) -> AsyncGenerator[Services]:
    """Start everything in the order in which it depends on each other, and stop it in the reverse."""
    async with contextlib.AsyncExitStack() as stack:
        node_id = stack.enter_context(locked_data_folder(settings.data_dir))
        records = AgentRecords(settings.data_dir / "run" / "agents")
        await records.end_left_behind()
        stack.enter_context(temporary_files_in(settings.data_dir / "run" / "tmp"))
        database = await stack.enter_async_context(Database(settings.database_url))
        await require_current_schema(database)
        metrics = Metrics()
        leases = await stack.enter_async_context(
            Leases(database, node_id=node_id, lease_seconds=settings.lease_seconds)
        )
        short = settings.max_tool_result_bytes
        hub = EventHub(TapeReader(database, tool_result_bytes=short))
        limits = LogLimits(tool_result_bytes=short)
        log = await stack.enter_async_context(EventLog(database, hub, limits=limits, may_write=leases.holds))
        gateway, gateway_url, tokens = await _start_gateway(settings, metrics, stack)
        workspaces = Workspaces(settings.data_dir)
        factory = ProcessFactory(
            settings=settings,
            options=OptionsBuilder(settings, launcher=await _launcher(settings), gateway_url=gateway_url),
            tokens=tokens,
            database=database,
            workspaces=workspaces,
            leases=leases,
            records=records,
        )
        manager = await stack.enter_async_context(
            SessionManager(
                settings=settings,
                database=database,
                log=log,
                hub=hub,
                factory=factory,
                workspaces=workspaces,
                model=gateway,
                metrics=metrics,
                leases=leases,
            )
        )
        presence = Presence()
        metrics.watch_active_sessions(lambda: manager.process_count)
        metrics.watch_pool(lambda: manager.pool.size)
        metrics.watch_websockets(lambda: presence.connections)
        yield Services(
            settings=settings,
            database=database,
            accounts=_accounts(settings, database),
            manager=manager,
            log=log,
            hub=hub,
            presence=presence,
            health=_health(settings, database, manager),
            metrics=metrics,
        )


async def _start_gateway(
    settings: Settings, metrics: Metrics, stack: contextlib.AsyncExitStack
) -> tuple[ModelGateway, str, AgentTokens]:
    """Start the model gateway, in demo mode with the scripted model behind it; return it, its address and tokens."""

    def report_breaker(state: BreakerState) -> None:
        logger.warning("model_breaker", state=state.name.lower())
        metrics.set_breaker_state(state)

    upstream, api_key = settings.anthropic_base_url, settings.anthropic_api_key
    if settings.demo:
        model = await stack.enter_async_context(running_scripted_model())
        upstream, api_key = model.base_url, None
    tokens = AgentTokens()
    gateway = ModelGateway(
        upstream=upstream,
        api_key=None if api_key is None else api_key.get_secret_value(),
        tokens=tokens,
        breaker=CircuitBreaker(
            failures=settings.breaker_failures,
            window_seconds=settings.breaker_window_seconds,
            open_seconds=settings.breaker_open_seconds,
            on_change=report_breaker,
        ),
        timeouts=ModelTimeouts(
            first_byte_seconds=settings.model_first_byte_timeout_seconds,
            idle_seconds=settings.model_idle_timeout_seconds,
        ),
        policy=RetryPolicy(
            max_retries=settings.model_max_retries,
            max_retry_wait_seconds=settings.model_max_retry_wait_seconds,
        ),
        meters=SpendingMeters(load_prices(settings.model_prices_file), budget_usd=settings.max_budget_usd),
    )
    await stack.enter_async_context(gateway.running())
    return gateway, await stack.enter_async_context(serve_on_loopback(gateway)), tokens


async def _launcher(settings: Settings) -> Path:
    isolation = await resolve_isolation(None if settings.isolation is None else Isolation(settings.isolation))
    logger.info("agent_isolation", isolation=isolation.value)
    return write_launcher((settings.data_dir / "run" / "agent").absolute(), isolation=isolation, cli=CLI)


def _health(settings: Settings, database: Database, manager: SessionManager) -> HealthChecks:
    async def schema_is_current() -> None:
        await require_current_schema(database)

    async def takes_messages() -> None:
        if manager.is_closing:
            raise HealthCheckFailedError("shutting down")

    async def pool_is_filled() -> None:
        if settings.prewarm_pool_size and not manager.pool.is_filled:
            raise HealthCheckFailedError("still filling")

    checks = HealthChecks()
    checks.add("database", schema_is_current, Probe.READY, Probe.STARTUP)
    checks.add("sessions", takes_messages, Probe.READY)
    checks.add("warm_pool", pool_is_filled, Probe.STARTUP)
    return checks


def _accounts(settings: Settings, database: Database) -> Accounts:
    return Accounts(
        database,
        secret_key=settings.secret_key.get_secret_value(),
        lifetimes=TokenLifetimes(
            access=timedelta(seconds=settings.access_token_ttl_seconds),
            refresh=timedelta(seconds=settings.refresh_token_ttl_seconds),
            ticket=timedelta(seconds=settings.ticket_ttl_seconds),
        ),
    )
