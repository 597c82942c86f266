"""The edges of a real server under its real limits: rates, sizes, times, connections, names and headers.

Its limits are far lower than an operator would set them, so that a test need not send thousands.
"""

import asyncio
import contextlib
import json
import shutil
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.platform import PASSWORD, PATIENCE_SECONDS, eventually
from tests.support.server import ChatSocket, Server, running_server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from claude_sdk_pattern.api.http_protocol import MAX_HEAD_BYTES, MAX_HEADERS
from claude_sdk_pattern.api.request_limits import MAX_BODY_BYTES
from claude_sdk_pattern.api.response_headers import CONTENT_SECURITY_POLICY
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

SESSIONS = "/api/v1/sessions"
ME = "/api/v1/auth/me"


@pytest.fixture(scope="module")
async def strict(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Server]:
    """A server that takes little of anybody."""
    folder = tmp_path_factory.mktemp("strict")
    shutil.copy(sqlite_template, folder / "test.db")
    settings = {
        "prewarm_pool_size": "0",
        "max_connections": "12",
        "max_connections_per_user": "2",
        "rate_limit_requests_per_minute": "30",
        "rate_limit_new_sessions_per_minute": "6",
        "rate_limit_session_messages_per_minute": "2",
        "rate_limit_frames_per_second": "5",
    }
    async with running_scripted_model() as model:
        url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
        async with running_server(model.base_url, url, folder / "data", **settings) as running:
            yield running


@contextlib.asynccontextmanager
async def nobody(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE_SECONDS) as client:
        yield client


async def raw(server: Server, *pieces: bytes) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Send bytes and return status, headers and problem of the one answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        for piece in pieces:
            writer.write(piece)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await reader.read()
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(status.split()[1]), headers, json.loads(body)


async def flood(chat: ChatSocket) -> None:
    for _ in range(10_000):
        await chat.send(type="ping")
    while True:
        await chat.receive()


