"""The answer a process in the warm pool gets when it warms itself up.

The first turn of a fresh CLI is several times slower than its second: code is loaded, prompts are built, connections
are opened. A pooled process therefore runs a turn nobody sees before it is offered to anybody. That turn needs an
answer, but no model: a process that belongs to no session has nothing to say to one.
"""

from typing import Any, cast

import orjson

_TEXT = "ready"


def priming_answer(path: str, body: bytes) -> tuple[bytes, bytes]:
    """Return the content type and body with which a request of an unbound process is answered."""
    if path.endswith("/count_tokens"):
        return b"application/json", b'{"input_tokens":1}'
    request = _json_object(body)
    message: dict[str, Any] = {
        "id": "msg_priming",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    block = {"type": "text", "text": _TEXT}
    if not request.get("stream"):
        return b"application/json", orjson.dumps({**message, "content": [block], "stop_reason": "end_turn"})
    return b"text/event-stream", b"".join(
        [
            _event("message_start", message=message),
            _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            _event("content_block_delta", index=0, delta={"type": "text_delta", "text": _TEXT}),
            _event("content_block_stop", index=0),
            _event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=message["usage"]),
            _event("message_stop"),
        ]
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))
