"""The short form in which long tool results reach readers; the whole stays on the tape. Pure.

Everything works on stored JSON: a result may have tens of megabytes, and who shows its beginning must neither load nor
parse the rest. Text is cut where the limit is. Of content blocks those stay that fit; a longer text block is cut, and
an image or a document, of which a part is no use, gives its place to a line that says what was there.
"""

import re
from typing import Any, Final, cast

import orjson
from pydantic_core import from_json

from claude_sdk_pattern.events.types import JsonObject, ToolResult

TOOL_RESULT: Final = "tool_result"

TAIL_CHARACTERS: Final = 100
"""How much of a payload's end :func:`from_ends` needs: the fields behind ``content``, which are last and short."""

# What the fields around the content take up: names, a tool_use_id, a duration.
_AROUND_CONTENT: Final = 256

_FIELDS_BEHIND = re.compile(rb'"is_error":(true|false)(?:,"duration_ms":(\d+))?\}$')


def is_long(kind: str, payload: bytes, limit: int) -> bool:
    """Return whether the payload of an event of type ``kind`` has to be shortened to ``limit`` bytes."""
    return kind == TOOL_RESULT and len(payload) > limit


def shortened(payload: bytes, limit: int) -> bytes:
    """Return the short form, of at most ``limit`` bytes, of a payload for which :func:`is_long` is true."""
    short = from_ends(payload[:limit], payload[-TAIL_CHARACTERS:], limit)
    if short is None:
        event = ToolResult.model_validate_json(payload)
        blocks = cast("list[JsonObject]", event.content)
        short = event.model_copy(update={"content": _fitting(blocks, limit - _AROUND_CONTENT), "truncated": True})
    return short.encode()


def from_ends(head: bytes, tail: bytes, limit: int) -> ToolResult | None:
    """Return the short form of a payload whose content is text, from its two ends alone.

    Args:
        head: its first ``limit`` bytes, or more.
        tail: its last :data:`TAIL_CHARACTERS` characters, or more.
        limit: how many bytes the short form may have.

    Returns:
        None if the content is a list of blocks: those are shortened one by one, which takes the whole.
    """
    # Cutting bytes may cut a letter in two.
    beginning = head[: limit - _AROUND_CONTENT].decode(errors="ignore")
    fields: dict[str, Any] = from_json(beginning, allow_partial="trailing-strings")
    behind = _FIELDS_BEHIND.search(tail)
    content = fields.get("content", "")
    if not isinstance(content, str) or behind is None:
        return None
    return ToolResult(
        tool_use_id=fields["tool_use_id"],
        content=content,
        is_error=behind[1] == b"true",
        duration_ms=None if behind[2] is None else int(behind[2]),
        truncated=True,
    )


def _fitting(blocks: list[JsonObject], budget: int) -> list[JsonObject]:
    kept: list[JsonObject] = []
    for block in blocks:
        short = _short(block, budget)
        size = _size(short)
        if size > budget:
            break
        kept.append(short)
        budget -= size
    return kept


def _short(block: JsonObject, budget: int) -> JsonObject:
    size = _size(block)
    if size <= budget:
        return block
    if block.get("type") == "text":
        return {"type": "text", "text": _cut(str(block.get("text", "")), budget)}
    source: JsonObject = block.get("source") or {}
    kind = source.get("media_type") or block.get("mimeType") or block.get("type")
    return {"type": "text", "text": f"[{kind}, {_readable(size)}, is left out here]"}


def _cut(text: str, budget: int) -> str:
    """Return the beginning of a text that, as a block, has no more than ``budget`` bytes."""
    encoded = orjson.dumps(text[:budget])
    room = max(1, budget - _size({"type": "text", "text": ""}))
    return from_json(encoded[:room].decode(errors="ignore"), allow_partial="trailing-strings")


def _size(block: JsonObject) -> int:
    # With the comma that follows it.
    return len(orjson.dumps(block)) + 1


def _readable(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{max(1, size // 1000)} kB"
