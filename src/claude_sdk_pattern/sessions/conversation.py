"""Conversation: one session that is open on this server.

Messages wait in a queue and run one after the other, each as a turn. Between turns the agent process may be taken
away (hibernation) or die; the next message brings it back by resume.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import TapeError
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.plugins.errors import UnknownPluginError
from claude_sdk_pattern.policy.prompt_guard import PromptVerdict
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.agent_seat import apply_settings
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.attachments import AttachmentStore
from claude_sdk_pattern.sessions.background import Background
from claude_sdk_pattern.sessions.bill import Bill
from claude_sdk_pattern.sessions.checkpoints import Checkpoints
from claude_sdk_pattern.sessions.errors import (
    AgentCrashedError,
    EmptyMessageError,
    MessageTooLongError,
    QueueFullError,
    SessionElsewhereError,
    ShuttingDownError,
    TooManyAttachmentsError,
)
from claude_sdk_pattern.sessions.history import History
from claude_sdk_pattern.sessions.inbox import Accepted, Inbox
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.ledger import Ledger
from claude_sdk_pattern.sessions.narrator import Narrator
from claude_sdk_pattern.sessions.repository import Session, SessionRepository
from claude_sdk_pattern.sessions.session_files import SessionFiles
from claude_sdk_pattern.sessions.session_state import SessionState
from claude_sdk_pattern.sessions.slots import SlotHolder
from claude_sdk_pattern.sessions.turn_closer import TurnCloser
from claude_sdk_pattern.sessions.turn_meter import TurnMeter
from claude_sdk_pattern.sessions.turn_runner import TurnRunner, TurnServices
from claude_sdk_pattern.sessions.turns import StopReason, Turn
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.telemetry.metrics import Metrics

logger = structlog.get_logger(__name__)

# What a session is called until its first message names it.
UNTITLED = "New chat"

# The first line of a message, as far as a list of sessions can show it.
_TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationServices(TurnServices):
    """What every conversation needs from the rest of the server."""

    repository: SessionRepository
    ledger: Ledger
    metrics: Metrics
    history: History
    checkpoints: Checkpoints
    workspaces: Workspaces
    leases: Leases
    attachments: AttachmentStore
    is_watched: Callable[[str], bool]
    """Whether anybody has a session open now."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Errand:
    """What a conversation does besides turns, between them. ``done`` ends as ``run`` does."""

    run: Callable[[], Awaitable[None]]
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def fail(self, error: Exception) -> None:
        self.done.set_exception(error)
        # Looked at here too: not everybody who sends one waits for it.
        self.done.exception()


