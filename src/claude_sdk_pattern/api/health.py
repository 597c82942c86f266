"""The probes of Kubernetes and load balancers. No authentication, and nothing about the inside but names of checks."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from claude_sdk_pattern.api.health_checks import HealthChecks, Probe
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import ServicesDependency

router = APIRouter(prefix="/api/v1/health", tags=["health"], responses=PROBLEM_RESPONSES)

# Long enough for a check to come out otherwise.
_RETRY_AFTER_SECONDS = 1

_WORDS = {
    Probe.READY: ("not_ready", "Not ready"),
    Probe.STARTUP: ("not_started", "Still starting"),
}


class Health(BaseModel):
    """All is well; ``checks`` are the ones that were asked, ``details`` how the server runs (``isolation``)."""

    status: Literal["ok"] = "ok"
    checks: dict[str, str] = {}
    details: dict[str, str] = {}


@router.get("/live")
async def live(response: Response) -> Health:
    """Say that the process answers. Depends on nothing else: a restart would mend no database."""
    response.headers["Cache-Control"] = "no-store"
    return Health()


@router.get("/ready")
async def ready(services: ServicesDependency, response: Response) -> Health:
    """Say whether the server can take messages now; 503 names what it lacks."""
    return await _answer(services.health, Probe.READY, response)


@router.get("/startup")
async def startup(services: ServicesDependency, response: Response) -> Health:
    """Say whether the server has finished starting; 503 names what is still to come."""
    return await _answer(services.health, Probe.STARTUP, response)


async def _answer(checks: HealthChecks, probe: Probe, response: Response) -> Health:
    report = await checks.report(probe)
    if report.failed:
        code, title = _WORDS[probe]
        detail = "; ".join(f"{name}: {outcome}" for name, outcome in report.failed.items())
        extra = {"checks": dict(report.outcomes)}
        raise Problem(503, code, title, detail, extra=extra, retry_after_seconds=_RETRY_AFTER_SECONDS)
    response.headers["Cache-Control"] = "no-store"
    return Health(checks=dict(report.outcomes), details=dict(checks.details))
