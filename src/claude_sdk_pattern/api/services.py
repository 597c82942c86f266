"""What the routes need of the rest of the server, and how they get at it."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.api.health_checks import HealthChecks
from claude_sdk_pattern.api.presence import Presence
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.limits.connections import ConnectionLimit
from claude_sdk_pattern.limits.rate_limits import RateLimits
from claude_sdk_pattern.plugins.marketplaces import Marketplaces
from claude_sdk_pattern.plugins.registry import PluginRegistry
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.sessions.app_calls import AppCalls
from claude_sdk_pattern.sessions.manager import SessionManager
from claude_sdk_pattern.sessions.plugin_requests import PluginRequests
from claude_sdk_pattern.sessions.policy_services import PolicyServices
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a running server. The composition root makes it and puts it on ``app.state.services``."""

    settings: Settings
    database: Database
    accounts: Accounts
    audit: AuditLog
    manager: SessionManager
    policy: PolicyServices
    plugins: PluginRegistry
    marketplaces: Marketplaces
    log: EventLog
    hub: EventHub
    presence: Presence
    rate_limits: RateLimits
    connections: ConnectionLimit
    health: HealthChecks
    metrics: Metrics
    plugin_runtime: PluginRuntime
    plugin_requests: PluginRequests
    app_calls: AppCalls


def services_of(connection: HTTPConnection) -> Services:
    """Return the services of the application a request or WebSocket belongs to."""
    return cast("Services", connection.app.state.services)


ServicesDependency = Annotated[Services, Depends(services_of)]
