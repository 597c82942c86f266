"""What an agent should remember, told from the tape.

The tape is what people saw, the transcript what the agent remembers. When a conversation is continued, the last answer
on the tape has to be in the transcript, or the agent would go on as if part of the conversation had not been.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.log import EventLog


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAnswer:
    """The last answered turn that the agent has not forgotten.

    ``entry_uuid`` names its end in the agent's transcript. None: the transcript was cut or copied since, which gives
    its entries other names.
    """

    entry_uuid: str | None


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


async def find_last_answer(log: EventLog, session_id: str, own_turns: Collection[str]) -> LastAnswer | None:
    """Return the last answer that stands on the tape and that the agent has not been made to forget, or None.

    Args:
        log: where the tape is.
        session_id: whose tape.
        own_turns: the turns that were not copied from the session this one was forked from.

    Raises:
        TapeUnavailable: the database did not answer.
    """
    before, is_renamed = _MAX_SEQ, False
    while page := await log.latest(session_id, _TYPES, before=before, limit=_PAGE):
        for recorded in page:
            if recorded.seq >= before:
                # Taken back by a `rewound` that was met on the way.
                continue
            before = recorded.seq
            match recorded.event:
                case events.Rewound(before_seq=taken_back_from):
                    before, is_renamed = min(before, taken_back_from), True
                case events.Notice(code="memory_lost" | "memory_cleared"):
                    return None
                case events.Result(checkpoint=str(checkpoint)):
                    is_renamed = is_renamed or recorded.turn_id not in own_turns
                    return LastAnswer(entry_uuid=None if is_renamed else checkpoint)
                case _:
                    pass
    return None
