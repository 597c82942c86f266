"""Conversation: one live session, and the only code that touches its agent process.

Messages wait in a queue and run one after the other, each as a turn that ends in exactly one ``result``, whatever
happens to the process meanwhile. Between turns the process may be taken away (hibernation) or die; the next message
brings it back by resume.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog
from claude_agent_sdk import (
    Message,
    PermissionResult,
    ResultMessage,
    ToolPermissionContext,
)
from uuid_utils import uuid4

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import (
    DuplicateClientId,
    TapeClosed,
    TapeError,
    TapeOverloaded,
    TapeTakenOver,
    TapeUnavailable,
    UnknownSession,
)
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import AGENT, SYSTEM
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.model_gateway.usage import UsageRecord
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.agent_seat import AgentSeat, ProcessSource, SessionAgent, apply_settings
from claude_sdk_pattern.sessions.approvals import Answer, Approvals
from claude_sdk_pattern.sessions.attachments import AttachmentStore
from claude_sdk_pattern.sessions.checkpoints import START, Checkpoints
from claude_sdk_pattern.sessions.disk import DiskWatermark, is_out_of_space, told_as_full
from claude_sdk_pattern.sessions.errors import (
    AgentCrashedError,
    AgentStartError,
    AttachmentNotFoundError,
    EmptyMessageError,
    MessageTooLongError,
    QueueFullError,
    SessionElsewhereError,
    ShuttingDownError,
    StorageFullError,
    TooManyAttachmentsError,
    TooManyWaitingError,
)
from claude_sdk_pattern.sessions.history import History
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.model_trouble import BUDGET_SPENT, ModelReport, unavailable
from claude_sdk_pattern.sessions.recall import MEMORY_CLEARED, MEMORY_LOST, find_last_checkpoint
from claude_sdk_pattern.sessions.recovery import closing_events
from claude_sdk_pattern.sessions.repository import Session, SessionRepository
from claude_sdk_pattern.sessions.translate import TranslationState, UnknownMessage, translate
from claude_sdk_pattern.sessions.turn_meter import TurnMeter
from claude_sdk_pattern.sessions.turns import Ending, StopReason, Turn, TurnGuard
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.telemetry.metrics import Metrics

logger = structlog.get_logger(__name__)

# How often a turn that the tape lost a part of is tried to be closed; the log itself tries for longer each time.
_MEND_SECONDS = 1.0

# What a session is called until its first message names it.
UNTITLED = "New chat"

# The first line of a message, as far as a list of sessions can show it.
_TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationServices:
    """What every conversation needs from the rest of the server."""

    settings: Settings
    log: EventLog
    repository: SessionRepository
    model: ModelGateway
    source: ProcessSource
    metrics: Metrics
    history: History
    checkpoints: Checkpoints
    workspaces: Workspaces
    leases: Leases
    attachments: AttachmentStore
    disk: DiskWatermark
    is_watched: Callable[[str], bool]
    """Whether anybody has a session open now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A message that is on the tape: the turn it opened and its number."""

    turn_id: str
    seq: int


@dataclass(slots=True, kw_only=True, eq=False)
class _Errand:
    """What a conversation does besides turns, between them. ``done`` ends as ``run`` does."""

    run: Callable[[], Awaitable[None]]
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def fail(self, error: Exception) -> None:
        self.done.set_exception(error)
        # Looked at here too: not everybody who sends one waits for it.
        self.done.exception()


class Conversation(SessionAgent):
    """A session that is open on this server.

    Args:
        session: the session's row.
        accepted: the messages on its tape by ``client_id``, so that none runs twice.
        services: what it needs from the rest of the server.
    """

    def __init__(
        self, session: Session, accepted: dict[str, tuple[int, str | None]], services: ConversationServices
    ) -> None:
        self._session = session
        self._services = services
        self._accepted: dict[str, asyncio.Future[Accepted] | Accepted] = {
            client_id: Accepted(turn_id=turn_id or "", seq=seq) for client_id, (seq, turn_id) in accepted.items()
        }
        self._queue: asyncio.Queue[Turn | _Errand] = asyncio.Queue()
        self._turn: Turn | None = None
        self._is_working = False
        self._seat = AgentSeat(self, services.source)
        self._state = TranslationState(wants_data=session.output_schema is not None)
        self._meter = services.model.meter(session.id, spent_usd=session.cost_usd)
        self._meter.on_usage = self._on_usage
        self._billed_usd = self._meter.spent_usd
        self._turn_meter = TurnMeter(services.metrics)
        self._approvals = Approvals(self._emit, timeout_seconds=services.settings.approval_timeout_seconds)
        self._background: set[asyncio.Task[None]] = set()
        self._idle_since = self._heard_at = asyncio.get_running_loop().time()
        self._crashes = 0
        self._checkpointing: asyncio.Task[None] | None = None
        self._accepting = 0
        self._closing = False
        self._task = asyncio.create_task(self._run(), name=f"conversation-{session.id}")

    # --- for the manager ----------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session's row as this conversation last knew it."""
        return self._session

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits, or a message is being accepted."""
        return self._is_working or not self._queue.empty() or self._accepting > 0

    @property
    def owner_id(self) -> str:
        """Whose session it is."""
        return self._session.owner_id

    @property
    def is_watched(self) -> bool:
        """Whether anybody has the session open."""
        return self._services.is_watched(self._session.id)

    @property
    def idle_since(self) -> float:
        """When the last turn ended, on the event loop's clock, in seconds."""
        return self._idle_since

    @property
    def process(self) -> AgentProcess | None:
        """The agent process the session holds, if it has one."""
        return self._seat.process

    @property
    def status(self) -> events.StatusName:
        """What the session is doing now."""
        if self._turn is not None:
            return self._state.status or "thinking"
        return "hibernated" if self.process is None else "idle"

    async def submit(self, text: str, *, client_id: str, actor: str, attachments: Sequence[str] = ()) -> Accepted:
        """Put a message on the tape and in the queue; the same ``client_id`` again gets the first answer again.

        ``attachments`` are the ids of files uploaded to this session; with some, the text may be empty.

        Raises:
            MessageRefusedError: it is empty, too long, carries too many files, or too many wait.
            AttachmentNotFoundError: one of the files was not uploaded to this session.
            StorageFullError: the disk is almost full.
            ShuttingDownError: the server is stopping.
            TapeError: it could not be stored; nothing of it is kept.
        """
        known = self._accepted.get(client_id)
        if isinstance(known, Accepted):
            return known
        if known is not None:
            return await asyncio.shield(known)
        self._check(text, attachments)
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

    def interrupt(self) -> bool:
        """Stop the running turn; return whether there was one. Messages that wait are answered next."""
        if self._turn is None:
            return False
        self._turn.stop(StopReason.PERSON)
        return True

    def answer_permission(self, request_id: str, answer: Answer) -> None:
        """Decide a permission request.

        Raises:
            RequestNotPendingError: it is not pending (any more).
        """
        self._approvals.answer(request_id, answer)

    async def configure(
        self, *, title: str | None = None, model: str | None = None, permission_mode: str | None = None, actor: str
    ) -> None:
        """Change settings; a live process takes the model and the permission mode over at once."""
        values = {"title": title, "model": model, "permission_mode": permission_mode}
        changed: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if not changed:
            return
        self._session = replace(self._session, **changed)
        await self._services.repository.update(self._session.id, **changed)
        if self._seat.process is not None:
            # A process that refuses is found out and replaced at its next turn.
            with contextlib.suppress(AgentCrashedError):
                await apply_settings(self._seat.process, self._session)
        await self._services.log.append(self._session.id, events.SessionUpdated(**changed), actor=actor)

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
        await self._services.history.before_message(self._session.id, before_seq)
        waiting = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        for work in waiting:
            if isinstance(work, Turn) and work.seq >= before_seq:
                work.stop(StopReason.PERSON)
            self._queue.put_nowait(work)
        if self._turn is not None and self._turn.seq >= before_seq:
            self._turn.stop(StopReason.PERSON)
        errand = _Errand(run=lambda: self._rewind(before_seq, files, actor))
        self._queue.put_nowait(errand)
        await asyncio.shield(errand.done)

    async def wake(self) -> None:
        """Bring the process of a sleeping session back now, so that its next message is answered at once."""
        if self._closing:
            raise ShuttingDownError
        if self.process is None and not self.is_busy:
            self._queue.put_nowait(_Errand(run=self._wake))

    async def hibernate(self) -> None:
        """End the process of a quiet session; a busy one keeps it."""
        if self.process is None or self.is_busy:
            return
        self._emit(events.Status(status="hibernated"))
        await self._seat.clear()

    # --- for the watchdog ---------------------------------------------------------------------------------------

    def notify(self, *, code: str, message: str) -> None:
        """Tell the people in the session something that is no failure."""
        self._emit(events.Notice(code=code, message=message))

    async def restart_process(self) -> None:
        """Replace the process of a quiet session by a fresh one that knows as much; a busy one keeps it."""
        if self.process is None or self.is_busy:
            return
        self._queue.put_nowait(_Errand(run=self._restart))

    def stop_turn(self, reason: StopReason) -> None:
        """Stop the running turn, if there is one, for a reason other than a person's wish."""
        if self._turn is not None:
            self._turn.stop(reason)

    def announce_shutdown(self) -> None:
        """Take no more messages, begin no more turns, and tell whoever waits for one that the server stops."""
        self._closing = True
        if self.is_busy:
            self._emit(events.Status(status="server_shutting_down"))

    async def wait_rested(self) -> None:
        """Wait until the running turn has ended; only after :meth:`announce_shutdown`."""
        if self._is_working:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        """End the process and everything that runs. Turns that are open get their ``interrupted`` result."""
        self._closing = True
        # A message whose commit is under way is accepted, and owed a result like the others.
        if accepting := [item for item in self._accepted.values() if isinstance(item, asyncio.Future)]:
            await asyncio.wait(accepting)
        self._approvals.deny_all("The server is stopping.")
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._seat.clear()
        unfinished = [self._turn, *(self._queue.get_nowait() for _ in range(self._queue.qsize()))]
        for work in filter(None, unfinished):
            if isinstance(work, Turn):
                work.stop(StopReason.SHUTDOWN)
                await self._finish_broken(work)
            else:
                work.fail(ShuttingDownError())
        if self._checkpointing is not None:
            # It was cancelled if the turn that waited for it was.
            await asyncio.gather(self._checkpointing, return_exceptions=True)
        if self._background:
            await asyncio.gather(*self._background, return_exceptions=True)

    async def abandon(self) -> None:
        """End the process at once and write nothing: the lease was lost. Whoever finds the turns open closes them."""
        self._closing = True
        if self._seat.process is not None:
            self._seat.process.kill()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._approvals.deny_all("Another server works on this session now.")
        await self._seat.clear()
        for work in [self._queue.get_nowait() for _ in range(self._queue.qsize())]:
            if not isinstance(work, Turn):
                work.fail(SessionElsewhereError(retry_after_seconds=1))
        if self._checkpointing is not None:
            await self._checkpointing
        if self._background:
            await asyncio.gather(*self._background, return_exceptions=True)
        # What waits is refused by now. It must be gone before this server may take the lease again.
        await self._services.log.flush()

    # --- accepting messages -------------------------------------------------------------------------------------

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
        self._services.disk.require()
        self._seat.check()

    async def _accept(self, text: str, client_id: str, actor: str, attachment_ids: Sequence[str]) -> Accepted:
        turn_id = str(uuid4())
        attachments = await self._services.attachments.take(self._session.id, attachment_ids)
        message = events.UserMessage(text=text, client_id=client_id, attachments=attachments)
        try:
            recorded = await self._services.log.append(self._session.id, message, turn_id=turn_id, actor=actor)
        except DuplicateClientId as duplicate:
            return Accepted(turn_id=duplicate.turn_id or "", seq=duplicate.seq)
        self._queue.put_nowait(Turn(turn_id=turn_id, seq=recorded.seq, text=text, attachments=attachments))
        if self._session.title == UNTITLED:
            self._name_after(text.strip() or attachments[0].name)
        return Accepted(turn_id=turn_id, seq=recorded.seq)

    def _name_after(self, text: str) -> None:
        words = "".join(letter for letter in text if letter.isprintable() or letter.isspace())
        line = " ".join(words.split())
        title = line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
        self._session = replace(self._session, title=title)
        self._emit(events.SessionUpdated(title=title))
        self._in_background(self._services.repository.update(self._session.id, title=title))

    # --- turns --------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while not self._closing:
            work = await self._queue.get()
            if self._closing:
                # Begun now it would only be cut off; `aclose` answers for it.
                self._queue.put_nowait(work)
                return
            self._is_working, is_damaged = True, False
            if isinstance(work, Turn):
                self._turn = work
                try:
                    await self._run_turn(work)
                except TapeError:
                    # The tape cannot take anything now.
                    logger.exception("turn_not_recorded", session_id=self._session.id)
                    is_damaged = True
            else:
                await self._run_errand(work)
            self._turn, self._is_working = None, False
            self._idle_since = asyncio.get_running_loop().time()
            self._seat.notify_idle()
            if isinstance(work, Turn):
                await self._mend(work, is_damaged=is_damaged)

    async def _run_errand(self, errand: _Errand) -> None:
        try:
            await errand.run()
        except Exception as error:
            logger.exception("session_errand_failed", session_id=self._session.id)
            errand.fail(error)
        except BaseException:
            errand.fail(ShuttingDownError())
            raise
        else:
            errand.done.set_result(None)

    async def _wake(self) -> None:
        try:
            await self._ready_process()
        except TapeError:
            raise
        except Exception as error:  # noqa: BLE001 - as for a turn
            self._report_no_start(error)
        else:
            self._emit(events.Status(status="idle"))

    async def _restart(self) -> None:
        await self._seat.clear()
        await self._wake()

    async def _rewind(self, before_seq: int, files: bool, actor: str) -> None:
        services, session = self._services, self._session
        place = await services.history.before_message(session.id, before_seq)
        memory = await services.history.copy_memory(session.agent_session_id, place)
        await self._seat.clear()
        restored = files and await self._restore_files(place.files)
        self._session = replace(session, agent_session_id=memory)
        await services.repository.update(session.id, agent_session_id=memory)
        await services.log.append(
            session.id, events.Rewound(before_seq=before_seq, files_restored=restored), actor=actor
        )
        if session.agent_session_id is not None:
            await services.history.forget(session.agent_session_id)
        self._emit(events.Status(status="hibernated"))

    async def _run_turn(self, turn: Turn) -> None:
        self._state = self._state.for_turn(turn.turn_id)
        self._turn_meter.begin()
        if not turn.stop_asked.is_set() and self._is_refused(turn):
            return
        try:
            self._services.disk.require()
            process = await self._send(turn)
            if process is None:
                self._emit(events.Result(subtype=turn.ending.subtype, is_error=False))
            else:
                # Said after the message is on its way, which has waited for one commit already.
                self._set_status("thinking")
                await self._guard(turn, process).result()
        except AgentCrashedError as error:
            await self._recover(turn, error)
        except TapeError:
            raise
        except Exception as error:  # noqa: BLE001 - reasons below
            # A full disk, a database that is away: whatever keeps an agent from its seat ends this turn and not the
            # session, which would otherwise never answer again.
            reason = self._report_no_start(error)
            if not turn.done.done():
                self._emit(events.Result(subtype="error", is_error=True, error=reason))
        finally:
            if not turn.done.done():
                turn.done.set_result(None)
        self._emit(events.Status(status="idle"))
        self._in_background(self._services.log.compact(self._session.id, turn.turn_id))
        self._checkpointing = asyncio.create_task(self._take_checkpoint(turn.turn_id))

    async def _send(self, turn: Turn) -> AgentProcess | None:
        """Give the message to an agent process; return None if the turn was stopped before.

        A process that died while nobody looked has not taken the message: it is replaced, once.

        Raises:
            AgentStartError, AgentCrashedError: there is none to be had.
        """
        content: str | list[events.JsonObject] | None = None
        for is_last in (False, True):
            if turn.stop_asked.is_set():
                return None
            process = await self._ready_process()
            await self._finish_checkpoint()
            if turn.stop_asked.is_set():
                return None
            # Once: a second process finds the files where the first would have.
            content = content or await self._content_of(turn, process)
            self._heard_at = asyncio.get_running_loop().time()
            try:
                await process.send(content, message_uuid=turn.turn_id)
                if self._seat.process is not process:
                    raise AgentCrashedError("the agent process ended")
            except AgentCrashedError:
                if is_last:
                    raise
                self._seat.lose(process)
            else:
                turn.is_sent = True
                return process
        return None

    async def _content_of(self, turn: Turn, process: AgentProcess) -> str | list[events.JsonObject]:
        """Return a turn's message as the agent gets it, with its files in the workspace."""
        if not turn.attachments:
            return turn.text
        workspace = self._services.workspaces.ensure(process.workspace_id)
        delivered = await self._services.attachments.deliver(self._session.id, workspace, turn.text, turn.attachments)
        for attachment in delivered.not_shown:
            text = f"{attachment.name} is too large to be shown to the agent. It lies in its workspace, as a file."
            self._emit(events.Notice(code="attachment_not_shown", message=text))
        return delivered.content

    def _is_refused(self, turn: Turn) -> bool:
        """End the turn at once if the model is not to be asked; the message stays and can be sent again."""
        retry_after = self._services.model.retry_after_seconds
        if not self._meter.is_spent and retry_after is None:
            return False
        try:
            if self._meter.is_spent:
                self._emit(events.Result(subtype="error_max_budget", is_error=True, error=BUDGET_SPENT))
            else:
                error = unavailable(retry_after or 0.0)
                self._emit(error)
                self._emit(events.Result(subtype="error", is_error=True, error=error.message))
            self._emit(events.Status(status="idle" if self.process is not None else "hibernated"))
        finally:
            turn.done.set_result(None)
        return True

    def _guard(self, turn: Turn, process: AgentProcess) -> TurnGuard:
        return TurnGuard(
            turn,
            process,
            self._services.settings,
            heard_at=lambda: self._heard_at,
            is_waiting=lambda: self._approvals.is_waiting,
            on_stop=lambda: self._approvals.deny_all("The turn was stopped."),
        )

    def _report_no_start(self, error: Exception) -> str:
        """Tell why a turn could not begin; return the same in short."""
        logger.error("agent_start_failed", session_id=self._session.id, exc_info=error)
        if isinstance(error, TooManyWaitingError):
            self._emit(events.Error(code="server_busy", message=str(error), recoverable=True))
            return str(error)
        if isinstance(error, StorageFullError) or is_out_of_space(error):
            text = "The server's storage is full. Your message is saved; send it again when there is room."
            self._emit(events.Error(code="storage_full", message=text, recoverable=True))
            return "The server's storage is full."
        if isinstance(error, AttachmentNotFoundError):
            text = "A file of this message is not there any more. Attach it again."
            self._emit(events.Error(code="attachment_not_found", message=text, recoverable=False))
            return text
        text = "The agent could not be started. Your message is saved; try again in a moment."
        self._emit(events.Error(code="agent_start_failed", message=text, recoverable=True))
        return "The agent could not be started."

    async def _recover(self, turn: Turn, error: AgentCrashedError) -> None:
        """Close a turn whose process died, and bring the process back."""
        ending = turn.ending
        if ending.code is None or ending.message is None:
            # It was killed because it did not obey; the person asked for an end and has one.
            await self._finish_broken(turn)
            return
        logger.warning("agent_process_crashed", session_id=self._session.id, code=ending.code, error=str(error))
        self._emit(events.Error(code=ending.code, message=ending.message, recoverable=True))
        await self._finish_broken(turn)
        if self._closing:
            return
        self._crashes += 1
        if self._crashes >= self._services.settings.max_crashes_in_a_row:
            text = "The agent process keeps stopping. Go on in a copy of this chat, or send a message to try once more."
            self._emit(events.Error(code="crash_loop", message=text, recoverable=True))
            return
        try:
            await self._ready_process()
        except TapeError:
            raise
        except Exception as failure:
            logger.exception("agent_not_recovered", session_id=self._session.id, error=str(failure))
            text = "The agent could not be brought back. Send a message to try again, or start a new chat."
            self._emit(events.Error(code="session_not_recovered", message=text, recoverable=True))
        else:
            self._emit(events.Status(status="recovered"))

    async def _finish_broken(self, turn: Turn, ending: Ending | None = None) -> None:
        """Append what a broken turn lacks and its one result, unless it has that by now."""
        log, ending = self._services.log, ending or turn.ending
        await log.flush()
        recorded = [item for item in await log.read(self._session.id, after=turn.seq) if item.turn_id == turn.turn_id]
        if any(item.type == "result" for item in recorded):
            return
        for event in closing_events(item.event for item in recorded):
            log.append_nowait(self._session.id, event, turn_id=turn.turn_id, actor=SYSTEM)
        result = events.Result(
            subtype=ending.subtype,
            is_error=ending.subtype != "interrupted",
            cost_usd=self._bill(),
            error=ending.message,
        )
        self._turn_meter.observe(result)
        await log.append(self._session.id, result, turn_id=turn.turn_id, actor=SYSTEM)

    async def _mend(self, turn: Turn, *, is_damaged: bool) -> None:
        """Give a turn its end on the tape if the tape lost any of it, however long the database stays away.

        A turn that is still open when the server stops is closed at the next start.
        """
        log = self._services.log
        with contextlib.suppress(TapeClosed, TapeTakenOver, UnknownSession):
            while True:
                await log.flush()
                is_damaged = log.is_damaged(self._session.id, turn.turn_id) or is_damaged
                if not is_damaged:
                    return
                text = "The server's storage was full or did not answer, and part of this answer is lost."
                lost = events.Error(code="storage_unavailable", message=text, recoverable=True)
                try:
                    recorded = await log.read(self._session.id, after=turn.seq, types=["result"])
                    await log.append(self._session.id, lost, turn_id=turn.turn_id, actor=SYSTEM)
                    if not any(item.turn_id == turn.turn_id for item in recorded):
                        await self._finish_broken(turn, Ending("error", message=text))
                        self._emit(events.Status(status="idle"))
                    return
                except (TapeUnavailable, TapeOverloaded):
                    logger.warning("turn_waits_for_the_tape", session_id=self._session.id, turn_id=turn.turn_id)
                await asyncio.sleep(_MEND_SECONDS)

    # --- checkpoints of the files -------------------------------------------------------------------------------

    async def _finish_checkpoint(self) -> None:
        """See to it, before files can change, that there is a checkpoint of what they are like now."""
        if self._checkpointing is not None:
            await self._checkpointing
        elif self._session.workspace_id is not None and not self._services.checkpoints.exists(self._workspace, START):
            await self._take_checkpoint(START)

    async def _take_checkpoint(self, name: str) -> None:
        try:
            await self._services.checkpoints.take(self._workspace, name)
        except Exception:
            # A rewind will say that there is none.
            logger.exception("checkpoint_failed", session_id=self._session.id)

    async def _restore_files(self, name: str) -> bool:
        """Put the workspace back to a checkpoint; return whether that could be done."""
        if self._session.workspace_id is None:
            return False
        await self._finish_checkpoint()
        try:
            return await self._services.checkpoints.restore(self._workspace, name)
        except OSError:
            logger.exception("checkpoint_not_restored", session_id=self._session.id)
            return False

    @property
    def _workspace(self) -> Path:
        return self._services.workspaces.path(str(self._session.workspace_id))

    # --- the process --------------------------------------------------------------------------------------------

    async def _ready_process(self) -> AgentProcess:
        """Return a live process of this session.

        Raises:
            AgentStartError, AgentCrashedError: there is none to be had.
        """
        before = self._session
        process, self._session = await self._seat.fill(before)
        if self._session != before:
            ids = {
                "agent_session_id": self._session.agent_session_id,
                "workspace_id": self._session.workspace_id,
            }
            # The first answer does not wait for this.
            self._in_background(self._services.repository.update(self._session.id, **ids))
        return process

    async def last_checkpoint(self) -> str | None:
        """Find on the tape what the agent has to remember.

        Raises:
            AgentStartError: the tape cannot be read.
        """
        try:
            return await find_last_checkpoint(self._services.log, self._session.id)
        except TapeError as error:
            raise AgentStartError("the tape could not be read") from error

    def on_memory_lost(self) -> None:
        """Tell that the agent begins without what was said before."""
        logger.warning("agent_memory_lost", session_id=self._session.id)
        self._emit(MEMORY_LOST)

    # --- what the process says (AgentListener) ------------------------------------------------------------------

    def on_message(self, message: Message | UnknownMessage) -> None:
        """Translate a message and hand its events to the tape, without waiting for it."""
        self._heard_at = asyncio.get_running_loop().time()
        if self._turn is None and not self._state.turn_id:
            # The CLI can begin turns of its own; what it says then belongs to a turn no message opened.
            self._state = self._state.for_turn(str(uuid4()))
        try:
            report = self._model_report() if isinstance(message, ResultMessage) else None
            now_ms = time.monotonic_ns() // 1_000_000
            self._state, found = translate(self._state, message, now_ms=now_ms, report=report)
            found = [self._as_stopped(event) for event in found]
            if isinstance(message, ResultMessage) and self._services.disk.is_exhausted:
                found = told_as_full(found)
            for event in found:
                self._emit(event, actor=AGENT)
        except TapeError:
            logger.exception("tape_refused_event", session_id=self._session.id)
            if self._seat.process is not None:
                self._seat.process.kill()
            return
        if isinstance(message, ResultMessage):
            self._on_result(message, found)

    def on_preparing(self) -> None:
        """Say that starting a process will take a moment."""
        if self._state.status != "preparing":
            self._set_status("preparing")

    def on_exit(self, process: AgentProcess, error: AgentCrashedError) -> None:
        """Learn that the process died. Between turns that is nobody's loss: the next message brings it back."""
        logger.info("agent_process_exited", session_id=self._session.id, during_turn=self._turn is not None)
        if process is not self._seat.process:
            # It was found dead already and has been replaced.
            return
        self._approvals.deny_all("The agent process stopped.")
        self._seat.lose(process)
        turn = self._turn
        if turn is not None and turn.is_sent and not turn.done.done():
            turn.done.set_exception(error)

    def _on_result(self, message: ResultMessage, found: list[Event]) -> None:
        values: dict[str, Any] = {}
        self._crashes = 0
        if self._session.agent_session_id not in (None, message.session_id):
            # The agent has gone on under another id, as it does when a person tells it to forget with `/clear`.
            self._session = replace(self._session, agent_session_id=message.session_id)
            values["agent_session_id"] = message.session_id
            self._emit(MEMORY_CLEARED)
        for event in found:
            if isinstance(event, events.Context):
                values["context_percent"] = event.percent
        self._in_background(self._services.repository.record_turn(self._session.id, **values))
        turn = self._turn
        self._state = replace(self._state, turn_id="")
        answered = message.user_message_uuids or [message.user_message_uuid]
        # A result that names other messages than ours ends another turn.
        if turn is not None and not turn.done.done() and (turn.turn_id in answered or answered == [None]):
            turn.done.set_result(None)

    async def decide_permission(
        self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        """Put a tool call to the people in the session and wait for the first answer."""
        self._set_status("awaiting_permission")
        result = await self._approvals.ask(tool, tool_input, context)
        self._set_status("executing_tool")
        return result

    def on_queued(self, position: int) -> None:
        """Say that all agent processes are at work, and when it is this session's turn."""
        self._state = replace(self._state, status="preparing")
        self._emit(events.Status(status="preparing", queue_position=position))

    def _as_stopped(self, event: Event) -> Event:
        """Return the result of a turn that was stopped at a limit as what it is; the CLI knows only that it was."""
        turn = self._turn
        if turn is None or not isinstance(event, events.Result) or turn.ending.subtype == event.subtype:
            return event
        if turn.stop_reason is not StopReason.TIMEOUT or event.subtype != "interrupted":
            return event
        ending = turn.ending
        if ending.code is not None and ending.message is not None:
            self._emit(events.Error(code=ending.code, message=ending.message, recoverable=True))
        return event.model_copy(update={"subtype": ending.subtype, "is_error": True, "error": ending.message})

    # --- what the model costs ------------------------------------------------------------------------------------

    def _on_usage(self, record: UsageRecord) -> None:
        """Keep what an answer cost at once: a turn that breaks off has to be paid as well."""
        if record.cost_usd:
            self._in_background(self._services.repository.add_cost(self._session.id, record.cost_usd))

    def _bill(self) -> float:
        """Return what was spent since the last result, in USD."""
        before, self._billed_usd = self._billed_usd, self._meter.spent_usd
        return self._meter.spent_usd - before

    def _model_report(self) -> ModelReport:
        process = self._seat.process
        return ModelReport(trouble=None if process is None else process.model_trouble, cost_usd=self._bill())

    # --- small things -------------------------------------------------------------------------------------------

    def _set_status(self, status: events.StatusName) -> None:
        self._state = replace(self._state, status=status)
        self._emit(events.Status(status=status))

    def _emit(self, event: Event, *, actor: str = SYSTEM) -> None:
        turn_id = self._state.turn_id or (self._turn.turn_id if self._turn is not None else None)
        self._services.log.append_nowait(self._session.id, event, turn_id=turn_id, actor=actor)
        self._turn_meter.observe(event)

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run bookkeeping that no one waits for now; :meth:`aclose` waits for all of it."""

        async def run() -> None:
            if not self._services.leases.holds(self._session.id):
                work.close()
                return
            try:
                await work
            except Exception:
                logger.exception("session_bookkeeping_failed", session_id=self._session.id)

        task = asyncio.create_task(run())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
