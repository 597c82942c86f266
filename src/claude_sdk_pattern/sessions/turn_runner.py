"""TurnRunner: gives one session's messages to its agent process, and tells what comes of them.

It is the only code that touches the session's process. Every turn that it is given ends in exactly one ``result``,
whatever happens to the process meanwhile.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from claude_agent_sdk import Message, PermissionMode, PermissionResult, ResultMessage, ToolPermissionContext

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import TapeError
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.policy.hooks import HookCall, HookReply
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.agent_seat import AgentSeat, ProcessSource, SessionAgent
from claude_sdk_pattern.sessions.bill import Bill
from claude_sdk_pattern.sessions.disk import DiskWatermark, told_as_full
from claude_sdk_pattern.sessions.errors import AgentCrashedError, AgentStartError
from claude_sdk_pattern.sessions.model_trouble import BUDGETS_SPENT, MEMORY_DAMAGED, ModelReport, unavailable
from claude_sdk_pattern.sessions.narrator import Narrator
from claude_sdk_pattern.sessions.policy_services import PolicyServices
from claude_sdk_pattern.sessions.recall import MEMORY_CLEARED, MEMORY_LOST, find_last_checkpoint
from claude_sdk_pattern.sessions.session_files import SessionFiles
from claude_sdk_pattern.sessions.session_policy import PolicyHost, SessionPolicy
from claude_sdk_pattern.sessions.session_state import SessionState
from claude_sdk_pattern.sessions.slots import SlotHolder
from claude_sdk_pattern.sessions.start_trouble import start_error
from claude_sdk_pattern.sessions.translate import UnknownMessage
from claude_sdk_pattern.sessions.turn_closer import TurnCloser
from claude_sdk_pattern.sessions.turns import StopReason, Turn, TurnGuard

logger = structlog.get_logger(__name__)

# One refusal may be about the message; a second about another message is about what both have in common.
_REFUSALS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnServices:
    """What running turns needs from the rest of the server."""

    settings: Settings
    log: EventLog
    model: ModelGateway
    source: ProcessSource
    disk: DiskWatermark
    policy: PolicyServices


class TurnRunner(SessionAgent, PolicyHost):
    """Runs the turns of one session, one after the other.

    Args:
        holder: who answers for the session's slot.
        state: the session's row.
        narrator: tells what happens.
        bill: what the session has spent.
        files: the session's files.
        closer: ends turns that break off.
        services: what it needs from the rest of the server.

    Attributes:
        policy: decides what the agent may do.
        turn: the turn that runs, or None.
        is_closing: set when the session is being closed: what dies from then on is not brought back.
    """

    def __init__(
        self,
        holder: SlotHolder,
        *,
        state: SessionState,
        narrator: Narrator,
        bill: Bill,
        files: SessionFiles,
        closer: TurnCloser,
        services: TurnServices,
    ) -> None:
        self._state = state
        self._narrator = narrator
        self._bill = bill
        self._files = files
        self._closer = closer
        self._services = services
        self._seat = AgentSeat(self, holder, services.source)
        self.policy = SessionPolicy(state.session.id, state.session.owner_id, self, services.policy)
        self.turn: Turn | None = None
        self.is_closing = False
        self._heard_at = asyncio.get_running_loop().time()
        self._crashes = 0
        self._refusals = 0

    @property
    def process(self) -> AgentProcess | None:
        """The session's agent process, if it has one."""
        return self._seat.process

    def check(self) -> None:
        """Find out whether a new message could be run, perhaps after waiting for a process.

        Raises:
            StorageFullError: the disk is almost full.
            TooManyWaitingError: all processes are at work, and too many sessions wait.
        """
        self._services.disk.require()
        self._seat.check()

    @property
    def is_slot_free(self) -> bool:
        """Whether a process could be had at once, and nobody would have to give theirs up for it."""
        return self._seat.is_slot_free

    async def end_process(self) -> None:
        """End the session's process, if it has one."""
        await self._seat.clear()

    def notify_idle(self) -> None:
        """Tell sessions that wait for a process that this one's could be had."""
        self._seat.notify_idle()

    # --- turns --------------------------------------------------------------------------------------------------

    async def send_ahead(self, turn: Turn, stored: asyncio.Future[RecordedEvent]) -> None:
        """Give the agent a message that is being stored, if nothing stands in the way; :meth:`run` then goes on.

        Its reading of the message and the disk's work take place at the same time that way. Commands of Claude Code
        are not given ahead, because it carries some out without the model, for which the gateway makes it wait.
        """
        process = self.process
        if process is None or not process.is_alive or self.is_closing or self.turn is not None:
            return
        if turn.attachments or turn.text.lstrip().startswith("/"):
            return
        if self._is_model_closed or not self._files.is_checkpointed:
            return
        self._begin(turn)
        # Before it is sent: now it is stored with the message, in the same commit.
        self._narrator.set_status("thinking")
        try:
            await self._send(turn, process, turn.text, stored)
        except AgentCrashedError:
            turn.take_back()

    def forget(self, turn: Turn) -> None:
        """Take back a message that was given ahead and then could not be stored, by ending the process that has it."""
        if self.turn is not turn:
            return
        self._emit_if_possible(events.Status(status="idle"))
        self._end()
        if turn.given_to is not None:
            turn.given_to.kill()
            self._seat.lose(turn.given_to)

    async def run(self, turn: Turn) -> None:
        """Run one turn to its end.

        Raises:
            TapeError: the tape takes nothing now; the turn may lack its end there.
        """
        if self.turn is not turn:
            self._begin(turn)
        if turn.given_to not in (None, self.process) and not turn.is_answered:
            # It was given ahead to a process that has been taken away since.
            turn.take_back()
        try:
            await self._run(turn)
        finally:
            self._end()

    def _begin(self, turn: Turn) -> None:
        self.turn = turn
        self._narrator.begin(turn.turn_id)

    def _end(self) -> None:
        self.turn = None
        self._narrator.end()

    async def _run(self, turn: Turn) -> None:
        is_open = turn.given_to is None and not turn.stop_asked.is_set()
        if is_open and self._is_refused(turn):
            return
        try:
            if is_open:
                self._services.disk.require()
            await self._answer(turn)
        except AgentCrashedError as error:
            await self._recover(turn, error)
        except TapeError:
            raise
        except Exception as error:  # noqa: BLE001 - reasons below
            # A full disk, a database that is away: whatever keeps an agent from its seat ends this turn and not the
            # session, which would otherwise never answer again.
            reason = self._tell_start_failed(error)
            if not turn.done.done():
                self._narrator.emit(events.Result(subtype="error", is_error=True, error=reason))
        finally:
            if not turn.done.done():
                turn.done.set_result(None)
        self._narrator.emit(events.Status(status="idle"))
        self._files.begin_checkpoint(turn.turn_id)

    async def _answer(self, turn: Turn) -> None:
        """Give the message to an agent process and wait for its result.

        A process that dies without a word has not taken the message, or has done nothing with it: it is replaced, and
        the message given to the next, once.

        Raises:
            AgentStartError, AgentCrashedError: there is none to be had, or it died at work.
        """
        content: str | list[events.JsonObject] | None = None
        for is_last in (False, True):
            process = turn.given_to or await self._process_for(turn)
            if process is None:
                self._narrator.emit(events.Result(subtype=turn.ending.subtype, is_error=False))
                return
            try:
                if turn.given_to is None:
                    # Once: a second process finds the files where the first would have.
                    content = content or await self._content_of(turn, process)
                    await self._send(turn, process, content)
                    # Said after the message is on its way, which has waited for one commit already.
                    self._narrator.set_status("thinking")
                await self._guard(turn, process).result()
            except AgentCrashedError:
                if is_last or turn.is_taken or turn.stop_asked.is_set() or self.is_closing:
                    raise
                logger.info("message_sent_again", session_id=self._state.session.id)
                self._seat.lose(process)
                turn.take_back()
            else:
                return

    async def _process_for(self, turn: Turn) -> AgentProcess | None:
        """Return a process to give the message to, or None if the turn has been stopped meanwhile."""
        if turn.stop_asked.is_set():
            return None
        process = await self.ready_process()
        await self._files.finish_checkpoint()
        return None if turn.stop_asked.is_set() else process

    async def _send(
        self,
        turn: Turn,
        process: AgentProcess,
        content: str | list[events.JsonObject],
        stored: asyncio.Future[RecordedEvent] | None = None,
    ) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        turn.is_taken = False
        await process.send(content, message_uuid=turn.turn_id, stored=stored)
        if self._seat.process is not process:
            raise AgentCrashedError("the agent process ended")
        turn.given_to = process

    async def _content_of(self, turn: Turn, process: AgentProcess) -> str | list[events.JsonObject]:
        """Return a turn's message as the agent gets it, with its files in the workspace."""
        if not turn.attachments:
            return turn.text
        delivered = await self._files.deliver(turn.text, turn.attachments, process.workspace_id)
        for attachment in delivered.not_shown:
            text = f"{attachment.name} is too large to be shown to the agent. It lies in its workspace, as a file."
            self._narrator.emit(events.Notice(code="attachment_not_shown", message=text))
        return delivered.content

    @property
    def _is_model_closed(self) -> bool:
        """Whether the model is not to be asked now."""
        return self._bill.spent_budget is not None or self._services.model.retry_after_seconds is not None

    def _is_refused(self, turn: Turn) -> bool:
        """End the turn at once if the model is not to be asked; the message stays and can be sent again."""
        if not self._is_model_closed:
            return False
        budget, emit = self._bill.spent_budget, self._narrator.emit
        try:
            if budget is not None:
                emit(events.Result(subtype="error_max_budget", is_error=True, error=BUDGETS_SPENT[budget]))
            else:
                error = unavailable(self._services.model.retry_after_seconds or 0.0)
                emit(error)
                emit(events.Result(subtype="error", is_error=True, error=error.message))
            emit(events.Status(status="idle" if self.process is not None else "hibernated"))
        finally:
            turn.done.set_result(None)
        return True

    def _guard(self, turn: Turn, process: AgentProcess) -> TurnGuard:
        return TurnGuard(
            turn,
            process,
            self._services.settings,
            heard_at=lambda: self._heard_at,
            is_waiting=lambda: self.policy.approvals.is_waiting,
            on_stop=lambda: self.policy.approvals.deny_all("The turn was stopped."),
        )

    def _tell_start_failed(self, error: Exception) -> str:
        """Tell why there is no agent process; return the same in short."""
        logger.error("agent_start_failed", session_id=self._state.session.id, exc_info=error)
        told = start_error(error)
        self._narrator.emit(told.event)
        return told.short

    async def _recover(self, turn: Turn, error: AgentCrashedError) -> None:
        """Close a turn whose process died, and bring the process back."""
        ending, session_id = turn.ending, self._state.session.id
        if ending.code is None or ending.message is None:
            # It was killed because it did not obey; the person asked for an end and has one.
            await self._closer.close(turn)
            return
        logger.warning("agent_process_crashed", session_id=session_id, code=ending.code, error=str(error))
        self._narrator.emit(events.Error(code=ending.code, message=ending.message, recoverable=True))
        await self._closer.close(turn)
        if self.is_closing:
            return
        self._crashes += 1
        if self._crashes >= self._services.settings.max_crashes_in_a_row:
            text = "The agent process keeps stopping. Go on in a copy of this chat, or send a message to try once more."
            self._narrator.emit(events.Error(code="crash_loop", message=text, recoverable=True))
            return
        try:
            await self.ready_process()
        except TapeError:
            raise
        except Exception as failure:
            # As for a turn: the session must go on, and the next message tries again.
            logger.exception("agent_not_recovered", session_id=session_id, error=str(failure))
            text = "The agent could not be brought back. Send a message to try again, or start a new chat."
            self._narrator.emit(events.Error(code="session_not_recovered", message=text, recoverable=True))
        else:
            self._narrator.emit(events.Status(status="recovered"))

    # --- the process --------------------------------------------------------------------------------------------

    async def wake(self) -> None:
        """See to it that there is a process, and tell when there is, or why not.

        Raises:
            TapeError: the tape takes nothing now.
        """
        try:
            await self.ready_process()
        except TapeError:
            raise
        except Exception as error:  # noqa: BLE001 - as for a turn
            self._tell_start_failed(error)
        else:
            self._narrator.emit(events.Status(status="idle"))

    async def ready_process(self) -> AgentProcess:
        """Return a live process of this session.

        Raises:
            AgentStartError, AgentCrashedError: there is none to be had.
        """
        before = self._state.session
        process, after = await self._seat.fill(before)
        self._narrator.use_plugins(process.offer.owners, process.offer.apps)
        if after != before:
            # The first answer does not wait for the database.
            self._state.change_soon(agent_session_id=after.agent_session_id, workspace_id=after.workspace_id)
        return process

    async def last_checkpoint(self) -> str | None:
        """Find on the tape what the agent has to remember.

        Raises:
            AgentStartError: the tape cannot be read.
        """
        try:
            return await find_last_checkpoint(self._services.log, self._state.session.id)
        except TapeError as error:
            raise AgentStartError("the tape could not be read") from error

    def on_preparing(self) -> None:
        """Say that starting a process will take a moment."""
        if self._narrator.status != "preparing":
            self._narrator.set_status("preparing")

    def on_profile_missing(self, profile: str) -> None:
        """Tell that the agent is nobody in particular for now."""
        logger.warning("profile_missing", session_id=self._state.session.id, profile=profile)
        message = f"The profile {profile} is not to be had any more. The agent goes on without it."
        self._emit_if_possible(events.Notice(code="profile_missing", message=message))

    def on_memory_lost(self) -> None:
        """Tell that the agent begins without what was said before."""
        logger.warning("agent_memory_lost", session_id=self._state.session.id)
        self._narrator.emit(MEMORY_LOST)

    # --- what the process says (AgentListener) ------------------------------------------------------------------

    def on_message(self, message: Message | UnknownMessage) -> None:
        """Translate a message and hand its events to the tape, without waiting for it."""
        self._heard_at = asyncio.get_running_loop().time()
        if self.turn is not None:
            self.turn.is_taken = True
        try:
            report = self._model_report() if isinstance(message, ResultMessage) else None
            found = [self._as_stopped(event) for event in self._narrator.translate(message, report)]
            if isinstance(message, ResultMessage):
                found = self._told_as_damaged(told_as_full(found) if self._services.disk.is_exhausted else found)
            for event in found:
                self._narrator.emit(event, actor=AGENT)
        except TapeError:
            logger.exception("tape_refused_event", session_id=self._state.session.id)
            if self._seat.process is not None:
                self._seat.process.kill()
            return
        if isinstance(message, ResultMessage):
            self._on_result(message, found)

    def on_exit(self, process: AgentProcess, error: AgentCrashedError) -> None:
        """Learn that the process died. Between turns that is nobody's loss: the next message brings it back."""
        logger.info("agent_process_exited", session_id=self._state.session.id, during_turn=self.turn is not None)
        if process is not self._seat.process:
            # It was found dead already and has been replaced.
            return
        self.policy.approvals.deny_all("The agent process stopped.")
        self._seat.lose(process)
        turn = self.turn
        if turn is not None and turn.given_to is process and not turn.done.done():
            turn.done.set_exception(error)

    async def run_hook(self, call: HookCall, process: AgentProcess) -> HookReply:
        """Ask the session's policy about what the process does or is about to do."""
        return await self.policy.run_hook(call, process)

    async def decide_permission(
        self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext, process: AgentProcess
    ) -> PermissionResult:
        """Put a tool call to the people in the session and wait for the first answer."""
        self._narrator.set_status("awaiting_permission")
        result = await self.policy.decide_permission(tool, tool_input, context, process)
        self._narrator.set_status("executing_tool")
        return result

    def on_tool_failure(self, failure: ToolFailure) -> None:
        """Tell that a plugin's tool could not answer a call. The agent is told too, and goes on."""
        self._emit_if_possible(events.ToolError(tool=failure.tool, plugin=failure.plugin, message=failure.message))

    def on_plugin_problems(self, problems: Mapping[str, str]) -> None:
        """Tell what of its plugins the agent has to do without."""
        for plugin, problem in problems.items():
            message = f"The plugin {plugin} could not be loaded whole: {problem}."
            self._emit_if_possible(events.Notice(code="plugin_not_loaded", message=message))

    def _emit_if_possible(self, event: Event) -> None:
        try:
            self._narrator.emit(event)
        except TapeError:
            logger.exception("tape_refused_event", session_id=self._state.session.id)

    # --- for the policy (PolicyHost) ----------------------------------------------------------------------------

    @property
    def turn_id(self) -> str | None:
        """The turn that runs, one that the CLI began by itself included."""
        return self._narrator.turn_id

    @property
    def permission_mode(self) -> str:
        """The session's permission mode."""
        return self._state.session.permission_mode

    def emit(self, event: Event) -> None:
        """Put an event of the platform's own on the tape."""
        self._narrator.emit(event)

    def on_mode_changed(self, mode: PermissionMode) -> None:
        """Go along with a process that has changed its permission mode, as a plan's approval makes it do."""
        if self.process is not None:
            self.process.permission_mode = mode
        if mode != self.permission_mode:
            self._narrator.emit(events.SessionUpdated(permission_mode=mode))
            self._state.change_soon(permission_mode=mode)

    # --- results ------------------------------------------------------------------------------------------------

    def _on_result(self, message: ResultMessage, found: list[Event]) -> None:
        values: dict[str, Any] = {}
        self._crashes = 0
        if self._state.session.agent_session_id not in (None, message.session_id):
            # The agent has gone on under another id, as it does when a person tells it to forget with `/clear`.
            values["agent_session_id"] = message.session_id
            self._narrator.emit(MEMORY_CLEARED)
        for event in found:
            if isinstance(event, events.Context):
                values["context_percent"] = event.percent
        self._state.record_turn(**values)
        turn = self.turn
        self._narrator.end_answer()
        answered = message.user_message_uuids or [message.user_message_uuid]
        # A result that names other messages than ours ends another turn.
        if turn is not None and not turn.done.done() and (turn.turn_id in answered or answered == [None]):
            turn.done.set_result(None)

    def _as_stopped(self, event: Event) -> Event:
        """Return the result of a turn that was stopped at a limit as what it is; the CLI knows only that it was."""
        turn = self.turn
        if turn is None or not isinstance(event, events.Result) or turn.ending.subtype == event.subtype:
            return event
        if turn.stop_reason is not StopReason.TIMEOUT or event.subtype != "interrupted":
            return event
        ending = turn.ending
        if ending.code is not None and ending.message is not None:
            self._narrator.emit(events.Error(code=ending.code, message=ending.message, recoverable=True))
        return event.model_copy(update={"subtype": ending.subtype, "is_error": True, "error": ending.message})

    def _told_as_damaged(self, found: list[Event]) -> list[Event]:
        """Return the events of a result; a refusal of the API that is not the first in a row is told as what it is."""
        refused = [event for event in found if isinstance(event, events.Error) and event.code == "api_request_refused"]
        self._refusals = self._refusals + 1 if refused else 0
        if self._refusals < _REFUSALS_IN_A_ROW:
            return found
        return [MEMORY_DAMAGED if event in refused else event for event in found]

    def _model_report(self) -> ModelReport:
        process = self._seat.process
        return ModelReport(trouble=None if process is None else process.model_trouble, cost_usd=self._bill.take())
