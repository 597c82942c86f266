"""Tapes made up by hypothesis: turns that overlap, blocks that interleave, some of them never completed."""

from collections.abc import Iterable

from hypothesis import strategies as st

from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent
from claude_sdk_pattern.events.types import Event, Result, Status, StreamEvent, Text, Thinking, ToolUse

type Step = tuple[str, str, str, str]
"""Turn, kind of event, block, text."""

_TURNS = ("t1", "t2")
_BLOCKS = ("text-1", "text-2", "think-1", "call-1")


@st.composite
def steps(draw: st.DrawFn, *, max_size: int = 40) -> list[Step]:
    """Draw steps in which no delta of a block follows its completion, as the translation of the SDK guarantees."""
    kinds = st.sampled_from(["delta"] * 6 + ["complete"] * 2 + ["status", "result"])
    drawn = draw(
        st.lists(
            st.tuples(st.sampled_from(_TURNS), kinds, st.sampled_from(_BLOCKS), st.text(max_size=5)),
            max_size=max_size,
        )
    )
    completed: set[tuple[str, str]] = set()
    kept: list[Step] = []
    for turn, kind, block, text in drawn:
        if kind in {"delta", "complete"} and (turn, block) in completed:
            continue
        if kind == "complete":
            completed.add((turn, block))
        kept.append((turn, kind, block, text))
    return kept


def histories() -> st.SearchStrategy[list[RecordedEvent]]:
    """Draw whole tapes, numbered from 1."""
    return steps().map(recorded_history)


def recorded_history(taken: Iterable[Step]) -> list[RecordedEvent]:
    """Return the tape that these steps make."""
    return [_recorded(seq, step) for seq, step in enumerate(taken, start=1)]


def event_of(step: Step) -> Event:
    """Return the event of a step."""
    _, kind, block, text = step
    match kind, block.partition("-")[0]:
        case "delta", "think":
            return StreamEvent(block_id=block, kind="thinking", delta=text)
        case "delta", "call":
            return StreamEvent(block_id=block, kind="tool_input", delta=text)
        case "delta", _:
            return StreamEvent(block_id=block, kind="text", delta=text)
        case "complete", "think":
            return Thinking(block_id=block, content=text)
        case "complete", "call":
            return ToolUse(tool_use_id=block, tool="Bash", input={"command": text})
        case "complete", _:
            return Text(block_id=block, content=text)
        case "result", _:
            return Result(subtype="success", is_error=False)
        case _:
            return Status(status="responding")


def _recorded(seq: int, step: Step) -> RecordedEvent:
    event = event_of(step)
    fields = event.model_dump()
    return RecordedEvent(
        session_id="s1",
        seq=seq,
        type=fields["type"],
        turn_id=step[0],
        actor=AGENT,
        ts_ms=seq,
        block_id=fields.get("block_id", fields.get("tool_use_id")),
        payload=event.encode(),
    )
