"""What a reader makes of a tape: a small reference reducer, the measure of whether two tapes say the same.

It holds to what the protocol promises a client and no more: deltas are provisional, a complete block replaces them,
and the place of a block in its turn is that of its latest event.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.types import StreamEvent, Text, Thinking, ToolUse

type BlockKey = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class View:
    """Blocks as they read now, in order, and every other event as it came."""

    blocks: dict[BlockKey, tuple[str, bool]] = field(default_factory=dict[BlockKey, tuple[str, bool]])
    others: tuple[tuple[str | None, str, bytes], ...] = ()


def fold(events: Iterable[RecordedEvent], view: View | None = None) -> View:
    """Apply events to a view and return the new one."""
    view = view or View()
    for event in events:
        view = _apply(view, event)
    return view


def _apply(view: View, recorded: RecordedEvent) -> View:
    match recorded.event:
        case StreamEvent(block_id=block_id, delta=part):
            key = (recorded.turn_id, block_id)
            so_far, is_complete = view.blocks.get(key, ("", False))
            return view if is_complete else _with_block(view, key, so_far + part, is_complete=False)
        case Text(block_id=block_id, content=content) | Thinking(block_id=block_id, content=content):
            return _with_block(view, (recorded.turn_id, block_id), content, is_complete=True)
        case ToolUse(tool_use_id=block_id) as call:
            return _with_block(view, (recorded.turn_id, block_id), call.model_dump_json(), is_complete=True)
        case _:
            other = (recorded.turn_id, recorded.actor, recorded.payload)
            return replace(view, others=(*view.others, other))


def _with_block(view: View, key: BlockKey, content: str, *, is_complete: bool) -> View:
    blocks = {known: value for known, value in view.blocks.items() if known != key}
    return replace(view, blocks=blocks | {key: (content, is_complete)})


def same(left: View, right: View) -> bool:
    """Compare two views, the order of blocks included."""
    return list(left.blocks.items()) == list(right.blocks.items()) and left.others == right.others
