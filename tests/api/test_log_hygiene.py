"""Logs of a real run through many features at the most talkative level hold nothing of what was planted in them, and
one id leads from a command over the log to the request that reaches the model.
"""

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import orjson
import pytest
from tests.support.log_hygiene import CANARY, assert_clean, leaks_in
from tests.support.server import Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


@pytest.fixture
async def server(sqlite_template: Path, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Server]:
    shutil.copy(sqlite_template, tmp_path / "test.db")
    url = f"sqlite+aiosqlite:///{tmp_path / 'test.db'}"
    async with (
        running_scripted_model() as model,
        running_server(model.base_url, url, tmp_path / "data", log_level="DEBUG", prewarm_pool_size="0") as running,
    ):
        yield running


async def test_nothing_planted_is_in_the_log_of_a_run_through_many_features(server: Server) -> None:
    planted = f"{CANARY}-0123456789"
    async with server.client() as alice, httpx2.AsyncClient(base_url=server.url) as nobody:
        await nobody.post("/api/v1/auth/login", json={"username": planted[:60], "password": planted})
        await nobody.get("/api/v1/auth/me", headers={"authorization": f"Bearer {planted}"})
        await nobody.get("/api/v1/auth/me", params={"token": planted})
        await nobody.get(f"/api/v1/sessions/x/events?ticket={planted}")
        ticket = (await alice.post("/api/v1/auth/ticket")).json()["ticket"]
        session = (await alice.post("/api/v1/sessions", json={"title": planted})).raise_for_status().json()
        path = f"/api/v1/sessions/{session['id']}"
        await alice.get("/api/v1/sessions", params={"q": planted})
        stored = await alice.post(f"{path}/attachments", files={"file": (f"{planted}.txt", planted.encode())})
        async with server.chat(alice, f"?session_id={session['id']}") as chat:
            await chat.send(
                type="user_message",
                text=f"run bash: echo {planted}; echo {planted} >&2; exit 3",
                client_id=planted,
                attachments=[stored.json()["attachment_id"]],
            )
            request = await chat.until("permission_request")
            await chat.send(
                type="permission_response", request_id=request["request_id"], decision="allow", message=planted
            )
            await chat.until("result")
            await chat.socket.send(f'{{"type": "{planted}"}}')
            await chat.until("error")
            await chat.send(type="user_message", text=f"fail with status 400 {planted}", client_id="2")
            await chat.until("result")
        await alice.get(f"{path}/events", params={"ticket": ticket})
    await server.stop()
    assert_clean(server.log)
    # It was looked at, and has something to say.
    lines = [orjson.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    assert {"listening", "agent_isolation", "stopping", "draining"} <= {line["event"] for line in lines}


@pytest.mark.parametrize(
    "line",
    [
        "something canary-like",
        'authorization: "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhYmMifQ.x"',
        "GET /ws/v1/chat?ticket=abc",
        "csp_rt_0123456789",
        "key sk-ant-api03-0123456789",
    ],
)
def test_the_search_finds_what_it_looks_for(line: str) -> None:
    assert leaks_in(f"an innocent line\n{line}\n")