async def test_too_many_requests_are_refused_with_the_time_to_wait(strict: Server) -> None:
    async with strict.client("ada") as ada:
        answers = [await ada.get(ME) for _ in range(70)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert [answer.status_code for answer in answers[:50]] == [200] * 50
        assert refused[0].json()["code"] == "rate_limited"
        assert int(refused[0].headers["retry-after"]) in range(1, 4)
        assert refused[0].headers["x-request-id"]
        # Somebody else at the same address is not held up, nor is whoever watches over the server.
        async with strict.client("bob") as bob:
            assert (await bob.get(ME)).status_code == 200
        for _ in range(70):
            assert (await ada.get("/api/v1/health/live")).status_code == 200


async def test_messages_and_new_sessions_have_limits_of_their_own(strict: Server) -> None:
    async with strict.client("bob") as bob:
        made = [await bob.post(SESSIONS, json={}) for _ in range(8)]
        assert [answer.status_code for answer in made][:6] == [201] * 6
        assert made[-1].status_code == 429
        session_id = made[0].json()["id"]
        sent = [await bob.post(f"{SESSIONS}/{session_id}/messages", json={"text": "hi"}) for _ in range(3)]
        assert [answer.status_code for answer in sent] == [202, 202, 429]
        async with strict.chat(bob, f"?session_id={session_id}") as chat:
            await chat.send(type="user_message", text="hi", client_id="refused")
            error = await chat.until("error", code="rate_limited", client_id="refused")
            assert error["recoverable"]
            assert 0 < error["retry_after_ms"] <= 30_000
            await chat.send(type="session_command", command="fork")
            assert (await chat.until("error", code="rate_limited", command="fork"))["retry_after_ms"] > 0
            await chat.send(type="ping")
            await chat.until("pong")


async def test_a_flood_of_frames_is_refused_and_then_closed(strict: Server) -> None:
    async with strict.client() as alice:
        session_id = (await alice.post(SESSIONS, json={})).json()["id"]
        async with strict.chat(alice, f"?session_id={session_id}") as chat:
            await chat.until("hello")
            for _ in range(30):
                await chat.send(type="ping")
            assert (await chat.until("error"))["code"] == "rate_limited"
            with pytest.raises(ConnectionClosed) as closed:
                await flood(chat)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4429


async def test_one_user_has_only_so_many_connections(strict: Server) -> None:
    async with strict.client() as alice:
        session_id = (await alice.post(SESSIONS, json={})).json()["id"]
        query = f"?session_id={session_id}"
        async with strict.chat(alice, query) as first, strict.chat(alice, query) as second:
            await first.until("hello")
            await second.until("hello")
            with pytest.raises(ConnectionClosed) as closed:
                async with strict.chat(alice, query) as third:
                    await third.receive()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4429
            answer = await alice.get(f"{SESSIONS}/{session_id}/events")
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_connections")
            assert answer.headers["retry-after"]

        async def let_in() -> bool:
            try:
                async with strict.chat(alice, query) as again:
                    await again.until("hello")
            except ConnectionClosed:
                return False
            return True

        # A connection counts until the server has seen to all that it had begun for it.
        await eventually(let_in)


async def test_a_full_server_says_so_and_still_answers_probes(strict: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", strict.port)) for _ in range(14)]
    try:
        status, headers, problem = await raw(strict, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert (status, problem["code"]) == (503, "server_full")
        assert headers["retry-after"]
        assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        probe = b"GET /api/v1/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        assert (await raw(strict, probe))[0] == 200
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "bad_request"),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n", 400, "bad_request"),
        (b"GET /" + b"a" * (2 * MAX_HEAD_BYTES), 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * (2 * MAX_HEAD_BYTES), 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * (MAX_HEADERS + 2), 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n", 421, "host_not_allowed"),
        (b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 421, "host_not_allowed"),
    ],
)
async def test_what_is_no_request_of_ours_is_a_problem_too(strict: Server, sent: bytes, status: int, code: str) -> None:
    found, headers, problem = await raw(strict, sent)
    assert (found, problem["code"], problem["status"]) == (status, code, status)
    assert headers["content-type"] == "application/problem+json"
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["cache-control"] == "no-store"


async def test_bodies_are_bounded_announced_or_not(strict: Server) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b" " * (MAX_BODY_BYTES // 10)

    async with nobody(strict) as client:
        for content in (b" " * (MAX_BODY_BYTES + 1), pieces()):
            answer = await client.post(
                "/api/v1/auth/login", content=content, headers={"content-type": "application/json"}
            )
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("nesting", ["[", '{"a":'])
async def test_a_body_nested_without_end_is_refused(strict: Server, nesting: str) -> None:
    async with nobody(strict) as client:
        answer = await client.post(
            "/api/v1/auth/login", content=nesting * 100_000, headers={"content-type": "application/json"}
        )
        assert answer.status_code in {400, 422}
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.9:8000", "[::1]", "[::1]:8000"])
async def test_names_of_loopback_are_ours_on_loopback(strict: Server, host: str) -> None:
    async with nobody(strict) as client:
        assert (await client.get("/api/v1/openapi.json", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "169.254.169.254", "[", "::1"])
async def test_a_foreign_name_gets_neither_page_nor_api_nor_websocket(strict: Server, host: str) -> None:
    async with nobody(strict) as client:
        for path in ("/", "/assets/x.js", "/api/v1/auth/me"):
            answer = await client.get(path, headers={"host": host})
            assert (answer.status_code, answer.json()["code"]) == (421, "host_not_allowed")
        assert (await client.get("/api/v1/health/live", headers={"host": host})).status_code == 200
    # The library insists on the address it connects to, so the handshake is written by hand.
    handshake = (
        f"GET /ws/v1/chat HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    status, headers, problem = await raw(strict, handshake.encode())
    assert (status, problem["code"]) == (421, "host_not_allowed")
    assert headers["x-request-id"]


@pytest.mark.parametrize("name", ["token", "access_token", "Access_Token", "jwt", "refresh_token"])
async def test_a_token_in_an_address_is_refused_with_a_hint(strict: Server, name: str) -> None:
    async with nobody(strict) as client:
        answer = await client.get(ME, params={name: "canary-token"})
    assert (answer.status_code, answer.json()["code"]) == (400, "token_in_url")
    assert "ticket" in answer.json()["detail"]
    assert "canary" not in answer.text
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"{strict.url.replace('http', 'ws', 1)}/ws/v1/chat?{name}=canary-token"):
            pass
    assert refused.value.response.status_code == 400
    assert refused.value.response.body is not None
    assert json.loads(refused.value.response.body)["code"] == "token_in_url"


async def test_a_handshake_is_refused_with_a_problem(strict: Server) -> None:
    url = strict.url.replace("http", "ws", 1)
    for path, origin, status, code in (
        ("/ws/v1/chat", "https://evil.example", 403, "origin_not_allowed"),
        ("/ws/v1/nope", None, 404, "not_found"),
        ("/nope", None, 404, "not_found"),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(url + path, origin=origin):  # pyright: ignore[reportArgumentType]
                pass
        answer = refused.value.response
        assert answer.body is not None
        assert (answer.status_code, json.loads(answer.body)["code"]) == (status, code)
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-request-id"]


async def test_every_answer_has_the_headers_of_safety_and_those_of_the_api_are_not_kept(strict: Server) -> None:
    async with nobody(strict) as client:
        wrong = {"username": "alice", "password": PASSWORD + "!"}
        answers = [
            await client.get("/no/such/page"),
            await client.get("/api/v1/nope"),
            await client.get(ME),
            await client.put(ME),
            await client.post("/api/v1/auth/login", content=b"{"),
            await client.post("/api/v1/auth/login", json=wrong),
            await client.get("/metrics"),
            await client.options(
                "/api/v1/sessions",
                headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
            ),
        ]
    assert [answer.status_code for answer in answers][1:] == [404, 401, 405, 422, 401, 200, 403]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-request-id"]
        assert "server" not in answer.headers
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
    assert all(answer.headers["cache-control"] == "no-store" for answer in answers[1:])


async def test_a_request_that_never_ends_is_given_up(strict: Server) -> None:
    """The head of a request has ten seconds."""
    status, _, problem = await raw(strict, b"GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
    assert (status, problem["code"]) == (408, "request_timeout")
