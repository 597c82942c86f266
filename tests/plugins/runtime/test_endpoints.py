"""Endpoints of plugins: the application, the real plugin process, and the real agent behind what it asks for."""

import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from tests.support.platform import PASSWORD, Platform, running_platform
from tests.support.plugins_at_work import EXAMPLES, activate, write_plugin

from claude_sdk_pattern.main import create_app

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

KEY = "canary-webhook-key"

ODD_ROUTES = """
import os, time
from fastapi import APIRouter, Request, Response
from claude_sdk_pattern.plugins.author import plugin

router = APIRouter()

@router.get("/headers")
async def headers(request: Request): return dict(request.headers)

@router.get("/page")
async def page():
    return Response("<script>1</script>", media_type="text/html", headers={"set-cookie": "a=b", "x-plugin-own": "1"})

@router.get("/slow")
async def slow(): time.sleep(60)

@router.get("/crash")
async def crash(): os._exit(1)

@router.get("/raise")
async def fail(): raise ValueError("canary-inside")

@router.get("/large")
async def large(): return "x" * 20_000_000

@router.post("/ask")
async def ask(call: str):
    from claude_sdk_pattern.plugins.author import SURROUNDINGS
    return await SURROUNDINGS.get().ask("start_session", {"prompt": "say exactly: hello", "call_id": call})
"""


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform where Alice is the user for what public endpoints ask."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, plugin_user="alice") as running:
        yield running


@pytest.fixture
async def client(platform: Platform) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the application that nobody has signed in to."""
    app = create_app(platform.services.settings)
    app.state.services = platform.services
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as opened:
        yield opened


async def signed_in(client: httpx2.AsyncClient) -> dict[str, str]:
    body = {"username": "alice", "password": PASSWORD, "client": "api"}
    answer = (await client.post("/api/v1/auth/login", json=body)).raise_for_status()
    return {"authorization": f"Bearer {answer.json()['access_token']}"}


def signature(body: bytes) -> str:
    return hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()


async def test_a_webhook_goes_in_and_data_that_fits_the_schema_comes_back(
    platform: Platform, client: httpx2.AsyncClient
) -> None:
    await activate(platform, EXAMPLES / "triage", config={"WEBHOOK_SECRET": KEY})
    base, body = "/api/v1/plugins/triage", json.dumps({"text": "the roof leaks"}).encode()
    assert (await client.post(f"{base}/hook", content=body)).status_code == 401
    answer = await client.post(f"{base}/hook", content=body, headers={"x-signature": signature(body)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["verdict"] == {"severity": "low", "summary": "sample"}
    session = await platform.services.manager.get(answer.json()["session_id"])
    assert session.owner_id == platform.user.id
    assert session.permission_mode == "dontAsk"
    # What is not declared public is for people who are signed in.
    assert (await client.get(f"{base}/whoami")).status_code == 401
    headers = await signed_in(client)
    assert (await client.get(f"{base}/whoami", headers=headers)).json() == {"name": "alice"}
    too_large = await client.post(f"{base}/hook", content=b"x" * 65_537)
    assert too_large.status_code == 413
    await platform.services.plugins.deactivate("triage", actor="u1")
    assert (await client.get(f"{base}/whoami", headers=headers)).status_code == 404


async def test_an_endpoint_gets_no_token_sets_no_cookie_and_fails_alone(
    platform: Platform, client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    root = write_plugin(
        tmp_path / "odd",
        {"odd_routes.py": ODD_ROUTES},
        type="endpoint",
        capabilities={"endpoints": {"module": "odd_routes", "timeout_seconds": 2}},
    )
    await activate(platform, root)
    base, headers = "/api/v1/plugins/odd", await signed_in(client)
    seen = (await client.get(f"{base}/headers", headers={**headers, "cookie": "a=b", "x-mine": "1"})).json()
    assert seen["x-mine"] == "1"
    assert not {"authorization", "cookie"} & seen.keys()
    page = await client.get(f"{base}/page", headers=headers)
    assert page.headers["content-security-policy"].startswith("sandbox")
    assert page.headers["x-plugin-own"] == "1"
    assert "set-cookie" not in page.headers
    # Somebody else's call cannot be used, nor one that was made up.
    refused = await client.post(f"{base}/ask", params={"call": "made-up"}, headers=headers)
    assert refused.status_code == 500
    statuses = {"raise": 500, "large": 502, "crash": 502, "slow": 504, "nothing": 404}
    for path, status in statuses.items():
        answer = await client.get(f"{base}/{path}", headers=headers)
        assert (path, answer.status_code) == (path, status)
        assert "canary-inside" not in answer.text
    assert (await client.get(f"{base}/headers", headers=headers)).status_code == 200


SIZES = """
from fastapi import APIRouter, Request

router = APIRouter()

@router.post("/attachments")
async def size(request: Request): return len(await request.body())
"""


async def test_a_body_may_be_as_long_as_the_plugin_declares_up_to_the_operators_limit(
    sqlite_url: str, tmp_path: Path
) -> None:
    megabyte = 1024 * 1024
    endpoints = {"module": "routes", "public": ["/attachments"]}
    declared = {"small": None, "large": 4 * megabyte, "greedy": 100 * megabyte}
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, plugin_max_body_bytes=6 * megabyte
    ) as platform:
        for name, most in declared.items():
            part = endpoints if most is None else endpoints | {"max_body_bytes": most}
            files = {"routes.py": SIZES}
            await activate(
                platform, write_plugin(tmp_path / name, files, type="endpoint", capabilities={"endpoints": part})
            )
        app = create_app(platform.services.settings)
        app.state.services = platform.services
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            # Called like an upload of the platform's own, which it is not.
            for name, most in (("small", megabyte), ("large", 4 * megabyte), ("greedy", 6 * megabyte)):
                path = f"/api/v1/plugins/{name}/attachments"
                fits = await client.post(path, content=b"x" * most)
                assert (fits.status_code, fits.text) == (200, str(most))
                refused = await client.post(path, content=b"x" * (most + 1))
                assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
