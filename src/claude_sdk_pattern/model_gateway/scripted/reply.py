"""Turn a scenario step into one concrete answer for one request."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from claude_sdk_pattern.model_gateway.scripted import generated
from claude_sdk_pattern.model_gateway.scripted.errors import PlayError
from claude_sdk_pattern.model_gateway.scripted.schema import Fault, FaultKind, Generated, Pace, Step, ToolCall
from claude_sdk_pattern.model_gateway.scripted.templates import fill, fill_number

MAX_GENERATED = 200_000
"""Words or tokens of one answer: more than any model gives, little enough to keep a typing mistake harmless."""

MAX_WAIT_SECONDS = 3600.0
CHARACTERS_PER_TOKEN = 4
_UNPACED_WORDS_PER_CHUNK = 4  # about what the real API puts into one delta
_CHARACTERS_PER_WORD = 24  # a "word" without spaces (base64, a long path) is cut here


@dataclass(frozen=True, kw_only=True)
class Block:
    """One content block. ``chunks`` can be iterated once and may be made as they are pulled."""

    kind: Literal["text", "thinking", "tool_use"]
    chunks: Iterable[str]
    tokens: int
    tool: str = ""
    tool_use_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A fault with its numbers worked out. ``attempts`` None: it goes wrong each time."""

    kind: FaultKind
    status: int
    error_type: str | None
    message: str | None
    retry_after_seconds: float | None
    attempts: int | None
    after_chunks: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of the model, ready to be sent. Times in seconds."""

    blocks: tuple[Block, ...]
    stop_reason: str
    usage: dict[str, int]
    first_token_after: float
    seconds_per_chunk: float
    failure: Failure | None


def compose(step: Step, values: Mapping[str, str], *, estimated_input_tokens: int) -> Reply:
    """Fill in ``step``. Raises PlayError when the words put into a number or a tool input do not fit."""
    rate = fill_number(step.pace.tokens_per_second or 0, values)
    blocks = tuple(_blocks(step, values, paced=rate > 0))
    return Reply(
        blocks=blocks,
        stop_reason=step.stop_reason or ("tool_use" if step.use else "end_turn"),
        usage=_usage(step, values, estimated_input_tokens, sum(block.tokens for block in blocks)),
        first_token_after=min(fill_number(step.pace.first_token_after_seconds, values), MAX_WAIT_SECONDS),
        seconds_per_chunk=min(_tokens_per_chunk(step.pace) / rate, MAX_WAIT_SECONDS) if rate > 0 else 0.0,
        failure=_failure(step.fault, values) if step.fault else None,
    )


def tool_use(tool: str, tool_input: Mapping[str, Any], chunks: Iterable[str] | None = None) -> Block:
    """A tool call with an id of its own."""
    text = json.dumps(tool_input, ensure_ascii=False)
    return Block(
        kind="tool_use",
        chunks=(text,) if chunks is None else chunks,
        tokens=_estimate(text),
        tool=tool,
        tool_use_id=f"toolu_{secrets.token_hex(12)}",
    )


def _blocks(step: Step, values: Mapping[str, str], *, paced: bool) -> Iterator[Block]:
    if step.think:
        yield _prose_block("thinking", fill(step.think, values), step.pace, paced=paced)
    if step.say:
        yield _prose_block("text", fill(step.say, values), step.pace, paced=paced)
    if step.generate:
        yield _generated_block(step.generate, values, step.pace, paced=paced)
    for call in step.use:
        tool_input = _tool_input(call, values)
        text = json.dumps(tool_input, ensure_ascii=False)
        yield tool_use(fill(call.tool, values), tool_input, _chunks(text, step.pace, paced=paced))


def _prose_block(kind: Literal["text", "thinking"], text: str, pace: Pace, *, paced: bool) -> Block:
    text = text.strip("\n")
    return Block(kind=kind, chunks=_chunks(text, pace, paced=paced), tokens=_estimate(text))


def _generated_block(wanted: Generated, values: Mapping[str, str], pace: Pace, *, paced: bool) -> Block:
    if wanted.words is not None:
        return _prose_block("text", generated.prose(_count(wanted.words, values)), pace, paced=paced)
    count = _count(wanted.tokens or 0, values)
    stamped = bool(fill(wanted.timestamps, values).strip()) if isinstance(wanted.timestamps, str) else wanted.timestamps
    return Block(kind="text", chunks=generated.tokens(count, timestamps=stamped), tokens=count)


def _count(value: float | str, values: Mapping[str, str]) -> int:
    count = int(fill_number(value, values))
    if count > MAX_GENERATED:
        raise PlayError(f"That is more than I make at once; ask for at most {MAX_GENERATED}.")
    return count


def _tool_input(call: ToolCall, values: Mapping[str, str]) -> Mapping[str, Any]:
    if not isinstance(call.input, str):
        return fill_tree(call.input, values)
    text = fill(call.input, values)
    try:
        parsed = json.loads(text)
    except ValueError as problem:
        raise PlayError(f"The input of a tool must be a JSON object; this is not JSON ({problem}): {text}") from None
    if not isinstance(parsed, dict):
        raise PlayError(f"The input of a tool must be a JSON object, and this is none: {text}")
    return parsed  # pyright: ignore[reportUnknownVariableType]


def fill_tree(tree: Any, values: Mapping[str, str]) -> Any:
    """Fill in each text of a nested value; numbers, booleans and shapes stay."""
    if isinstance(tree, str):
        return fill(tree, values)
    if isinstance(tree, dict):
        return {key: fill_tree(value, values) for key, value in tree.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(tree, list):
        return [fill_tree(value, values) for value in tree]  # pyright: ignore[reportUnknownVariableType]
    return tree


def _chunks(text: str, pace: Pace, *, paced: bool) -> list[str]:
    if pace.characters_per_chunk:
        size = pace.characters_per_chunk
        return [text[start : start + size] for start in range(0, len(text), size)]
    words = pace.words_per_chunk or (1 if paced else _UNPACED_WORDS_PER_CHUNK)
    return re.findall(rf"(?:\s*\S{{1,{_CHARACTERS_PER_WORD}}}){{1,{words}}}\s*", text) or ([text] if text else [])


def _tokens_per_chunk(pace: Pace) -> float:
    if pace.characters_per_chunk:
        return pace.characters_per_chunk / CHARACTERS_PER_TOKEN
    return pace.words_per_chunk or 1


def _estimate(text: str) -> int:
    return max(1, len(text) // CHARACTERS_PER_TOKEN)


def _usage(step: Step, values: Mapping[str, str], input_tokens: int, output_tokens: int) -> dict[str, int]:
    given = step.usage

    def number(value: float | str | None, otherwise: int) -> int:
        return otherwise if value is None else int(fill_number(value, values))

    return {
        "input_tokens": number(given.input_tokens, input_tokens),
        "cache_creation_input_tokens": number(given.cache_creation_input_tokens, 0),
        "cache_read_input_tokens": number(given.cache_read_input_tokens, 0),
        "output_tokens": number(given.output_tokens, output_tokens),
    }


def _failure(fault: Fault, values: Mapping[str, str]) -> Failure:
    def optional(value: float | str | None) -> float | None:
        return None if value is None else fill_number(value, values)

    attempts = optional(fault.attempts)
    status = int(fill_number(fault.status, values))
    if not 400 <= status <= 599:
        raise PlayError(f"I can fail with a status from 400 to 599, not with {status}.")
    return Failure(
        kind=fault.kind,
        status=status,
        error_type=fault.error_type,
        message=fill(fault.message, values) if fault.message else None,
        retry_after_seconds=optional(fault.retry_after_seconds),
        attempts=None if attempts is None else int(attempts),
        after_chunks=int(fill_number(fault.after_chunks, values)),
        seconds=min(fill_number(fault.seconds, values), MAX_WAIT_SECONDS),
    )
