"""Count how often a fault has struck, for faults that strike only the first N times.

This is the one thing the scripted model remembers. It is keyed by the conversation's content (``Conversation.key``),
so retries of one request count together and two sessions with the same words do not. A count ends when the fault has
struck often enough; a restart forgets all counts, and the fault then strikes again.
"""

from collections import OrderedDict

MAX_COUNTS = 1000
"""Conversations that gave up in mid-fault never come back; the oldest counts make room."""


class AttemptCounts:
    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def strikes(self, key: str, attempts: int | None) -> bool:
        """Say whether the fault of ``key`` strikes this time, and remember that it did. ``attempts`` None: always."""
        if attempts is None:
            return True
        so_far = self._counts.pop(key, 0)
        if so_far >= attempts:
            return False
        self._counts[key] = so_far + 1
        if len(self._counts) > MAX_COUNTS:
            self._counts.popitem(last=False)
        return True
