"""The probes over real HTTP messages; the checks are written here, time is a number the tests set."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import anyio
import httpx2
import pytest
from fastapi import FastAPI

from claude_sdk_pattern.api import health, problems
from claude_sdk_pattern.api.health_checks import MAX_AGE_SECONDS, HealthCheckFailedError, HealthChecks, Probe

pytestmark = pytest.mark.anyio


@dataclass
class Probed:
    """A server that consists of its checks."""

    health: HealthChecks
    client: httpx2.AsyncClient
    seconds: float = 0.0

    async def get(self, probe: str) -> httpx2.Response:
        """Ask a probe."""
        return await self.client.get(f"/api/v1/health/{probe}")


@dataclass
class Part:
    """Something that can be well or not, and counts how often it was asked."""

    error: Exception | None = None
    asked: int = 0

    async def check(self) -> None:
        """Pass or fail."""
        self.asked += 1
        if self.error is not None:
            raise self.error


@pytest.fixture
async def probed(anyio_backend: str) -> AsyncGenerator[Probed]:
    """A server without checks."""
    app = FastAPI()
    problems.install(app)
    app.include_router(health.router)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as client:
        server = Probed(health=HealthChecks(lambda: server.seconds), client=client)
        app.state.services = server
        yield server


async def test_a_server_that_is_well_says_so(probed: Probed) -> None:
    probed.health.add("database", Part().check, Probe.READY, Probe.STARTUP)
    for probe in ("ready", "startup"):
        response = await probed.get(probe)
        assert response.status_code == 200
        assert response.json() == {"status": "ok", "checks": {"database": "ok"}, "details": {}}
        assert response.headers["cache-control"] == "no-store"


async def test_a_failed_check_is_named_and_its_inside_is_not_shown(probed: Probed) -> None:
    probed.health.add("sessions", Part().check, Probe.READY)
    probed.health.add("database", Part(ConnectionError("postgresql://user:secret@db")).check, Probe.READY)
    probed.health.add("warm_pool", Part(HealthCheckFailedError("still filling")).check, Probe.READY)
    response = await probed.get("ready")
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["retry-after"] == "1"
    assert response.json()["code"] == "not_ready"
    assert response.json()["detail"] == "database: failed; warm_pool: still filling"
    assert response.json()["checks"] == {"sessions": "ok", "database": "failed", "warm_pool": "still filling"}
    assert "secret" not in response.text


async def test_a_check_that_hangs_is_given_up_and_named(probed: Probed) -> None:
    probed.health.add("database", anyio.sleep_forever, Probe.READY, timeout_seconds=0.01)
    probed.health.add("sessions", Part().check, Probe.READY)
    with anyio.fail_after(5):
        response = await probed.get("ready")
    assert response.json()["checks"] == {"database": "timed out", "sessions": "ok"}


async def test_being_alive_depends_on_nothing(probed: Probed) -> None:
    probed.health.add("database", Part(ConnectionError()).check, Probe.READY, Probe.STARTUP)
    del probed.health
    response = await probed.get("live")
    assert (response.status_code, response.json()["status"]) == (200, "ok")


async def test_each_probe_asks_its_own_checks(probed: Probed) -> None:
    probed.health.add("warm_pool", Part(HealthCheckFailedError("still filling")).check, Probe.STARTUP)
    assert (await probed.get("ready")).status_code == 200
    response = await probed.get("startup")
    assert (response.status_code, response.json()["code"]) == (503, "not_started")


async def test_a_part_that_recovers_makes_the_server_ready_again(probed: Probed) -> None:
    database = Part(ConnectionError())
    probed.health.add("database", database.check, Probe.READY)
    assert (await probed.get("ready")).status_code == 503
    database.error = None
    probed.seconds += MAX_AGE_SECONDS
    assert (await probed.get("ready")).status_code == 200


async def test_a_start_that_is_over_stays_over(probed: Probed) -> None:
    pool = Part()
    probed.health.add("warm_pool", pool.check, Probe.STARTUP)
    await probed.get("startup")
    pool.error = HealthCheckFailedError("empty again")
    probed.seconds += 3600
    assert (await probed.get("startup")).status_code == 200


async def test_a_flood_of_probes_asks_the_database_once(probed: Probed) -> None:
    database = Part()
    probed.health.add("database", database.check, Probe.READY)
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(probed.get, "ready")
    assert database.asked == 1
