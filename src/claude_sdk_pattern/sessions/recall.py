"""What an agent should remember, told from the tape.

The tape is what people saw, the transcript what the agent remembers. When a conversation is continued, the last answer
on the tape has to be in the transcript, or the agent would go on as if part of the conversation had not been.
"""

from typing import Final

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.log import EventLog

MEMORY_LOST: Final = events.Notice(
    code="memory_lost",
    message="The agent's memory of this conversation was lost; what you see is still complete.",
)
"""The transcript is gone, or lacks the last answer; the agent begins anew."""

MEMORY_CLEARED: Final = events.Notice(
    code="memory_cleared",
    message="The agent has forgotten the conversation so far; what you see is still complete.",
)
"""The agent was told to forget."""

_TYPES: Final = ("result", "rewound", "notice")

# The last answer is nearly always the first of these, so a page is small.
_PAGE: Final = 20

_MAX_SEQ: Final = 2**63 - 1


async def find_last_checkpoint(log: EventLog, session_id: str) -> str | None:
    """Return the agent's name for the last answer that stands on the tape and that it has not been made to forget.

    None if there is no such answer. Names stay the same in copies of a transcript.

    Raises:
        TapeUnavailable: the database did not answer.
    """
    before = _MAX_SEQ
    while page := await log.latest(session_id, _TYPES, before=before, limit=_PAGE):
        for recorded in page:
            if recorded.seq >= before:
                # Taken back by a `rewound` that was met on the way.
                continue
            before = recorded.seq
            match recorded.event:
                case events.Rewound(before_seq=taken_back_from):
                    before = min(before, taken_back_from)
                case events.Notice(code="memory_lost" | "memory_cleared"):
                    return None
                case events.Result(checkpoint=str(checkpoint)):
                    return checkpoint
                case _:
                    pass
    return None
