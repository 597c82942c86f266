"""The Messages API on the wire: server-sent events, the whole message, errors, headers. Pure functions."""

import json
import secrets
from collections.abc import Iterable
from typing import Any

from claude_sdk_pattern.model_gateway.scripted.reply import Block, Reply

type Headers = list[tuple[bytes, bytes]]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_ERROR_MESSAGES = {
    401: "invalid x-api-key",
    403: "Your API key does not have permission to use the specified resource",
    429: "This request would exceed your rate limit",
    500: "Internal server error",
    529: "Overloaded",
}
_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
_SIGNATURE = "c2NyaXB0ZWQtbW9kZWwtc2lnbmF0dXJl"  # the CLI sends it back as it is; nobody here checks it
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
GARBAGE = (
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"ty\x00\xff<html>\n\n'
)


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


def event(name: str, **fields: Any) -> bytes:
    data = json.dumps({"type": name, **fields}, ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode()


def message_start(reply: Reply, model: str, message_id: str) -> bytes:
    return event(
        "message_start",
        message={
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**reply.usage, "output_tokens": 1, "service_tier": "standard"},
        },
    )


def block_start(index: int, block: Block) -> bytes:
    content = _whole_block(block, "")
    if block.kind == "tool_use":
        content["input"] = {}
    return event("content_block_start", index=index, content_block=content)


def block_delta(index: int, block: Block, chunk: str) -> bytes:
    kind, field = _DELTAS[block.kind]
    return event("content_block_delta", index=index, delta={"type": kind, field: chunk})


def block_end(index: int, block: Block) -> bytes:
    stop = event("content_block_stop", index=index)
    if block.kind != "thinking":
        return stop
    signature = {"type": "signature_delta", "signature": _SIGNATURE}
    return event("content_block_delta", index=index, delta=signature) + stop


def message_end(reply: Reply) -> bytes:
    delta = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    return event("message_delta", delta=delta, usage=reply.usage) + event("message_stop")


def whole_message(reply: Reply, model: str) -> bytes:
    """The answer to a request that did not ask for a stream."""
    message = {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_whole_block(block, "".join(block.chunks)) for block in reply.blocks],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": {**reply.usage, "service_tier": "standard"},
    }
    return json.dumps(message, ensure_ascii=False).encode()


def error_body(status: int, error_type: str | None, message: str | None, request_id: str) -> bytes:
    body = {"type": "error", "error": _error(status, error_type, message), "request_id": request_id}
    return json.dumps(body).encode()


def error_event(status: int, error_type: str | None, message: str | None) -> bytes:
    return event("error", error=_error(status, error_type, message))


def headers(content_type: str, request_id: str, extra: Iterable[tuple[str, str]] = ()) -> Headers:
    pairs = [("content-type", content_type), ("request-id", request_id), *extra]
    return [(name.encode(), value.encode()) for name, value in pairs]


def rate_limit_headers(*, exhausted: bool) -> list[tuple[str, str]]:
    """The limits that the API tells with each answer; made up, and the same each time but for an exhausted one."""
    left = "0" if exhausted else "3999"
    return [
        ("anthropic-ratelimit-requests-limit", "4000"),
        ("anthropic-ratelimit-requests-remaining", left),
        ("anthropic-ratelimit-requests-reset", "2030-01-01T00:00:00Z"),
        ("anthropic-ratelimit-tokens-limit", "400000"),
        ("anthropic-ratelimit-tokens-remaining", "0" if exhausted else "399000"),
        ("anthropic-ratelimit-tokens-reset", "2030-01-01T00:00:00Z"),
    ]


def _error(status: int, error_type: str | None, message: str | None) -> dict[str, str]:
    kind = error_type or ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": kind, "message": message or _ERROR_MESSAGES.get(status, kind)}


def _whole_block(block: Block, text: str) -> dict[str, Any]:
    if block.kind == "tool_use":
        tool_input: dict[str, Any] = json.loads(text) if text else {}
        return {"type": "tool_use", "id": block.tool_use_id, "name": block.tool, "input": tool_input}
    if block.kind == "thinking":
        return {"type": "thinking", "thinking": text, "signature": _SIGNATURE if text else ""}
    return {"type": "text", "text": text}
