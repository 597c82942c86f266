"""Starts and stops the parts of a server, in the order in which they depend on each other."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import claude_agent_sdk
import structlog

from claude_sdk_pattern import __version__
from claude_sdk_pattern.accounts.accounts import Accounts, OidcConfig, TokenLifetimes
from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.accounts.audit_chain import Anchor
from claude_sdk_pattern.accounts.errors import AccountError
from claude_sdk_pattern.accounts.oidc_provider import Client
from claude_sdk_pattern.accounts.oidc_sign_in import OidcPolicy
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api.health_checks import HealthCheckFailedError, HealthChecks, Probe
from claude_sdk_pattern.api.presence import Presence
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.config.logging import redactor
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog, LogLimits
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.isolation.confinement import Confinement
from claude_sdk_pattern.isolation.housing import Housing
from claude_sdk_pattern.limits.buckets import MemoryBuckets
from claude_sdk_pattern.limits.connections import ConnectionLimit
from claude_sdk_pattern.limits.rate_limits import RateLimits
from claude_sdk_pattern.limits.shared_buckets import SharedBuckets
from claude_sdk_pattern.model_gateway.breaker import BreakerState, CircuitBreaker
from claude_sdk_pattern.model_gateway.exchange import ModelTimeouts
from claude_sdk_pattern.model_gateway.failures import RetryPolicy
from claude_sdk_pattern.model_gateway.prices import load_prices
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.model_gateway.spending import SpendingMeters
from claude_sdk_pattern.model_gateway.tokens import AgentTokens
from claude_sdk_pattern.plugins.archives import ArchiveLimits
from claude_sdk_pattern.plugins.cli_validation import CliValidator
from claude_sdk_pattern.plugins.judging import PackageJudge
from claude_sdk_pattern.plugins.marketplaces import Marketplaces
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.registry import PluginRegistry
from claude_sdk_pattern.plugins.runtime.health import PluginHealth
from claude_sdk_pattern.plugins.runtime.links import ProcessLimits
from claude_sdk_pattern.plugins.runtime.plugin_at_work import Platform, RunningSettings
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.plugins.signatures import load_public_keys
from claude_sdk_pattern.policy.loading import load_policy
from claude_sdk_pattern.policy.model import RoleName
from claude_sdk_pattern.sessions.access_watch import AccessWatch
from claude_sdk_pattern.sessions.app_calls import AppCalls
from claude_sdk_pattern.sessions.housing import housed
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.manager import SessionManager
from claude_sdk_pattern.sessions.orphans import AgentRecords
from claude_sdk_pattern.sessions.plugin_requests import PluginRequests
from claude_sdk_pattern.sessions.policy_services import CORE_EVENTS, make_policy_services
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
        base_policy = load_policy(settings.policy_file, open_hosts=settings.egress_allowed_hosts)
        node_id = stack.enter_context(locked_data_folder(settings.data_dir))
        records = AgentRecords(settings.data_dir / "run" / "agents")
        await records.end_left_behind()
        stack.enter_context(temporary_files_in(settings.data_dir / "run" / "tmp"))
        database = await stack.enter_async_context(Database(settings.database_url))
        await require_current_schema(database)
        audit = await stack.enter_async_context(AuditLog(database, on_anchor=_log_anchor))
        metrics = Metrics()
        leases = await stack.enter_async_context(
            Leases(database, node_id=node_id, lease_seconds=settings.lease_seconds)
        )
        short = settings.max_tool_result_bytes
        hub = EventHub(TapeReader(database, tool_result_bytes=short))
        limits = LogLimits(tool_result_bytes=short)
        log = await stack.enter_async_context(EventLog(database, hub, limits=limits, may_write=leases.holds))
        gateway, tokens = await _start_gateway(settings, metrics, stack)
        housing = await stack.enter_async_context(housed(settings, cli=CLI, gateway=gateway, metrics=metrics))
        workspaces = Workspaces(settings.data_dir, owner=housing.owner)
        await workspaces.sweep_private()
        accounts = _accounts(settings, database, audit)
        confinement = Confinement(
            settings.data_dir / "run" / "plugins",
            isolation=housing.isolation,
            uid=settings.agent_uid,
            on_egress=metrics.count_egress,
        )
        await stack.enter_async_context(confinement.running())
        rate_limits = _rate_limits(settings, database)
        plugin_requests = PluginRequests(
            public_owner=lambda: _plugin_user(settings, accounts),
            may_begin=rate_limits.check_new_session,
            query_seconds=settings.query_timeout_seconds,
        )
        secrets = _plugin_secrets(settings, database)
        health = PluginHealth()
        runtime = _plugin_runtime(settings, metrics, confinement, plugin_requests, secrets, health)
        stack.push_async_callback(runtime.aclose)
        plugins, marketplaces = await _start_plugins(settings, database, audit, metrics, secrets, runtime, stack)
        await stack.enter_async_context(health.told_to(plugins.report_trouble))
        policy = make_policy_services(
            base_policy,
            database=database,
            role_of=lambda user_id: _role_of(accounts, user_id),
            workspaces=workspaces,
            metrics=metrics,
            approval_timeout_seconds=settings.approval_timeout_seconds,
            plugins=runtime,
        )
        factory = ProcessFactory(
            settings=settings,
            housing=housing,
            hook_events=CORE_EVENTS,
            tokens=tokens,
            database=database,
            workspaces=workspaces,
            leases=leases,
            records=records,
            plugins=runtime,
            files=base_policy.files,
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
                policy=policy,
                active_plugins=lambda: plugins.active,
            )
        )
        plugins.watch(manager.take_up_plugins)
        plugin_requests.attach(manager, hub)
        watch = AccessWatch(lambda: manager.conversations, accounts.users.without_access)
        await stack.enter_async_context(_running(watch.run(), name="access-watch"))
        presence = Presence()
        metrics.watch_active_sessions(lambda: manager.process_count)
        metrics.watch_pool(lambda: manager.pool.size)
        metrics.watch_websockets(lambda: presence.connections)
        yield Services(
            settings=settings,
            database=database,
            accounts=accounts,
            audit=audit,
            manager=manager,
            policy=policy,
            plugins=plugins,
            marketplaces=marketplaces,
            log=log,
            hub=hub,
            presence=presence,
            rate_limits=rate_limits,
            connections=ConnectionLimit(settings.max_connections_per_user),
            health=_health(settings, database, manager, housing),
            metrics=metrics,
            plugin_runtime=runtime,
            plugin_requests=plugin_requests,
            app_calls=AppCalls(policy, runtime),
        )


def _plugin_runtime(
    settings: Settings,
    metrics: Metrics,
    confinement: Confinement,
    requests: PluginRequests,
    secrets: SecretStore,
    health: PluginHealth,
) -> PluginRuntime:
    """Return what puts plugins to work."""
    limits = ProcessLimits(
        processes=settings.plugin_max_processes,
        open_files=settings.plugin_max_open_files,
        file_mb=settings.plugin_max_file_mb,
        cpu_seconds=settings.plugin_max_cpu_seconds,
        tmp_mb=settings.plugin_tmp_mb,
        max_message_bytes=settings.plugin_max_message_bytes,
    )
    running = RunningSettings(
        data=(settings.data_dir / "plugin-data").absolute(),
        limits=limits,
        start_seconds=settings.plugin_start_timeout_seconds,
        max_result_bytes=settings.plugin_max_result_bytes,
        networks=tuple(ip_network(text) for text in settings.egress_allowed_networks),
    )

    return PluginRuntime(
        running,
        Platform(confinement=confinement, reveal=secrets.reveal, ask=requests.answer),
        folders=settings.data_dir / "run" / "plugin-folders",
        on_health=health.note,
        on_call=metrics.observe_plugin_tool,
        redact=secrets.redactor.text,
    )


async def _plugin_user(settings: Settings, accounts: Accounts) -> str | None:
    """Return the id of the user for what plugins ask behind public paths."""
    if settings.plugin_user is None:
        return None
    try:
        return (await accounts.users.find(settings.plugin_user)).user.id
    except AccountError:
        logger.warning("plugin_user_is_nobody", name=settings.plugin_user)
        return None


async def _role_of(accounts: Accounts, user_id: str) -> RoleName:
    return (await accounts.users.get(user_id)).user.role.value


def _log_anchor(anchor: Anchor) -> None:
    # Kept elsewhere, as logs are, it shows a chain that was computed anew or lost its end.
    logger.info("audit_anchor", anchor=str(anchor))


def _plugin_secrets(settings: Settings, database: Database) -> SecretStore:
    previous = settings.previous_secret_key
    return SecretStore(
        database,
        secret_key=settings.secret_key.get_secret_value(),
        previous_secret_key=None if previous is None else previous.get_secret_value(),
        files=settings.plugin_secrets_dir,
        on_reveal=redactor.register,
    )


async def _start_plugins(
    settings: Settings,
    database: Database,
    audit: AuditLog,
    metrics: Metrics,
    secrets: SecretStore,
    runtime: PluginRuntime,
    stack: contextlib.AsyncExitStack,
) -> tuple[PluginRegistry, Marketplaces]:
    """Start the plugins that are active, and return their registry and the marketplaces."""
    keys = load_public_keys(settings.plugin_signing_keys)
    limits = ArchiveLimits(max_bytes=settings.max_plugin_mb * 1024 * 1024)
    registry = PluginRegistry(
        database,
        store=PackageStore(database, settings.data_dir / "plugins" / "packages"),
        secrets=secrets,
        judge=PackageJudge(platform_version=__version__, validate=CliValidator(CLI)),
        audit=audit,
        plugins_dir=settings.plugins_dir,
        activators=[runtime],
        activation_timeout_seconds=settings.plugin_activation_timeout_seconds,
        limits=limits,
        signing_keys=keys,
        trusted=settings.trusted_plugins,
        on_statuses=metrics.set_plugins,
    )
    await stack.enter_async_context(registry)
    marketplaces = Marketplaces(
        database,
        registry,
        audit,
        paths=settings.marketplaces,
        folder=settings.data_dir / "plugins" / "marketplaces",
        limits=limits,
        signing_keys=keys,
    )
    await marketplaces.prepare()
    return registry, marketplaces


async def _start_gateway(
    settings: Settings, metrics: Metrics, stack: contextlib.AsyncExitStack
) -> tuple[ModelGateway, AgentTokens]:
    """Start the model gateway, in demo mode with the scripted model behind it; return it and its tokens."""

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
        meters=SpendingMeters(
            load_prices(settings.model_prices_file),
            budget_usd=settings.max_budget_usd,
            user_budget_usd=settings.max_user_budget_usd,
        ),
    )
    await stack.enter_async_context(gateway.running())
    return gateway, tokens


def _health(settings: Settings, database: Database, manager: SessionManager, housing: Housing) -> HealthChecks:
    async def schema_is_current() -> None:
        await require_current_schema(database)

    async def takes_messages() -> None:
        if manager.is_closing:
            raise HealthCheckFailedError("shutting down")

    async def pool_is_filled() -> None:
        if settings.prewarm_pool_size and not manager.pool.is_filled:
            raise HealthCheckFailedError("still filling")

    checks = HealthChecks(details=housing.details)
    checks.add("database", schema_is_current, Probe.READY, Probe.STARTUP)
    checks.add("sessions", takes_messages, Probe.READY)
    checks.add("warm_pool", pool_is_filled, Probe.STARTUP)
    return checks


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None], *, name: str) -> AsyncGenerator[None]:
    """Run something in the background until the context ends."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _accounts(settings: Settings, database: Database, audit: AuditLog) -> Accounts:
    previous = settings.previous_secret_key
    return Accounts(
        database,
        secret_key=settings.secret_key.get_secret_value(),
        previous_secret_key=None if previous is None else previous.get_secret_value(),
        lifetimes=TokenLifetimes(
            access=timedelta(seconds=settings.access_token_ttl_seconds),
            refresh=timedelta(seconds=settings.refresh_token_ttl_seconds),
            ticket=timedelta(seconds=settings.ticket_ttl_seconds),
        ),
        audit=audit,
        oidc=_oidc(settings),
    )


def _oidc(settings: Settings) -> OidcConfig | None:
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    policy = OidcPolicy(
        role_claim=settings.oidc_role_claim,
        roles={group: Role(role) for group, _, role in (pair.rpartition("=") for pair in settings.oidc_roles)},
        allowed_domains=settings.oidc_allowed_domains,
        allowed_emails=settings.oidc_allowed_emails,
        auto_create=settings.oidc_auto_create,
    )
    client = Client(client_id=settings.oidc_client_id, client_secret=settings.oidc_secret, scopes=settings.oidc_scopes)
    return OidcConfig(issuer=settings.oidc_issuer, name=settings.oidc_name, client=client, policy=policy)


def _rate_limits(settings: Settings, database: Database) -> RateLimits:
    own = MemoryBuckets()
    return RateLimits(
        # An SQLite file serves one server, and has better things to do than to count.
        own if database.dialect == "sqlite" else SharedBuckets(database, own),
        requests_per_minute=settings.rate_limit_requests_per_minute,
        new_sessions_per_minute=settings.rate_limit_new_sessions_per_minute,
        session_messages_per_minute=settings.rate_limit_session_messages_per_minute,
        user_messages_per_minute=settings.rate_limit_user_messages_per_minute,
    )
