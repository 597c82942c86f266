"""The latest events of one session, kept once for all who read it live."""

from collections import deque
from collections.abc import Sequence
from itertools import islice

from claude_sdk_pattern.events.merging import merge_deltas
from claude_sdk_pattern.events.recorded import RecordedEvent


class Ring:
    """A bounded run of events with consecutive numbers, the newest ones.

    ``total_bytes`` counts the payload of everything that ever went in; the difference of two readings says how much
    came in between.
    """

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self.total_bytes = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[RecordedEvent] = deque()
        self._bytes = 0
        # Readers that lag equally share one list, and what was merged in it.
        self._slices: dict[int, list[RecordedEvent]] = {}

    @property
    def last_seq(self) -> int:
        """Number of the newest event, 0 while there is none."""
        return self._events[-1].seq if self._events else 0

    def extend(self, events: Sequence[RecordedEvent]) -> None:
        """Add events, dropping the oldest beyond the bounds. The newest always stays."""
        self._slices.clear()
        for event in events:
            if self._events and event.seq != self.last_seq + 1:
                # Something was committed without being published. Whoever needs it finds it on the tape.
                self._events.clear()
                self._bytes = 0
            self._events.append(event)
            self._bytes += len(event.payload)
            self.total_bytes += len(event.payload)
        while len(self._events) > 1 and (len(self._events) > self._max_events or self._bytes > self._max_bytes):
            self._bytes -= len(self._events.popleft().payload)

    def covers(self, seq: int) -> bool:
        """Return whether everything after ``seq`` that has been published is here."""
        return bool(self._events) and self._events[0].seq <= seq + 1

    def after(self, seq: int) -> list[RecordedEvent]:
        """Return the events after ``seq`` with their deltas merged; the same list for all who ask alike."""
        found = self._slices.get(seq)
        if found is None:
            missing = min(max(self.last_seq - seq, 0), len(self._events))
            newest = list(islice(reversed(self._events), missing))
            found = self._slices[seq] = merge_deltas(newest[::-1])
        return found
