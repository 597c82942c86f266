"""What of a session's past one can go back to: the ends of its turns, and what its agent knew then."""

from dataclasses import dataclass, replace

from uuid_utils import uuid4

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.standing import standing
from claude_sdk_pattern.sessions.checkpoints import START
from claude_sdk_pattern.sessions.errors import NothingToForkError, NothingToRewindError
from claude_sdk_pattern.sessions.transcripts import TranscriptStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a conversation, between two turns.

    Attributes:
        seq: the number of the last ``result`` before it that has a checkpoint, 0 for the beginning.
        checkpoint: the agent's name for the end of what it knew there; None when it knew nothing.
        files: the name of the workspace's checkpoint there.
    """

    seq: int
    checkpoint: str | None
    files: str


class History:
    """Finds places on tapes, and copies what agents remember up to them."""

    def __init__(self, log: EventLog, transcripts: TranscriptStore) -> None:
        self._log = log
        self._transcripts = transcripts

    async def end_of_turn(self, session_id: str, *, until: int | None) -> Place:
        """Return the place behind the last answered turn at or before the event ``until`` (None: of all).

        Raises:
            NothingToForkError: no turn was answered there yet.
        """
        place = _last_place(await self._marks(session_id, until))
        if place.checkpoint is None:
            raise NothingToForkError
        return place

    async def before_message(self, session_id: str, seq: int) -> Place:
        """Return the place before the message with the number ``seq``.

        Raises:
            NothingToRewindError: there is no such message, or it was taken back already.
        """
        marks = await self._marks(session_id, None)
        if not any(item.seq == seq and item.type == "user_message" for item in marks):
            raise NothingToRewindError(seq)
        return _last_place([item for item in marks if item.seq < seq])

    async def copy_memory(self, agent_session_id: str | None, place: Place) -> str | None:
        """Copy what an agent knew at a place; return the id of the copy, None when it knew nothing.

        Raises:
            NothingToForkError: the agent's memory does not reach back there.
        """
        if place.checkpoint is None or agent_session_id is None:
            return None
        copy = str(uuid4())
        if not await self._transcripts.fork(agent_session_id, copy, until=place.checkpoint):
            raise NothingToForkError
        return copy

    async def forget(self, agent_session_id: str) -> None:
        """Delete what an agent remembers."""
        await self._transcripts.delete({"project_key": "", "session_id": agent_session_id})

    async def _marks(self, session_id: str, until: int | None) -> list[RecordedEvent]:
        kinds = ("user_message", "result", "rewound")
        return standing(await self._log.read(session_id, until=until, types=kinds))


def _last_place(marks: list[RecordedEvent]) -> Place:
    place = Place(seq=0, checkpoint=None, files=START)
    for item in marks:
        if item.type == "result" and isinstance(event := item.event, events.Result):
            place = replace(place, files=item.turn_id or START)
            # A turn that broke off leaves files behind but no name for what the agent knew.
            if event.checkpoint is not None:
                place = replace(place, seq=item.seq, checkpoint=event.checkpoint)
    return place
