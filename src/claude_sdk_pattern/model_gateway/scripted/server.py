"""The scripted model as an ASGI application. No framework: its first byte is the baseline of the benchmarks."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_core import from_json

from claude_sdk_pattern.model_gateway.scripted.attempts import AttemptCounts
from claude_sdk_pattern.model_gateway.scripted.conversation import read_conversation
from claude_sdk_pattern.model_gateway.scripted.loader import Scenarios
from claude_sdk_pattern.model_gateway.scripted.play import play
from claude_sdk_pattern.model_gateway.scripted.reply import CHARACTERS_PER_TOKEN, Failure, Reply
from claude_sdk_pattern.model_gateway.scripted.sending import Connection, send_stream, send_whole

type Scope = dict[str, Any]
type Receive = Callable[[], Awaitable[dict[str, Any]]]
type Send = Callable[[dict[str, Any]], Awaitable[None]]

KEPT_REQUESTS = 200
"""Requests of a real conversation are 50 KB and more; this many are enough for a test and bound the memory."""

MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5")


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """A request as it came, for tests. Header names are in small letters."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    raw_body: bytes

    @cached_property
    def body(self) -> Any:
        """The parsed body; None when there is none. Raises ValueError when it is not JSON."""
        return from_json(self.raw_body) if self.raw_body else None


class ScriptedApp:
    """Answers the Messages API from scenarios. Any key is accepted.

    ``requests`` holds the last ``KEPT_REQUESTS`` requests, oldest first.
    """

    def __init__(self, scenarios: Scenarios) -> None:
        self.requests: deque[ReceivedRequest] = deque(maxlen=KEPT_REQUESTS)
        self._scenarios = scenarios
        self._attempts = AttemptCounts()
        self._open_answers = 0
        self._news = asyncio.Condition()

    async def wait_for_request(
        self, wanted: Callable[[ReceivedRequest], bool], timeout_seconds: float
    ) -> ReceivedRequest:
        """Return the first kept request that ``wanted`` accepts, waiting for it. Raises TimeoutError."""
        async with asyncio.timeout(timeout_seconds), self._news:
            await self._news.wait_for(lambda: any(wanted(request) for request in self.requests))
        return next(request for request in self.requests if wanted(request))

    async def wait_until_idle(self, timeout_seconds: float) -> None:
        """Wait until no answer is being sent: all have ended, or their clients have left. Raises TimeoutError."""
        async with asyncio.timeout(timeout_seconds), self._news:
            await self._news.wait_for(lambda: self._open_answers == 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the scripted model speaks HTTP only, not {scope['type']}")
        request = ReceivedRequest(
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode("latin-1"),
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
            raw_body=await _body(receive),
        )
        self.requests.append(request)
        await self._count_open(+1)
        try:
            await self._answer(request, Connection(receive, send))
        finally:
            await self._count_open(-1)

    async def _count_open(self, change: int) -> None:
        async with self._news:
            self._open_answers += change
            self._news.notify_all()

    async def _answer(self, request: ReceivedRequest, connection: Connection) -> None:
        match request.method, request.path:
            case "POST", "/v1/messages":
                await self._message(request, connection)
            case "POST", "/v1/messages/count_tokens":
                await connection.send_json(200, {"input_tokens": _estimated_tokens(request)})
            case "GET", "/v1/models":
                await connection.send_json(200, _models())
            case (("GET" | "HEAD"), ("/" | "/api/hello")):  # the CLI warms up its connection with the second
                await connection.send_json(200, {"status": "ok"})
            case _:
                await connection.send_error(404, message=f"No such endpoint: {request.method} {request.path}")

    async def _message(self, request: ReceivedRequest, connection: Connection) -> None:
        try:
            body = request.body
        except ValueError as problem:
            await connection.send_error(400, message=f"The request body is not valid JSON: {problem}")
            return
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):  # pyright: ignore[reportUnknownMemberType]
            await connection.send_error(400, message="messages: Field required")
            return
        conversation = read_conversation(body)  # pyright: ignore[reportUnknownArgumentType]
        reply = play(self._scenarios, conversation, estimated_input_tokens=_estimated_tokens(request))
        failure = self._failure_now(reply, conversation.key)
        if body.get("stream"):  # pyright: ignore[reportUnknownMemberType]
            await send_stream(connection, reply, failure, conversation.model)
        else:
            await send_whole(connection, reply, failure, conversation.model)

    def _failure_now(self, reply: Reply, key: str) -> Failure | None:
        failure = reply.failure
        if failure is None or not self._attempts.strikes(key, failure.attempts):
            return None
        return failure


def create_scripted_app(scenarios: Scenarios) -> ScriptedApp:
    """Return an ASGI application (HTTP scope only) that answers from ``scenarios``."""
    return ScriptedApp(scenarios)


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _estimated_tokens(request: ReceivedRequest) -> int:
    return max(1, len(request.raw_body) // CHARACTERS_PER_TOKEN)


def _models() -> dict[str, Any]:
    models = [
        {"type": "model", "id": name, "display_name": f"{name} (scripted)", "created_at": "2026-01-01T00:00:00Z"}
        for name in MODELS
    ]
    return {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
