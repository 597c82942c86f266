"""Messages to one session, each taken once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from uuid_utils import uuid4

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import DuplicateClientId
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM
from claude_sdk_pattern.policy.prompt_guard import PromptVerdict
from claude_sdk_pattern.sessions.errors import ShuttingDownError
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
        on_turn: called with each new turn, in the order of the tape.
    """

    def __init__(
        self,
        session_id: str,
        log: EventLog,
        files: SessionFiles,
        *,
        accepted: dict[str, tuple[int, str | None]],
        guard: Callable[[str], Awaitable[PromptVerdict]],
        on_turn: Callable[[Turn], None],
    ) -> None:
        self._session_id = session_id
        self._log = log
        self._files = files
        self._guard = guard
        self._on_turn = on_turn
        self._accepted: dict[str, asyncio.Future[Accepted] | Accepted] = {
            client_id: Accepted(turn_id=turn_id or "", seq=seq) for client_id, (seq, turn_id) in accepted.items()
        }
        self._accepting = 0

    @property
    def is_accepting(self) -> bool:
        """Whether a message is on its way to the tape."""
        return self._accepting > 0

    async def wait_accepted(self) -> None:
        """Wait until no message is on its way to the tape."""
        if accepting := [item for item in self._accepted.values() if isinstance(item, asyncio.Future)]:
            await asyncio.wait(accepting)

    async def submit(
        self, text: str, *, client_id: str, actor: str, attachments: Sequence[str], check: Callable[[], None]
    ) -> Accepted:
        """Take a message; the same ``client_id`` again gets the first answer again.

        ``check`` raises if no new message can be taken.

        Raises:
            AttachmentNotFoundError: one of the files was not uploaded to this session.
            PromptBlockedError: the prompt guard refuses it.
            TapeError: it could not be stored; nothing of it is kept.
        """
        known = self._accepted.get(client_id)
        if isinstance(known, Accepted):
            return known
        if known is not None:
            return await asyncio.shield(known)
        check()
        accepting: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        self._accepted[client_id] = accepting
        self._accepting += 1
        try:
            accepted = await self._accept(text, client_id, actor, attachments)
        except BaseException as error:
            del self._accepted[client_id]
            accepting.set_exception(error if isinstance(error, Exception) else ShuttingDownError())
            accepting.exception()
            raise
        finally:
            self._accepting -= 1
        self._accepted[client_id] = accepted
        accepting.set_result(accepted)
        return accepted

    async def _accept(self, text: str, client_id: str, actor: str, attachment_ids: Sequence[str]) -> Accepted:
        turn_id = str(uuid4())
        # Before anything is stored: what is refused stays with its writer, to be reworded.
        verdict = await self._guard(text)
        attachments = await self._files.take(attachment_ids)
        message = events.UserMessage(text=text, client_id=client_id, attachments=attachments)
        try:
            recorded = await self._log.append(self._session_id, message, turn_id=turn_id, actor=actor)
        except DuplicateClientId as duplicate:
            return Accepted(turn_id=duplicate.turn_id or "", seq=duplicate.seq)
        if verdict.reaction == "flag":
            flag = events.Notice(code="prompt_flagged", message=str(verdict.why), rule=verdict.rule)
            self._log.append_nowait(self._session_id, flag, turn_id=turn_id, actor=SYSTEM)
        self._on_turn(Turn(turn_id=turn_id, seq=recorded.seq, actor=actor, text=text, attachments=attachments))
        return Accepted(turn_id=turn_id, seq=recorded.seq)
