"""Messages to one session, each taken once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from uuid_utils import uuid4

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import DuplicateClientId
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM, RecordedEvent
from claude_sdk_pattern.policy.prompt_guard import PromptVerdict
from claude_sdk_pattern.sessions.session_files import SessionFiles
from claude_sdk_pattern.sessions.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A message that is on the tape: the turn it opened and its number."""

    turn_id: str
    seq: int


class Inbox:
    """Puts messages on the tape and hands out the turns they open.

    Args:
        session_id: the session.
        log: where its tape is.
        files: where what was uploaded is.
        accepted: the messages on the tape by ``client_id``: number and turn.
        guard: judges the text of a message before anything of it is stored.
        on_storing: called with each new turn while its message is being stored, and with what is done when it is.
        on_turn: called with each turn whose message is stored, in the order of the tape.
        on_lost: called with each turn whose message could not be stored.
    """

    def __init__(
        self,
        session_id: str,
        log: EventLog,
        files: SessionFiles,
        *,
        accepted: dict[str, tuple[int, str | None]],
        guard: Callable[[str], Awaitable[PromptVerdict]],
        on_storing: Callable[[Turn, asyncio.Future[RecordedEvent]], Awaitable[None]],
        on_turn: Callable[[Turn], None],
        on_lost: Callable[[Turn], None],
    ) -> None:
        self._session_id = session_id
        self._log = log
        self._files = files
        self._guard = guard
        self._on_storing = on_storing
        self._on_turn = on_turn
        self._on_lost = on_lost
        self._accepted = {
            client_id: Accepted(turn_id=turn_id or "", seq=seq) for client_id, (seq, turn_id) in accepted.items()
        }
        self._accepting: dict[str, asyncio.Task[Accepted]] = {}

    @property
    def is_accepting(self) -> bool:
        """Whether a message is on its way to the tape."""
        return bool(self._accepting)

    async def wait_accepted(self) -> None:
        """Wait until no message is on its way to the tape."""
        if self._accepting:
            await asyncio.wait(self._accepting.values())

    async def submit(
        self, text: str, *, client_id: str, actor: str, attachments: Sequence[str], check: Callable[[], None]
    ) -> Accepted:
        """Take a message; the same ``client_id`` again gets the first answer again.

        ``check`` raises if no new message can be taken. A caller that is cancelled leaves a message that is taken.

        Raises:
            AttachmentNotFoundError: one of the files was not uploaded to this session.
            PromptBlockedError: the prompt guard refuses it.
            TapeError: it could not be stored; nothing of it is kept.
        """
        if (known := self._accepted.get(client_id)) is not None:
            return known
        if (accepting := self._accepting.get(client_id)) is None:
            check()
            accepting = asyncio.create_task(self._accept(text, client_id, actor, attachments))
            self._accepting[client_id] = accepting
            accepting.add_done_callback(lambda task: self._on_accepted(client_id, task))
        # What was begun may be on disk, and is answered then; and others may wait for it too.
        return await asyncio.shield(accepting)

    def _on_accepted(self, client_id: str, task: asyncio.Task[Accepted]) -> None:
        del self._accepting[client_id]
        if not task.cancelled() and task.exception() is None:
            self._accepted[client_id] = task.result()

    async def _accept(self, text: str, client_id: str, actor: str, attachment_ids: Sequence[str]) -> Accepted:
        turn_id = str(uuid4())
        # Before anything is stored: what is refused stays with its writer, to be reworded.
        verdict = await self._guard(text)
        attachments = await self._files.take(attachment_ids)
        message = events.UserMessage(text=text, client_id=client_id, attachments=attachments)
        turn = Turn(turn_id=turn_id, actor=actor, text=text, attachments=attachments)
        stored = self._log.append(self._session_id, message, turn_id=turn_id, actor=actor)
        await self._on_storing(turn, stored)
        try:
            recorded = await stored
        except DuplicateClientId as duplicate:
            self._on_lost(turn)
            return Accepted(turn_id=duplicate.turn_id or "", seq=duplicate.seq)
        except BaseException:
            self._on_lost(turn)
            raise
        turn.seq = recorded.seq
        if verdict.reaction == "flag":
            flag = events.Notice(code="prompt_flagged", message=str(verdict.why), rule=verdict.rule)
            self._log.append_nowait(self._session_id, flag, turn_id=turn_id, actor=SYSTEM)
        self._on_turn(turn)
        return Accepted(turn_id=turn_id, seq=recorded.seq)
