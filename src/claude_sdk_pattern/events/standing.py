"""Which events of a tape still stand: pure. A ``rewound`` event takes back what was said from a place on."""

from collections.abc import Iterable

from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.types import Rewound


def standing(recorded: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events that no later ``rewound`` has taken back, in order."""
    kept: list[RecordedEvent] = []
    for item in recorded:
        if item.type == "rewound" and isinstance(event := item.event, Rewound):
            while kept and kept[-1].seq >= event.before_seq:
                kept.pop()
        kept.append(item)
    return kept
