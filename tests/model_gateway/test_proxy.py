"""The model gateway over real HTTP, between a real client and a real upstream, all on loopback."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from tests.support.messages_api import ANSWER, BEGINNING, ENDING, text_delta
from tests.support.model_gateway import make_gateway

from claude_sdk_pattern.events.errors import TapeUnavailable
from claude_sdk_pattern.model_gateway.loopback import serve_on_loopback
from claude_sdk_pattern.model_gateway.proxy import MAX_REQUEST_BYTES
from claude_sdk_pattern.model_gateway.tokens import AgentCredential, AgentTokens

pytestmark = pytest.mark.anyio

REAL_KEY = "sk-ant-the-real-one"
BODY = b'{"model":"m","messages":[],"stream":true}'
FIRST, SECOND = BEGINNING + text_delta("Hello"), ENDING


@dataclass
class Upstream:
    """An upstream that answers in pieces, one at each :meth:`allow`, and notes what it was sent."""

    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    bodies: list[bytes] = field(default_factory=list[bytes])
    paths: list[str] = field(default_factory=list[str])
    status: int = 200
    pieces: list[bytes] = field(default_factory=lambda: [FIRST, SECOND])
    steps: asyncio.Queue[None] = field(default_factory=asyncio.Queue[None])
    abandoned: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(
        self, scope: Any, receive: Callable[[], Coroutine[Any, Any, Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
        self.bodies.append(body)
        self.paths.append(scope["path"])
        await send(
            {
                "type": "http.response.start",
                "status": self.status,
                "headers": [(b"content-type", b"text/event-stream"), (b"request-id", b"req_1"), (b"retry-after", b"7")],
            }
        )
        for piece in self.pieces:
            step = asyncio.create_task(self.steps.get())
            gone = asyncio.create_task(receive())
            await asyncio.wait({step, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                step.cancel()
                self.abandoned.set()
                return
            gone.cancel()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def allow(self, pieces: int = 2) -> None:
        for _ in range(pieces):
            self.steps.put_nowait(None)


@dataclass
class Rig:
    upstream: Upstream
    client: httpx2.AsyncClient
    tokens: AgentTokens
    token: str
    credential: AgentCredential

    def headers(self) -> dict[str, str]:
        return {"x-api-key": self.token}


@pytest.fixture
async def rig(anyio_backend: str) -> AsyncGenerator[Rig]:
    upstream, tokens = Upstream(), AgentTokens()
    token, credential = tokens.issue("process-1")
    credential.session_id = "session-1"
    async with AsyncExitStack() as stack:
        upstream_url = await stack.enter_async_context(serve_on_loopback(upstream))
        gateway = make_gateway(upstream_url, tokens=tokens, api_key=REAL_KEY)
        await stack.enter_async_context(gateway.running())
        url = await stack.enter_async_context(serve_on_loopback(gateway))
        client = await stack.enter_async_context(httpx2.AsyncClient(base_url=url, timeout=10))
        yield Rig(upstream=upstream, client=client, tokens=tokens, token=token, credential=credential)


async def test_the_real_key_replaces_the_session_token(rig: Rig) -> None:
    rig.upstream.allow()
    answer = await rig.client.post("/v1/messages", content=BODY, headers=rig.headers())
    assert answer.content == ANSWER
    assert rig.upstream.headers[0]["x-api-key"] == REAL_KEY
    assert rig.token not in str(rig.upstream.headers)
    assert rig.upstream.bodies == [BODY]


async def test_a_bearer_token_works_like_a_key_and_is_not_forwarded(rig: Rig) -> None:
    rig.upstream.allow()
    await rig.client.post("/v1/messages", content=BODY, headers={"authorization": f"Bearer {rig.token}"})
    assert "authorization" not in rig.upstream.headers[0]
    assert rig.upstream.headers[0]["x-api-key"] == REAL_KEY


async def test_a_request_names_its_turn_whatever_the_agent_says(rig: Rig) -> None:
    for turn_id in (None, "turn-1"):
        rig.credential.turn_id = turn_id
        rig.upstream.allow()
        await rig.client.post("/v1/messages", content=BODY, headers=rig.headers() | {"X-Correlation-ID": "made up"})
        assert rig.upstream.headers[-1].get("x-correlation-id") == turn_id


async def test_the_model_is_asked_once_the_message_is_stored(rig: Rig) -> None:
    rig.credential.stored = asyncio.get_running_loop().create_future()
    rig.upstream.allow(4)
    held = asyncio.create_task(rig.client.post("/v1/messages", content=BODY, headers=rig.headers()))
    other, credential = rig.tokens.issue("process-2")
    credential.session_id = "session-2"
    # Sent later and answered: nothing but the message that is being stored keeps the first one back.
    await rig.client.post("/v1/messages", content=b"other", headers={"x-api-key": other})
    assert rig.upstream.bodies == [b"other"]
    rig.credential.stored.set_result(None)
    assert (await held).content == ANSWER
    assert rig.upstream.bodies == [b"other", BODY]


@pytest.mark.parametrize("is_known_before", [True, False])
async def test_the_model_is_not_asked_about_a_message_that_is_lost(rig: Rig, is_known_before: bool) -> None:
    rig.credential.stored = asyncio.get_running_loop().create_future()
    if is_known_before:
        rig.credential.stored.set_exception(TapeUnavailable("the disk is full"))
    asking = asyncio.create_task(rig.client.post("/v1/messages", content=BODY, headers=rig.headers()))
    if not is_known_before:
        await rig.client.post("/v1/messages", content=BODY)
        rig.credential.stored.set_exception(TapeUnavailable("the disk is full"))
    refused = await asking
    assert (refused.status_code, refused.json()["error"]["type"]) == (503, "api_error")
    assert rig.upstream.bodies == []


async def test_headers_of_the_api_reach_the_agent(rig: Rig) -> None:
    rig.upstream.status = 429
    rig.upstream.pieces = [b'{"error":', b'{"type":"rate_limit_error","message":"slow down"}}']
    rig.upstream.allow()
    answer = await rig.client.post("/v1/messages", content=BODY, headers=rig.headers())
    assert answer.status_code == 429
    assert answer.headers["request-id"] == "req_1"
    assert answer.headers["retry-after"] == "7"


async def test_bytes_are_passed_on_before_the_answer_is_complete(rig: Rig) -> None:
    rig.upstream.allow(1)
    async with rig.client.stream("POST", "/v1/messages", content=BODY, headers=rig.headers()) as answer:
        chunks = answer.aiter_raw()
        async with asyncio.timeout(5):
            assert await anext(chunks) == FIRST
        # The upstream has not sent the second piece: it waits for this.
        rig.upstream.allow(1)
        async with asyncio.timeout(5):
            assert await anext(chunks) == SECOND


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": "csp-nonsense"},
        {"x-api-key": REAL_KEY},
        {"x-api-key": "TOKEN", "authorization": "Bearer other"},
    ],
)
async def test_a_request_without_exactly_one_valid_token_is_refused(rig: Rig, headers: dict[str, str]) -> None:
    sent = {name: value.replace("TOKEN", rig.token) for name, value in headers.items()}
    answer = await rig.client.post("/v1/messages", content=BODY, headers=sent)
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"
    assert rig.upstream.paths == []


async def test_a_token_dies_with_its_process(rig: Rig) -> None:
    rig.tokens.revoke(rig.token)
    answer = await rig.client.post("/v1/messages", content=BODY, headers=rig.headers())
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/v1/files", "/v1/messages/batches", "/v1/organizations/api_keys", "/", "/metrics"])
async def test_everything_but_messages_is_closed(rig: Rig, path: str) -> None:
    answer = await rig.client.post(path, content=BODY, headers=rig.headers())
    assert answer.status_code == 403
    assert rig.upstream.paths == []


async def test_only_post_is_forwarded(rig: Rig) -> None:
    assert (await rig.client.get("/v1/messages", headers=rig.headers())).status_code == 405
    assert rig.upstream.paths == []


async def test_a_request_that_is_too_large_is_refused_before_the_upstream_sees_it(rig: Rig) -> None:
    answer = await rig.client.post("/v1/messages", content=b"x" * (MAX_REQUEST_BYTES + 1), headers=rig.headers())
    assert answer.status_code == 413
    assert rig.upstream.paths == []


async def test_an_abandoned_request_is_abandoned_upstream_too(rig: Rig) -> None:
    rig.upstream.allow(1)
    async with rig.client.stream("POST", "/v1/messages", content=BODY, headers=rig.headers()) as answer:
        await anext(answer.aiter_raw())
    async with asyncio.timeout(5):
        await rig.upstream.abandoned.wait()


async def test_a_process_without_a_session_gets_the_priming_answer_and_no_model(rig: Rig) -> None:
    rig.credential.session_id = None
    streamed = await rig.client.post("/v1/messages", content=BODY, headers=rig.headers())
    assert b"message_stop" in streamed.content
    whole = await rig.client.post("/v1/messages", content=b'{"model":"m"}', headers=rig.headers())
    assert whole.json()["stop_reason"] == "end_turn"
    counted = await rig.client.post("/v1/messages/count_tokens", content=b"not json", headers=rig.headers())
    assert counted.json()["input_tokens"] == 1
    assert rig.upstream.paths == []


async def test_the_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.readexactly(len(BODY))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + ANSWER)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def ask(host: str) -> httpx2.Response:
        tokens = AgentTokens()
        token, credential = tokens.issue("process-1")
        credential.session_id = "session-1"
        gateway = make_gateway(f"http://{host}", tokens=tokens, api_key=REAL_KEY)
        async with gateway.running(), serve_on_loopback(gateway) as url, httpx2.AsyncClient(base_url=url) as client:
            return await client.post("/v1/messages", content=BODY, headers={"x-api-key": token})

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("http_proxy", f"http://ada:secret@{address}")  # pragma: allowlist secret
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert (await ask("model.test")).content == ANSWER
        assert heads[0].startswith(b"POST http://model.test/v1/messages")
        # ada:secret
        assert b"proxy-authorization: basic ywrhonnly3jlda==" in heads[0].lower()
        assert (await ask(address)).content == ANSWER
        assert heads[1].startswith(b"POST /v1/messages")
        assert b"proxy-authorization" not in heads[1].lower()
