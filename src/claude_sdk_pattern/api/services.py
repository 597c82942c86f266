"""What the routes need of the rest of the server, and how they get at it."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.api.health_checks import HealthChecks
from claude_sdk_pattern.api.presence import Presence
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.sessions.manager import SessionManager
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a running server. The composition root makes it and puts it on ``app.state.services``."""

    settings: Settings
    database: Database
    accounts: Accounts
    manager: SessionManager
    log: EventLog
    hub: EventHub
    presence: Presence
    health: HealthChecks
    metrics: Metrics


def services_of(connection: HTTPConnection) -> Services:
    """Return the services of the application a request or WebSocket belongs to."""
    return cast("Services", connection.app.state.services)


ServicesDependency = Annotated[Services, Depends(services_of)]
