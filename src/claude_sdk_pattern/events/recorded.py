"""An event as it stands on the tape: its envelope, and its payload as the bytes that were stored."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from claude_sdk_pattern.events.types import AnyEvent, event_adapter

AGENT: Final = "agent"
"""Actor of what the agent process said and did."""

SYSTEM: Final = "system"
"""Actor of what the platform itself did."""


def user_actor(user_id: str) -> str:
    """Return the actor of what a person did."""
    return f"user:{user_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """One committed event.

    ``seq`` counts from 1 within the session. ``ts_ms`` is when it was appended, in milliseconds since the epoch,
    UTC. ``block_id`` is the ``tool_use_id`` for a ``tool_use`` and ``None`` for events that belong to no block.
    ``payload`` is the event's own JSON object, without the envelope, and begins with ``{"type":``.
    """

    session_id: str
    seq: int
    type: str
    turn_id: str | None
    actor: str
    ts_ms: int
    block_id: str | None
    payload: bytes
    _frame: list[bytes] = field(default_factory=list[bytes], init=False, repr=False, compare=False)

    @property
    def frame(self) -> bytes:
        """The event as clients get it: envelope and payload in one JSON object, built once for all readers."""
        if not self._frame:
            head = _frame_head(self.session_id, self.turn_id, self.actor)
            self._frame.append(b'{"seq":%d%b,"ts":"%b",%b' % (self.seq, head, _rfc3339(self.ts_ms), self.payload[1:]))
        return self._frame[0]

    @property
    def event(self) -> AnyEvent:
        """The payload as its typed event; parsed on each access."""
        return event_adapter.validate_json(self.payload)


# The three strings stay the same over a whole turn of streaming, so escaping them once is enough.
@lru_cache(maxsize=1024)
def _frame_head(session_id: str, turn_id: str | None, actor: str) -> bytes:
    fields = {"session_id": session_id, "turn_id": turn_id, "actor": actor}
    return b"," + json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()[1:-1]


def _rfc3339(ts_ms: int) -> bytes:
    seconds, milliseconds = divmod(ts_ms, 1000)
    return b"%b.%03dZ" % (_second(seconds), milliseconds)


# Many events share a second, and formatting a date costs more than the rest of the frame.
@lru_cache(maxsize=64)
def _second(seconds: int) -> bytes:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
