"""Events on their way to the database: what waits, joined where it may be, within limits.

Nothing here is asynchronous and nothing touches a database.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.shortening import is_long, shortened
from claude_sdk_pattern.events.types import Event, StreamEvent, Text, Thinking, ToolUse, UserMessage

type Waiter = asyncio.Future[RecordedEvent]

# A joined delta stays small enough to be sent as one frame without anybody noticing.
MAX_DELTA_CHARACTERS = 64 * 1024

# From here on an event is one of its kind: a tool's long answer, or what a tool is told to write. The process that sent
# it must not be punished for what comes right behind.
LARGE_BYTES = 1024 * 1024

# What an event weighs beside its text: envelope, indexes and Python objects, roughly.
OVERHEAD_BYTES = 300

_ID_LIMITS = {"session_id": 36, "turn_id": 36, "block_id": 128, "client_id": 128, "actor": 64}


@dataclass(slots=True, kw_only=True)
class Draft:
    """One event that has no number yet. ``payload`` is empty until :meth:`seal` for a delta that may still grow.

    ``is_large`` marks one of the few events that count towards a limit of their own.
    """

    session_id: str
    type: str
    turn_id: str | None
    actor: str
    ts_ms: int
    block_id: str | None
    client_id: str | None
    payload: bytes = b""
    size_bytes: int = 0
    is_large: bool = False
    waiters: list[Waiter] = field(default_factory=list[Waiter])
    first_delta: StreamEvent | None = None
    deltas: list[str] = field(default_factory=list[str])

    def absorb(self, event: StreamEvent, turn_id: str | None, actor: str) -> bool:
        """Add a delta that directly follows; return whether it belongs here."""
        first = self.first_delta
        if (
            first is None
            or first.block_id != event.block_id
            or first.kind != event.kind
            or self.turn_id != turn_id
            or self.actor != actor
            or self.size_bytes > MAX_DELTA_CHARACTERS
        ):
            return False
        self.deltas.append(event.delta)
        self.size_bytes += len(event.delta)
        return True

    def seal(self) -> None:
        """Encode a delta with all that joined it. Other events are encoded already."""
        first = self.first_delta
        if first is None:
            return
        if len(self.deltas) > 1:
            first = first.model_copy(update={"delta": "".join(self.deltas)})
        self.payload = first.encode()
        self.first_delta = None

    def recorded(self, seq: int, tool_result_bytes: int | None = None) -> RecordedEvent:
        """Return the event as readers get it with this number: a long tool result in its short form."""
        payload = self.payload
        if tool_result_bytes is not None and is_long(self.type, payload, tool_result_bytes):
            payload = shortened(payload, tool_result_bytes)
        return RecordedEvent(
            session_id=self.session_id,
            seq=seq,
            type=self.type,
            turn_id=self.turn_id,
            actor=self.actor,
            ts_ms=self.ts_ms,
            block_id=self.block_id,
            payload=payload,
        )


def draft(session_id: str, event: Event, turn_id: str | None, actor: str, ts_ms: int) -> Draft:
    """Make a draft, with the columns that an event is looked up by, and its payload unless it is a delta.

    Raises:
        ValueError: an id is empty, longer than its column, or not printable.
    """
    made = Draft(
        session_id=session_id,
        type=event.__dict__["type"],
        turn_id=turn_id,
        actor=actor,
        ts_ms=ts_ms,
        block_id=_block_id(event),
        client_id=event.client_id if isinstance(event, UserMessage) else None,
    )
    _check_ids(made)
    if isinstance(event, StreamEvent):
        made.first_delta = event
        made.deltas.append(event.delta)
        made.size_bytes = OVERHEAD_BYTES + len(event.delta)
    else:
        made.payload = event.encode()
        made.size_bytes = OVERHEAD_BYTES + len(made.payload)
        made.is_large = made.size_bytes > LARGE_BYTES
    return made


def _block_id(event: Event) -> str | None:
    match event:
        case StreamEvent() | Text() | Thinking():
            return event.block_id
        case ToolUse():
            return event.tool_use_id
        case _:
            return None


def _check_ids(made: Draft) -> None:
    for name, limit in _ID_LIMITS.items():
        value: str | None = getattr(made, name)
        if value is not None and not _is_storable(value, limit):
            raise ValueError(f"{name} must be 1 to {limit} printable characters")


# Control characters: PostgreSQL stores no NUL, and its writer uses two others to separate values. Nor can that writer
# tell an empty string from none. Remembered, because the same few ids come with every event of a turn.
@lru_cache(maxsize=4096)
def _is_storable(value: str, limit: int) -> bool:
    return 0 < len(value) <= limit and value.isprintable()


class Pending:
    """What waits for its commit, in the order it came, per session without holes.

    ``bytes`` leaves out the large events, which ``large_bytes`` counts.
    """

    def __init__(self) -> None:
        self.events = 0
        self.bytes = 0
        self.large_bytes = 0
        self._drafts: list[Draft] = []
        self._last: dict[str, Draft] = {}

    def __bool__(self) -> bool:
        return bool(self._drafts)

    def join(self, session_id: str, event: Event, turn_id: str | None, actor: str) -> Draft | None:
        """Add the event to the last one of its session if both are deltas of one block; return that one."""
        if not isinstance(event, StreamEvent):
            return None
        last = self._last.get(session_id)
        if last is None or not last.absorb(event, turn_id, actor):
            return None
        self.bytes += len(event.delta)
        return last

    def add(self, made: Draft) -> None:
        """Queue a draft behind everything else."""
        self._drafts.append(made)
        self._last[made.session_id] = made
        self.events += 1
        self._count(made, +1)

    def take(self) -> list[Draft]:
        """Remove and return everything queued. It counts towards the limits until :meth:`settle`."""
        taken, self._drafts, self._last = self._drafts, [], {}
        return taken

    def settle(self, drafts: Iterable[Draft]) -> None:
        """Stop counting drafts that are committed or given up."""
        for made in drafts:
            self.events -= 1
            self._count(made, -1)

    def _count(self, made: Draft, sign: int) -> None:
        if made.is_large:
            self.large_bytes += sign * made.size_bytes
        else:
            self.bytes += sign * made.size_bytes
