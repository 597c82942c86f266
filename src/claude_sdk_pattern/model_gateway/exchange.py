"""One request to the model and its answer, within set times.

Whatever goes wrong ends in an error that Claude Code understands and in a :class:`ModelFailure` that the session can
explain. Nothing is passed on before the answer has begun, so that a failure up to there is an HTTP status, after
which Claude Code asks again with a pause. A stream that breaks off later is ended without its last event, after which
it also asks again, or with an error event, after which it does not (seen with the real one, tests/model_gateway).
"""

import asyncio
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

import aiohttp
import orjson
import structlog
from multidict import CIMultiDict
from yarl import URL

from claude_sdk_pattern.model_gateway.answers import Send, answer, answer_failure, error_event
from claude_sdk_pattern.model_gateway.breaker import Attempt
from claude_sdk_pattern.model_gateway.event_stream import EventStream
from claude_sdk_pattern.model_gateway.failures import (
    FailureKind,
    ModelFailure,
    ModelHealth,
    RetryPolicy,
    status_of_type,
)
from claude_sdk_pattern.model_gateway.spending import SessionMeter, SpendingMeters
from claude_sdk_pattern.model_gateway.usage import read_usage

logger = structlog.get_logger(__name__)

# An answer that nobody streams, or an error, is small; the largest answers are some hundred KB.
MAX_WHOLE_BYTES = 32 * 1024 * 1024

# The connection of a complete answer is used again if it ends within this, and closed if not.
_END_SECONDS = 1.0

# Pings say that the API still works on the answer, so it gets longer than one that says nothing; but not for ever.
PINGS_ONLY_FACTOR = 2

