"""What the gateway says to an agent process in its own name, in the format of the API, which Claude Code knows."""

import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import orjson

from claude_sdk_pattern.model_gateway.failures import ModelFailure

type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
type RawHeaders = Iterable[tuple[bytes, bytes]]


async def refuse(send: Send, status: int, kind: str, message: str) -> None:
    """Answer with an error that has nothing to do with the model."""
    await answer(send, status, b"application/json", _error_body(kind, message))


async def answer_failure(
    send: Send, failure: ModelFailure, *, ask_again: bool, body: bytes | None = None, headers: RawHeaders = ()
) -> None:
    """Answer with a failure of the model and say whether to ask again.

    Args:
        send: the ASGI callable.
        failure: what happened.
        ask_again: whether Claude Code should; it obeys ``x-should-retry`` and waits as ``retry-after`` says.
        body: the API's own words, if it said any.
        headers: the API's own headers, if it sent any.
    """
    told = [(name, value) for name, value in headers if name.lower() != b"x-should-retry"]
    told.append((b"x-should-retry", b"true" if ask_again else b"false"))
    if failure.retry_after_seconds is not None and not any(name.lower() == b"retry-after" for name, _ in told):
        told.append((b"retry-after", str(math.ceil(failure.retry_after_seconds)).encode()))
    content = _error_body(failure.error_type, failure.message) if body is None else body
    await answer(send, failure.status, b"application/json", content, headers=told)


async def answer(send: Send, status: int, content_type: bytes, body: bytes, *, headers: RawHeaders = ()) -> None:
    """Answer with a whole body."""
    all_headers = [*headers, (b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})


def error_event(kind: str, message: str) -> bytes:
    """Return the error event that ends a stream for good: Claude Code does not ask again after one."""
    return b"event: error\ndata: " + _error_body(kind, message) + b"\n\n"


def _error_body(kind: str, message: str) -> bytes:
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
