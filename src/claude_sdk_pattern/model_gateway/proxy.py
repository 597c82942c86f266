"""The model gateway: checks an agent process's token, puts in the real credentials, and decides whether to ask at all.

It is a bare ASGI application because every token of every session goes through it: there is nothing to route. It
never logs headers or bodies. :mod:`claude_sdk_pattern.model_gateway.exchange` has the way of one request.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, MutableMapping
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from claude_sdk_pattern.model_gateway.answers import RawHeaders, Send, answer, answer_failure, refuse
from claude_sdk_pattern.model_gateway.breaker import CircuitBreaker
from claude_sdk_pattern.model_gateway.exchange import Exchange, ModelRequest, ModelTimeouts
from claude_sdk_pattern.model_gateway.failures import ModelFailure, RetryPolicy
from claude_sdk_pattern.model_gateway.priming import priming_answer
from claude_sdk_pattern.model_gateway.spending import SessionMeter, SpendingMeters
from claude_sdk_pattern.model_gateway.tokens import AgentCredential, AgentTokens

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

# All that the CLI needs of the Messages API. Files, batches and administration stay closed to an agent.
ALLOWED_PATHS = frozenset({"/v1/messages", "/v1/messages/count_tokens"})

# The API itself refuses requests over 32 MB; a little more lets its own error through.
MAX_REQUEST_BYTES = 33 * 1024 * 1024

# Connecting is quick or it fails: DNS, TCP and TLS on any working network take well under this.
CONNECT_TIMEOUT_SECONDS = 10.0

# Headers that belong to one hop, or carry the agent's own credentials, or say where the request came from.
_NOT_FORWARDED = frozenset(
    {
        b"accept-encoding",
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
        b"x-correlation-id",
        b"x-forwarded-for",
    }
)


class ModelGateway:
    """The gateway as an ASGI application, and what the rest of the server may know of the model.

    Args:
        upstream: base address of the Messages API.
        api_key: the real key, or None when the upstream needs none (the scripted model).
        tokens: the tokens of the agent processes alive now.
        breaker: decides whether requests are tried at all.
        timeouts: how long the upstream may be silent.
        policy: which failures are worth another try.
        meters: what sessions have spent and may spend.
    """

    def __init__(
        self,
        *,
        upstream: str,
        api_key: str | None,
        tokens: AgentTokens,
        breaker: CircuitBreaker,
        timeouts: ModelTimeouts,
        policy: RetryPolicy,
        meters: SpendingMeters,
    ) -> None:
        self._upstream = upstream.rstrip("/")
        self._api_key = api_key
        self._tokens = tokens
        self._breaker = breaker
        self._timeouts = timeouts
        self._policy = policy
        self._meters = meters
        self._client: aiohttp.ClientSession | None = None

    @property
    def retry_after_seconds(self) -> float | None:
        """When a request to the model makes sense again, if the circuit breaker refuses them; None if it does not."""
        return self._breaker.retry_after_seconds

    @property
    def meters(self) -> SpendingMeters:
        """What sessions and people have spent, and may spend."""
        return self._meters

    def meter(self, session_id: str, *, spent_usd: float, user_id: str) -> SessionMeter:
        """Return the meter of a session; whoever opens the session holds on to it, and with it what it has spent."""
        meter = self._meters.of(session_id, spent_usd=spent_usd)
        meter.user = self._meters.of_user(user_id)
        return meter

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["ModelGateway"]:
        """Hold the connection pool to the upstream open; the application answers only inside."""
        # limit 0: each session may have a request under way. Silence is watched for each answer by itself.
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS),
            proxy=_forward_proxy(URL(self._upstream)),
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
            await refuse(send, 401, "authentication_error", "unknown or expired session token")
        elif scope["path"] not in ALLOWED_PATHS:
            await refuse(send, 403, "permission_error", "the model gateway offers only the Messages API")
        elif scope["method"] != "POST":
            await refuse(send, 405, "invalid_request_error", "use POST")
        elif (body := await _read_body(receive)) is None:
            await refuse(send, 413, "request_too_large", "the request is larger than 33 MiB")
        elif credential.session_id is None:
            await answer(send, 200, *priming_answer(scope["path"], body))
        else:
            await self._ask(scope, body, credential, self._meters.of(credential.session_id), receive, send)

    async def _ask(
        self,
        scope: Scope,
        body: bytes,
        credential: AgentCredential,
        meter: SessionMeter,
        receive: Receive,
        send: Send,
    ) -> None:
        if not await credential.is_message_stored():
            # Nothing is asked, or paid, for a message that is lost. Its process is being ended.
            await refuse(send, 503, "api_error", "the message could not be stored")
            return
        health = credential.health
        if (budget := meter.spent_budget) is not None:
            spent = ModelFailure(
                kind="budget_spent" if budget == "session" else "user_budget_spent",
                status=402,
                error_type="billing_error",
                message=f"the {budget}'s budget is used up",
            )
            health.failed(spent, self._policy)
            await answer_failure(send, spent, ask_again=False)
            return
        if health.gave_up and health.last_failure is not None:
            await answer_failure(send, health.last_failure, ask_again=False)
            return
        retry_after = self._breaker.retry_after_seconds
        attempt = self._breaker.admit()
        if attempt is None:
            refused = ModelFailure(
                kind="breaker_open",
                status=503,
                message="the model has been failing; requests are held back for a moment",
                retry_after_seconds=retry_after,
            )
            await answer_failure(send, refused, ask_again=health.failed(refused, self._policy))
            return
        if self._client is None:
            raise RuntimeError("the gateway is not running")
        exchange = Exchange(
            self._client,
            send,
            timeouts=self._timeouts,
            policy=self._policy,
            health=health,
            attempt=attempt,
            meters=self._meters,
            meter=meter,
            turn_id=credential.turn_id,
        )
        url = URL(f"{self._upstream}{scope['path']}?{scope['query_string'].decode('latin-1')}", encoded=True)
        headers = self._upstream_headers(scope["headers"], credential.turn_id)
        request = ModelRequest(url=url, headers=headers, body=body)
        try:
            await _while_connected(exchange.run(request), receive)
        finally:
            # A probe that was cancelled must not keep its place.
            attempt.over()

    def _upstream_headers(self, headers: RawHeaders, turn_id: str | None) -> CIMultiDict[str]:
        kept = CIMultiDict[str](
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in headers
            if name.lower() not in _NOT_FORWARDED
        )
        # What passes is looked at, and on loopback compression gains nothing.
        kept["accept-encoding"] = "identity"
        if turn_id is not None:
            # By it a request at the model is found on the tape and in the audit log.
            kept["x-correlation-id"] = turn_id
        if self._api_key is not None:
            kept["x-api-key"] = self._api_key
        return kept


def _forward_proxy(upstream: URL) -> str | None:
    """Return the proxy that ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` name for the upstream, if they do.

    Asked once: the client's own way (``trust_env``) asks in a thread, twice for each request, which the first token
    of every turn would wait for.
    """
    if proxy_bypass(upstream.host or ""):
        return None
    return getproxies().get(upstream.scheme)


async def _while_connected(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Run ``work`` for as long as the client is there: a stopped turn closes its request.

    Only an upstream request that is cancelled with it stops costing money.
    """
    relay = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (relay, gone):
            task.cancel()
        outcomes = await asyncio.gather(relay, gone, return_exceptions=True)
    if isinstance(outcomes[0], Exception):
        raise outcomes[0]


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