class Conversation(SlotHolder):
    """A session that is open on this server.

    Args:
        session: the session's row.
        accepted: the messages on its tape by ``client_id``, so that none runs twice.
        services: what it needs from the rest of the server.
    """

    def __init__(
        self, session: Session, accepted: dict[str, tuple[int, str | None]], services: ConversationServices
    ) -> None:
        self._services = services
        log, repository = services.log, services.repository
        self._background = Background(session.id, may_write=lambda: services.leases.holds(session.id))
        self._state = SessionState(session, repository, self._background)
        meter = TurnMeter(services.metrics)
        spending = services.model.meter(session.id, spent_usd=session.cost_usd, user_id=session.owner_id)
        bill = Bill(spending, services.ledger, self._background)
        self._narrator = Narrator(session.id, log, meter, wants_data=session.output_schema is not None)
        self._files = SessionFiles(
            session.id,
            lambda: self.session.workspace_id,
            workspaces=services.workspaces,
            checkpoints=services.checkpoints,
            attachments=services.attachments,
        )
        self._closer = TurnCloser(session.id, log, bill, meter)
        self._runner = TurnRunner(
            self,
            state=self._state,
            narrator=self._narrator,
            bill=bill,
            files=self._files,
            closer=self._closer,
            services=services,
        )
        self._inbox = Inbox(
            session.id,
            log,
            self._files,
            accepted=accepted,
            guard=self._check_prompt,
            on_storing=self._begin_ahead,
            on_turn=self._take,
            on_lost=self._runner.forget,
        )
        self._queue: asyncio.Queue[Turn | _Errand] = asyncio.Queue()
        self._is_working = False
        # Set from when a process was brought back ahead of a message until the next is worth it.
        self._is_expecting = False
        self._closing = False
        self._idle_since = asyncio.get_running_loop().time()
        self._task = asyncio.create_task(self._run(), name=f"conversation-{session.id}")

    @property
    def session(self) -> Session:
        """The session's row as this conversation last knew it."""
        return self._state.session

    @property
    def process(self) -> AgentProcess | None:
        """The agent process the session holds, if it has one."""
        return self._runner.process

    @property
    def status(self) -> events.StatusName:
        """What the session is doing now."""
        if self._runner.turn is not None:
            return self._narrator.status or "thinking"
        return "hibernated" if self.process is None else "idle"

    # --- what people ask of it ----------------------------------------------------------------------------------

    async def submit(self, text: str, *, client_id: str, actor: str, attachments: Sequence[str] = ()) -> Accepted:
        """Put a message on the tape and in the queue; the same ``client_id`` again gets the first answer again.

        ``attachments`` are the ids of files uploaded to this session; with some, the text may be empty.

        Raises:
            MessageRefusedError: it is empty, too long, carries too many files, or too many wait.
            AttachmentNotFoundError: one of the files was not uploaded to this session.
            PromptBlockedError: the prompt guard refuses it.
            StorageFullError: the disk is almost full.
            ShuttingDownError: the server is stopping.
            TapeError: it could not be stored; nothing of it is kept.
        """
        return await self._inbox.submit(
            text,
            client_id=client_id,
            actor=actor,
            attachments=attachments,
            check=lambda: self._check(text, attachments),
        )

    def interrupt(self) -> bool:
        """Stop the running turn; return whether there was one. Messages that wait are answered next."""
        return self.stop_turn(StopReason.PERSON)

    async def answer_permission(self, request_id: str, answer: Answer) -> None:
        """Decide a permission request.

        Raises:
            RequestNotPendingError: it is not pending (any more).
            InputRefusedError: the input that a person put in may not be used; the request stays open.
        """
        await self._runner.policy.approvals.answer(request_id, answer)

    async def configure(
        self, *, title: str | None = None, model: str | None = None, permission_mode: str | None = None, actor: str
    ) -> None:
        """Change settings; a live process takes the model and the permission mode over at once."""
        values = {"title": title, "model": model, "permission_mode": permission_mode}
        changed: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if not changed:
            return
        await self._state.change(**changed)
        if self.process is not None:
            # A process that refuses is found out and replaced at its next turn.
            with contextlib.suppress(AgentCrashedError):
                await apply_settings(self.process, self.session)
        await self._services.log.append(self.session.id, events.SessionUpdated(**changed), actor=actor)

    async def configure_plugin(self, plugin: str, *, enabled: bool, actor: str) -> None:
        """Turn a plugin on or off for this session, from its next agent process on.

        A process that is there is ended as soon as no turn runs; the next message starts the other.

        Raises:
            UnknownPluginError: no such plugin is active.
            ShuttingDownError: the server is stopping.
        """
        if self._closing:
            raise ShuttingDownError
        if plugin not in self._services.source.active_plugins().names:
            raise UnknownPluginError(plugin)
        await self._state.change_plugins(self.session.plugins.switch(plugin, enabled=enabled))
        await self._services.log.append(self.session.id, events.SessionUpdated(plugins={plugin: enabled}), actor=actor)
        self._queue.put_nowait(_Errand(run=self._runner.end_process))

    async def rewind(self, *, before_seq: int, files: bool, actor: str) -> None:
        """Take the conversation back to before the message with the number ``before_seq``.

        Turns from there on are stopped or never begun. The agent forgets them; their events stay on the tape and no
        longer stand. With ``files`` the workspace is put back as well, where there is a checkpoint of it.

        Raises:
            NothingToRewindError: no message that still stands has this number.
            NothingToForkError: the agent's memory does not reach back there.
            ShuttingDownError: the server is stopping.
        """
        if self._closing:
            raise ShuttingDownError
        await self._services.history.before_message(self.session.id, before_seq)
        for turn in self._turns():
            if turn.seq is None or turn.seq >= before_seq:
                turn.stop(StopReason.PERSON)
        errand = _Errand(run=lambda: self._rewind(before_seq, files, actor))
        self._queue.put_nowait(errand)
        await asyncio.shield(errand.done)

    async def wake(self) -> None:
        """Bring the process of a sleeping session back now, so that its next message is answered at once."""
        if self._closing:
            raise ShuttingDownError
        if self.process is None and not self.is_busy:
            self._queue.put_nowait(_Errand(run=self._runner.wake))

    def expect_message(self) -> None:
        """Bring the process back for a message that somebody writes; once, and only if nobody else wants the slot."""
        if self._closing or self.process is not None or self.is_busy or self._is_expecting:
            return
        if self._runner.is_slot_free:
            self._is_expecting = True
            self._queue.put_nowait(_Errand(run=self._runner.wake))

    # --- for the slots (SlotHolder) -----------------------------------------------------------------------------

    @property
    def owner_id(self) -> str:
        """Whose session it is."""
        return self.session.owner_id

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits, or a message is being accepted."""
        return self._is_working or not self._queue.empty() or self._inbox.is_accepting

    @property
    def is_watched(self) -> bool:
        """Whether anybody has the session open."""
        return self._services.is_watched(self.session.id)

    @property
    def idle_since(self) -> float:
        """When the last turn ended, on the event loop's clock, in seconds."""
        return self._idle_since

    async def hibernate(self) -> None:
        """End the process of a quiet session; a busy one keeps it."""
        if self.process is None or self.is_busy:
            return
        self._is_expecting = False
        self._narrator.emit(events.Status(status="hibernated"))
        await self._runner.end_process()

    def on_queued(self, position: int) -> None:
        """Say that all agent processes are at work, and when it is this session's turn."""
        self._narrator.set_status("preparing", queue_position=position)

    # --- for the watchdog ---------------------------------------------------------------------------------------

    def notify(self, *, code: str, message: str) -> None:
        """Tell the people in the session something that is no failure."""
        self._narrator.emit(events.Notice(code=code, message=message))

    async def restart_process(self) -> None:
        """Replace the process of a quiet session by a fresh one that knows as much; a busy one keeps it."""
        if self.process is None or self.is_busy:
            return
        self._queue.put_nowait(_Errand(run=self._restart))

    def stop_turn(self, reason: StopReason) -> bool:
        """Stop the running turn; return whether there was one."""
        if self._runner.turn is None:
            return False
        self._runner.turn.stop(reason)
        return True

    @property
    def asking(self) -> set[str]:
        """The actors whose turns run or wait."""
        return {turn.actor for turn in self._turns()}

    def stop_turns_of(self, actor: str, reason: StopReason) -> None:
        """Stop the running turn and those that wait, if this actor asked for them."""
        for turn in self._turns():
            if turn.actor == actor:
                turn.stop(reason)

    # --- the end ------------------------------------------------------------------------------------------------

    def announce_shutdown(self, *, interrupt_after_seconds: float) -> None:
        """Take no more messages, begin no more turns, and tell whoever waits for one when it is stopped."""
        self._close()
        if self.is_busy:
            delay_ms = round(1000 * interrupt_after_seconds)
            self._narrator.emit(events.Status(status="server_shutting_down", delay_ms=delay_ms))

    async def wait_rested(self) -> None:
        """Wait until the running turn has ended; only after :meth:`announce_shutdown`."""
        if self._is_working:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        """End the process and everything that runs. Turns that are open get their ``interrupted`` result."""
        self._close()
        # A message whose commit is under way is accepted, and owed a result like the others.
        await self._inbox.wait_accepted()
        running = self._runner.turn
        self._runner.policy.approvals.deny_all("The server is stopping.")
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._runner.end_process()
        # One that was given ahead runs and waits.
        for work in filter(None, dict.fromkeys([running, *self._waiting()])):
            if isinstance(work, Turn):
                work.stop(StopReason.SHUTDOWN)
                await self._closer.close(work)
            else:
                work.fail(ShuttingDownError())
        await self._files.aclose()
        await self._runner.policy.aclose()
        await self._background.wait()

    async def abandon(self) -> None:
        """End the process at once and write nothing: the lease was lost. Whoever finds the turns open closes them."""
        self._close()
        if self.process is not None:
            self.process.kill()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._runner.policy.approvals.deny_all("Another server works on this session now.")
        await self._runner.end_process()
        for work in self._waiting():
            if not isinstance(work, Turn):
                work.fail(SessionElsewhereError(retry_after_seconds=1))
        await self._files.aclose()
        await self._runner.policy.aclose()
        await self._background.wait()
        # What waits is refused by now. It must be gone before this server may take the lease again.
        await self._services.log.flush()

    def _close(self) -> None:
        self._closing = self._runner.is_closing = True

    def _turns(self) -> list[Turn]:
        """Return the turn that runs and those that wait."""
        waiting = self._waiting()
        for work in waiting:
            # A queue does not show what is in it: taken out and put back, at once.
            self._queue.put_nowait(work)
        return [work for work in [self._runner.turn, *waiting] if isinstance(work, Turn)]

    def _waiting(self) -> list[Turn | _Errand]:
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    # --- messages -----------------------------------------------------------------------------------------------

    def _check(self, text: str, attachments: Sequence[str]) -> None:
        settings = self._services.settings
        if self._closing:
            raise ShuttingDownError
        if not text.strip() and not attachments:
            raise EmptyMessageError
        if len(text) > settings.max_message_length:
            raise MessageTooLongError(len(text), settings.max_message_length)
        if self._queue.qsize() >= settings.max_queued_messages:
            raise QueueFullError(settings.max_queued_messages)
        if len(attachments) > settings.max_attachments_per_message:
            raise TooManyAttachmentsError(len(attachments), settings.max_attachments_per_message)
        self._runner.check()

    async def _check_prompt(self, text: str) -> PromptVerdict:
        return await self._runner.policy.check_prompt(text, workspace_id=self.session.workspace_id)

    async def _begin_ahead(self, turn: Turn, stored: asyncio.Future[RecordedEvent]) -> None:
        if not self._is_working and self._queue.empty():
            await self._runner.send_ahead(turn, stored)

    def _take(self, turn: Turn) -> None:
        self._queue.put_nowait(turn)
        if self.session.title == UNTITLED:
            title = _title_of(turn.text.strip() or turn.attachments[0].name)
            self._narrator.emit(events.SessionUpdated(title=title))
            self._state.change_soon(title=title)

    async def _run(self) -> None:
        while not self._closing:
            work = await self._queue.get()
            if self._closing:
                # Begun now it would only be cut off; `aclose` answers for it.
                self._queue.put_nowait(work)
                return
            self._is_working, is_damaged = True, False
            if isinstance(work, Turn):
                is_damaged = await self._run_turn(work)
            else:
                await self._run_errand(work)
            self._is_working = False
            self._idle_since = asyncio.get_running_loop().time()
            self._runner.notify_idle()
            if isinstance(work, Turn):
                await self._closer.mend(work, is_damaged=is_damaged)

    async def _run_turn(self, turn: Turn) -> bool:
        """Run a turn; return whether the tape refused a part of it."""
        self._is_expecting = False
        try:
            await self._runner.run(turn)
        except TapeError:
            # The tape cannot take anything now.
            logger.exception("turn_not_recorded", session_id=self.session.id)
            return True
        self._background.run(self._services.log.compact(self.session.id, turn.turn_id))
        return False

    async def _run_errand(self, errand: _Errand) -> None:
        try:
            await errand.run()
        except Exception as error:
            # Whatever it was, whoever sent the errand learns it, and the next message is answered.
            logger.exception("session_errand_failed", session_id=self.session.id)
            errand.fail(error)
        except BaseException:
            errand.fail(ShuttingDownError())
            raise
        else:
            errand.done.set_result(None)

    async def _restart(self) -> None:
        await self._runner.end_process()
        await self._runner.wake()

    async def _rewind(self, before_seq: int, files: bool, actor: str) -> None:
        services, session = self._services, self.session
        place = await services.history.before_message(session.id, before_seq)
        memory = await services.history.copy_memory(session.agent_session_id, place)
        await self._runner.end_process()
        restored = files and await self._files.restore(place.files)
        await self._state.change(agent_session_id=memory)
        await services.log.append(
            session.id, events.Rewound(before_seq=before_seq, files_restored=restored), actor=actor
        )
        if session.agent_session_id is not None:
            await services.history.forget(session.agent_session_id)
        self._narrator.emit(events.Status(status="hibernated"))


def _title_of(text: str) -> str:
    """Return what a session is called after its first message: the beginning, in one line of what can be printed."""
    words = "".join(letter for letter in text if letter.isprintable() or letter.isspace())
    line = " ".join(words.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
