"""The model gateway: checks an agent process's token, puts in the real credentials, and passes bytes through.

It is a bare ASGI application because every token of every session goes through it: there is nothing to route and
nothing to parse. It never logs headers or bodies.
"""

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import aiohttp
import orjson
import structlog
from multidict import CIMultiDict
from yarl import URL

from claude_sdk_pattern.model_gateway.priming import priming_answer
from claude_sdk_pattern.model_gateway.tokens import AgentTokens

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
type RawHeaders = Iterable[tuple[bytes, bytes]]

logger = structlog.get_logger(__name__)

# All that the CLI needs of the Messages API. Files, batches and administration stay closed to an agent.
ALLOWED_PATHS = frozenset({"/v1/messages", "/v1/messages/count_tokens"})

# The API itself refuses requests over 32 MB; a little more lets its own error through.
MAX_REQUEST_BYTES = 33 * 1024 * 1024

# Connecting is quick or it fails: DNS, TCP and TLS on any working network take well under this.
CONNECT_TIMEOUT_SECONDS = 10.0

# Headers that belong to one hop, or carry the agent's own credentials, or say where the request came from.
_NOT_FORWARDED = frozenset(
    {
        b"authorization",
        b"connection",
        b"cookie",
        b"forwarded",
        b"host",
        b"keep-alive",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"x-api-key",
        b"x-forwarded-for",
    }
)
_NOT_RETURNED = frozenset({b"connection", b"date", b"keep-alive", b"server", b"set-cookie", b"transfer-encoding"})


class ModelGateway:
    """The gateway as an ASGI application.

    Args:
        upstream: base address of the Messages API.
        api_key: the real key, or None when the upstream needs none (the scripted model).
        tokens: the tokens of the agent processes alive now.
        idle_timeout_seconds: how long the upstream may send nothing before the request is given up.
    """

    def __init__(self, *, upstream: str, api_key: str | None, tokens: AgentTokens, idle_timeout_seconds: float) -> None:
        self._upstream = upstream.rstrip("/")
        self._api_key = api_key
        self._tokens = tokens
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=idle_timeout_seconds
        )
        self._client: aiohttp.ClientSession | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["ModelGateway"]:
        """Hold the connection pool to the upstream open; the application answers only inside."""
        # trust_env: HTTP_PROXY and HTTPS_PROXY of the server route model traffic. auto_decompress off: bytes
        # are passed on as they came, compressed or not. limit 0: each session may have a request under way.
        async with aiohttp.ClientSession(
            timeout=self._timeout,
            trust_env=True,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),
        ) as client:
            self._client = client
            try:
                yield self
            finally:
                self._client = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; other kinds of connection are closed unanswered."""
        if scope["type"] != "http":
            return
        credential = self._tokens.check(_presented_token(scope["headers"]))
        if credential is None:
            await _refuse(send, 401, "authentication_error", "unknown or expired session token")
        elif scope["path"] not in ALLOWED_PATHS:
            await _refuse(send, 403, "permission_error", "the model gateway offers only the Messages API")
        elif scope["method"] != "POST":
            await _refuse(send, 405, "invalid_request_error", "use POST")
        elif (body := await _read_body(receive)) is None:
            await _refuse(send, 413, "request_too_large", "the request is larger than 33 MiB")
        elif credential.session_id is None:
            await _answer(send, 200, *priming_answer(scope["path"], body))
        else:
            await self._forward(scope, body, receive, send)

    async def _forward(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        # A stopped turn closes its request. Only an upstream request that is cancelled with it stops costing money.
        relay = asyncio.create_task(self._relay(scope, body, send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (relay, gone):
                task.cancel()
            outcomes = await asyncio.gather(relay, gone, return_exceptions=True)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]

    async def _relay(self, scope: Scope, body: bytes, send: Send) -> None:
        if self._client is None:
            raise RuntimeError("the gateway is not running")
        url = URL(f"{self._upstream}{scope['path']}?{scope['query_string'].decode('latin-1')}", encoded=True)
        started = False
        try:
            # As a file it is sent in pieces: other sessions' tokens need not wait for a request of 30 MB.
            data, kept = io.BytesIO(body), self._upstream_headers(scope["headers"])
            async with self._client.post(url, data=data, headers=kept) as answer:
                headers = [(k, v) for k, v in answer.raw_headers if k.lower() not in _NOT_RETURNED]
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                started = True
                async for chunk in answer.content.iter_any():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (aiohttp.ClientError, TimeoutError) as error:
            timed_out = isinstance(error, TimeoutError)
            logger.warning("model_request_failed", error=type(error).__name__, started=started)
            message = "the model sent nothing for too long" if timed_out else "the model cannot be reached"
            if started:
                # The status line is gone already, so the error travels in the stream, as the API's own would.
                await send({"type": "http.response.body", "body": _error_event(message)})
            else:
                await _refuse(send, 504 if timed_out else 502, "api_error", message)

    def _upstream_headers(self, headers: RawHeaders) -> CIMultiDict[str]:
        kept = CIMultiDict[str](
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in headers
            if name.lower() not in _NOT_FORWARDED
        )
        if self._api_key is not None:
            kept["x-api-key"] = self._api_key
        return kept


def _presented_token(headers: RawHeaders) -> str:
    """Return the one token that a request presents, or an empty string for none or for several that differ."""
    found: set[str] = set()
    for name, value in headers:
        text = value.decode("latin-1")
        if name.lower() == b"x-api-key":
            found.add(text)
        elif name.lower() == b"authorization":
            found.add(text.removeprefix("Bearer "))
    return found.pop() if len(found) == 1 else ""


async def _read_body(receive: Receive) -> bytes | None:
    """Return the request body, or None if it is larger than :data:`MAX_REQUEST_BYTES`."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_REQUEST_BYTES:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    """Answer with an error in the API's own format, which the CLI knows how to show."""
    body = orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
    await _answer(send, status, b"application/json", body)


async def _answer(send: Send, status: int, content_type: bytes, body: bytes) -> None:
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _error_event(message: str) -> bytes:
    body = orjson.dumps({"type": "error", "error": {"type": "api_error", "message": message}})
    return b"event: error\ndata: " + body + b"\n\n"
