"""Pieces of the Messages API's event stream, for tests that play the upstream themselves."""

from typing import Any

import orjson


def sse(kind: str, **fields: Any) -> bytes:
    """Return one server-sent event as the API writes it."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


def message_start(*, model: str = "claude-sonnet-4-5", **usage: Any) -> bytes:
    """Return the first event of an answer."""
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    return sse("message_start", message={**message, "usage": {"input_tokens": 10, "output_tokens": 1, **usage}})


def text_delta(text: str) -> bytes:
    """Return a piece of text."""
    return sse("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def message_delta(**usage: Any) -> bytes:
    """Return the event that says why the answer ends and what it cost."""
    return sse("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=usage)


BLOCK_START = sse("content_block_start", index=0, content_block={"type": "text", "text": ""})
BLOCK_STOP = sse("content_block_stop", index=0)
PING = sse("ping")
MESSAGE_STOP = sse("message_stop")

BEGINNING = message_start() + BLOCK_START
ENDING = BLOCK_STOP + message_delta(output_tokens=5) + MESSAGE_STOP
ANSWER = BEGINNING + text_delta("Hello") + ENDING


def error_body(kind: str, message: str = "it failed") -> bytes:
    """Return the body of an HTTP error."""
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