_NOT_RETURNED = frozenset(
    {
        b"connection",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"date",
        b"keep-alive",
        b"server",
        b"set-cookie",
        b"transfer-encoding",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTimeouts:
    """How long the model may be silent: before the first byte of its answer, and in the middle of it."""

    first_byte_seconds: float
    idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as it goes to the API."""

    url: URL
    headers: CIMultiDict[str]
    body: bytes

    @property
    def is_streamed(self) -> bool:
        """Whether the answer comes bit by bit. (Inside a string the quotes would be escaped.)"""
        return b'"stream":true' in self.body or b'"stream": true' in self.body


class _FailedError(Exception):
    """Carries a failure to the one place that deals with it. Stays inside this module."""

    def __init__(self, failure: ModelFailure, *, body: bytes | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.body = body


class Exchange:
    """Runs one request. Made for each, used once.

    Args:
        client: the connection pool.
        send: the ASGI callable that the answer goes to.
        timeouts: how long the API may be silent.
        policy: whether a failure is worth another try.
        health: how the model treated this agent process before.
        attempt: the circuit breaker's leave to try.
        meters: where the answer is paid, from ``meter``.
        meter: the session's.
        turn_id: the turn that asks, if one runs.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession,
        send: Send,
        *,
        timeouts: ModelTimeouts,
        policy: RetryPolicy,
        health: ModelHealth,
        attempt: Attempt,
        meters: SpendingMeters,
        meter: SessionMeter,
        turn_id: str | None,
    ) -> None:
        self._client = client
        self._send = send
        self._timeouts = timeouts
        self._policy = policy
        self._health = health
        self._attempt = attempt
        self._meters = meters
        self._meter = meter
        self._turn_id = turn_id
        self._loop = asyncio.get_running_loop()
        self._stream = EventStream()
        self._headers: list[tuple[bytes, bytes]] = []
        self._has_started = False
        self._is_sending = False
        self._is_settled = False
        self._last_byte_at: float | None = None

    async def run(self, request: ModelRequest) -> None:
        """Ask the API and pass on what it answers. A cancelled exchange still pays for what it got."""
        first = self._timeouts.first_byte_seconds
        if not request.is_streamed:
            # Such an answer is silent until it is whole.
            first = max(first, self._timeouts.idle_seconds)
        try:
            async with asyncio.timeout(first) as limit:
                # As a file it is sent in pieces: other sessions' tokens need not wait for a request of 30 MB.
                body = io.BytesIO(request.body)
                async with self._client.post(
                    request.url, data=body, headers=request.headers, allow_redirects=False
                ) as got:
                    await self._pass_on(got, limit)
        except _FailedError as error:
            await self._fail(error.failure, error.body)
        except (aiohttp.ClientError, TimeoutError) as error:
            if self._stream.is_finished:
                await self._end()
            elif self._is_sending and isinstance(error, TimeoutError):
                # The agent process does not read. That is no fault of the model, and nobody is left to tell.
                logger.warning("model_answer_not_read", session_id=self._meter.session_id)
            else:
                await self._fail(self._failure_of(error), None)
        finally:
            self._settle(is_complete=False)

    # --- passing on ---------------------------------------------------------------------------------------------

    async def _pass_on(self, got: aiohttp.ClientResponse, limit: asyncio.Timeout) -> None:
        self._headers = [(k, v) for k, v in got.raw_headers if k.lower() not in _NOT_RETURNED]
        if got.status != 200:
            raise _status_failure(got.status, got.headers, await self._whole(got, limit))
        if got.content_type == "text/event-stream":
            await self._pass_stream(got, limit)
        else:
            await self._pass_whole(got, limit)

    async def _pass_stream(self, got: aiohttp.ClientResponse, limit: asyncio.Timeout) -> None:
        stream, idle = self._stream, self._timeouts.idle_seconds
        held, progress, last_event_at = b"", 0, self._loop.time()
        # Moving the time limit costs more than looking at the bytes, so it is not moved with every piece.
        slack, move_at = idle / 20, 0.0
        async for chunk in got.content.iter_any():
            good = stream.feed(chunk)
            now = self._last_byte_at = self._loop.time()
            if stream.progress != progress:
                progress, last_event_at = stream.progress, now
            if now >= move_at:
                move_at = now + slack
                limit.reschedule(slack + min(now + idle, last_event_at + PINGS_ONLY_FACTOR * idle))
            if stream.is_complete:
                # Before the last event goes on: with it the turn may end, and its price has to be known then.
                self._settle(is_complete=True)
                limit.reschedule(now + _END_SECONDS)
            if self._has_started:
                if good:
                    await self._pass(good)
            elif stream.has_begun:
                self._attempt.answered()
                headers = [*self._headers, (b"content-type", b"text/event-stream; charset=utf-8")]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
                self._has_started = True
                await self._pass(held + good)
            else:
                held += good
            if stream.error is not None and not stream.is_finished:
                kind, message = stream.error
                raise _FailedError(
                    ModelFailure(kind="status", status=status_of_type(kind), error_type=kind, message=message)
                )
            if stream.is_garbage and not stream.is_finished:
                raise _FailedError(_broken("stream_garbage", "the model's answer is not what the API sends"))
        if not stream.is_finished:
            raise _FailedError(_broken("stream_cut", "the model's answer broke off"))
        await self._end()

    async def _pass(self, data: bytes) -> None:
        self._is_sending = True
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._is_sending = False

    async def _end(self) -> None:
        self._settle(is_complete=True)
        await self._send({"type": "http.response.body", "body": b""})

    async def _pass_whole(self, got: aiohttp.ClientResponse, limit: asyncio.Timeout) -> None:
        body = await self._whole(got, limit)
        try:
            message: Any = orjson.loads(body)
        except orjson.JSONDecodeError:
            message = None
        if not isinstance(message, dict):
            raise _FailedError(_broken("stream_garbage", "the model's answer is not what the API sends"))
        fields = cast("dict[str, Any]", message)
        self._attempt.answered()
        if isinstance(fields.get("usage"), dict):
            self._stream.usage, self._stream.model = fields["usage"], str(fields.get("model"))
        self._settle(is_complete=True)
        await answer(self._send, 200, b"application/json", body, headers=self._headers)

    async def _whole(self, got: aiohttp.ClientResponse, limit: asyncio.Timeout) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for chunk in got.content.iter_any():
            self._last_byte_at = self._loop.time()
            limit.reschedule(self._last_byte_at + self._timeouts.idle_seconds)
            size += len(chunk)
            if size > MAX_WHOLE_BYTES:
                raise _FailedError(_broken("stream_garbage", "the model's answer is larger than any the API sends"))
            parts.append(chunk)
        return b"".join(parts)

    # --- the end ------------------------------------------------------------------------------------------------

    def _settle(self, *, is_complete: bool) -> None:
        """Record what the answer cost, as far as it is known, and that it came; once."""
        if self._is_settled:
            return
        self._is_settled = True
        if self._stream.usage is not None:
            if is_complete:
                self._health.answered()
            usage = read_usage(self._stream.usage)
            self._meters.record(
                self._meter, turn_id=self._turn_id, model=self._stream.model, usage=usage, is_complete=is_complete
            )

    async def _fail(self, failure: ModelFailure, body: bytes | None) -> None:
        self._settle(is_complete=False)
        if failure.blames_api:
            self._attempt.failed()
        else:
            self._attempt.answered()
        ask_again = self._health.failed(failure, self._policy)
        logger.warning(
            "model_request_failed",
            session_id=self._meter.session_id,
            kind=failure.kind,
            status=failure.status,
            error_type=failure.error_type,
            asked_again=ask_again,
        )
        if not self._has_started:
            if body is not None and not failure.is_transient and failure.status not in (401, 402, 403):
                # The API's own refusal of this request. Claude Code knows several and mends its request.
                await answer(self._send, failure.status, b"application/json", body, headers=self._headers)
            else:
                await answer_failure(self._send, failure, ask_again=ask_again, body=body, headers=self._headers)
        elif ask_again:
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await self._send({"type": "http.response.body", "body": error_event(failure.error_type, failure.message)})

    def _failure_of(self, error: Exception) -> ModelFailure:
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ServerTimeoutError):
            return ModelFailure(kind="unreachable", status=502, message="the model cannot be reached")
        if not isinstance(error, TimeoutError):
            if self._last_byte_at is None:
                return ModelFailure(kind="unreachable", status=502, message="the model closed the connection")
            return _broken("stream_cut", "the model's answer broke off")
        silent_for = self._loop.time() - (self._last_byte_at or 0.0)
        if self._last_byte_at is not None and silent_for < self._timeouts.idle_seconds:
            return _too_slow("pings_only", "the model went on working and said nothing for too long")
        return _too_slow("timeout", "the model sent nothing for too long")


def _broken(kind: FailureKind, message: str) -> ModelFailure:
    return ModelFailure(kind=kind, status=502, message=message)


def _too_slow(kind: FailureKind, message: str) -> ModelFailure:
    return ModelFailure(kind=kind, status=504, error_type="timeout_error", message=message)


def _status_failure(status: int, headers: Mapping[str, str], body: bytes) -> _FailedError:
    """Return what an HTTP error of the API means, with its words unless something else wrote them."""
    words: bytes | None = body
    try:
        error: Any = orjson.loads(body)["error"]
        kind, message = str(error["type"]), str(error["message"])
    except (orjson.JSONDecodeError, TypeError, KeyError):
        kind, message, words = "api_error", f"HTTP status {status}", None
    failure = ModelFailure(
        kind="status",
        # A redirection or the like is no answer of the API.
        status=status if status >= 400 else 502,
        error_type=kind,
        message=message,
        retry_after_seconds=_retry_after(headers),
    )
    return _FailedError(failure, body=words)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how long the API asks to wait: a number of seconds, or the date when it is over."""
    given = headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
