"""Make fewer, longer deltas out of many that a reader has not seen yet. Pure."""

import json
from collections.abc import Sequence
from dataclasses import replace

from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.types import StreamEvent

type _Runs = dict[tuple[str | None, str | None], list[RecordedEvent]]

STREAM_EVENT = "stream_event"


def merge_deltas(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Join the deltas of each block that stand between two events of other types.

    A joined delta has the number of its last part, so the order stays and a reader that stops anywhere can go on
    from the last number it has. Deltas are never moved across an event of another type.
    """
    merged: list[RecordedEvent] = []
    runs: _Runs = {}
    for event in events:
        if event.type == STREAM_EVENT:
            runs.setdefault((event.turn_id, event.block_id), []).append(event)
        else:
            merged += _joined(runs)
            runs = {}
            merged.append(event)
    return merged + _joined(runs)


def _joined(runs: _Runs) -> list[RecordedEvent]:
    return [_join(run) for run in sorted(runs.values(), key=lambda run: run[-1].seq)]


def _join(run: list[RecordedEvent]) -> RecordedEvent:
    if len(run) == 1:
        return run[0]
    parts = [json.loads(event.payload) for event in run]
    whole = StreamEvent(
        block_id=parts[0]["block_id"], kind=parts[0]["kind"], delta="".join(part["delta"] for part in parts)
    )
    return replace(run[-1], payload=whole.encode())
