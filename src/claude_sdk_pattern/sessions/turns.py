"""One turn: what it waits for, and how it is brought to an end when it does not end by itself."""

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.types import AttachmentRef, ResultSubtype
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.errors import AgentCrashedError

logger = structlog.get_logger(__name__)

# A process that works answers a ping in milliseconds; one that has the whole machine against it, in a second or two.
_PING_SECONDS = 10.0


class StopReason(enum.StrEnum):
    """Why a turn was stopped."""

    PERSON = "person"
    SHUTDOWN = "shutdown"
    TIMEOUT = "timeout"
    SILENCE = "silence"
    MEMORY = "memory"
    ACCESS_ENDED = "access_ended"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Ending:
    """How the end of a turn that was stopped, or whose process died, is told to people.

    ``code`` and ``message`` are those of the ``error`` event; without a code there is none, as nothing went wrong.
    """

    subtype: ResultSubtype
    code: str | None = None
    message: str | None = None


CRASHED = Ending(
    "interrupted", code="subprocess_crash", message="The agent process stopped. Your conversation is saved."
)
"""The end of a turn that nobody stopped."""

ENDINGS = {
    StopReason.PERSON: Ending("interrupted"),
    StopReason.SHUTDOWN: Ending("interrupted", message="The server was stopped."),
    StopReason.ACCESS_ENDED: Ending("interrupted", message="The access of whoever asked has ended."),
    StopReason.TIMEOUT: Ending("timeout", code="query_timeout", message="The turn took too long and was stopped."),
    StopReason.SILENCE: Ending(
        "interrupted",
        code="agent_silent",
        message="The agent process did not answer any more. Your conversation is saved.",
    ),
    StopReason.MEMORY: Ending(
        "interrupted", code="memory_limit", message="The agent ran out of memory. Your conversation is saved."
    ),
    StopReason.WORKSPACE: Ending(
        "interrupted",
        code="workspace_full",
        message="The agent has more files than it may, and was stopped while it added to them. Have it delete some.",
    ),
}


# A process past answering, or one that harms others for as long as it runs.
_AT_ONCE = (StopReason.SILENCE, StopReason.MEMORY, StopReason.WORKSPACE)


@dataclass(slots=True, kw_only=True, eq=False)
class Turn:
    """A message that waits or runs. ``done`` gets None with the result, or an exception when the process is gone."""

    turn_id: str
    actor: str
    text: str
    attachments: tuple[AttachmentRef, ...] = ()
    seq: int | None = None
    """The message's number on the tape; None until it is stored."""
    given_to: AgentProcess | None = None
    """The agent process that has been given the message."""
    is_taken: bool = False
    """Whether that process has said anything since."""
    stop_reason: StopReason | None = None
    stop_asked: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def stop(self, reason: StopReason) -> None:
        """Ask for the turn's end; the first reason stays."""
        self.stop_reason = self.stop_reason or reason
        self.stop_asked.set()

    @property
    def is_answered(self) -> bool:
        """Whether the turn has had its result from the agent."""
        return self.done.done() and self.done.exception() is None

    def take_back(self) -> None:
        """Make the message one that no process has been given; the one that was is dead."""
        self.given_to = None
        if self.done.done():
            # Looked at: nobody waits for how it ended there.
            self.done.exception()
        self.done = asyncio.get_running_loop().create_future()

    @property
    def ending(self) -> Ending:
        """How the turn's end is told if it has no ordinary one."""
        return CRASHED if self.stop_reason is None else ENDINGS[self.stop_reason]


class TurnGuard:
    """Waits for the end of a turn that runs, and sees to it that there is one.

    Args:
        turn: the turn.
        process: the process that works on it.
        settings: the limits.
        heard_at: when the process last said anything, on the event loop's clock.
        is_waiting: whether the turn waits for a person, who may take their time.
        on_stop: called once when the turn is about to be stopped.
    """

    def __init__(
        self,
        turn: Turn,
        process: AgentProcess,
        settings: Settings,
        *,
        heard_at: Callable[[], float],
        is_waiting: Callable[[], bool],
        on_stop: Callable[[], None],
    ) -> None:
        self._turn = turn
        self._process = process
        self._settings = settings
        self._heard_at = heard_at
        self._is_waiting = is_waiting
        self._on_stop = on_stop
        self._answered_at = self._now()
        self._deadline = self._now() + settings.query_timeout_seconds

    async def result(self) -> None:
        """Wait for the turn's result; stop the turn when somebody asks for it or a limit is reached.

        Raises:
            AgentCrashedError: the process ended first.
        """
        turn = self._turn
        stop_asked = asyncio.create_task(turn.stop_asked.wait())
        try:
            while not turn.done.done() and not turn.stop_asked.is_set():
                seconds = min(self._deadline, self._silent_from()) - self._now()
                await asyncio.wait(
                    {turn.done, stop_asked}, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED
                )
                if turn.done.done() or turn.stop_asked.is_set():
                    break
                if self._now() >= self._deadline:
                    turn.stop(StopReason.TIMEOUT)
                elif self._now() >= self._silent_from():
                    await self._ask_whether_alive()
            if not turn.done.done():
                self._on_stop()
                await self._stop()
        finally:
            stop_asked.cancel()
        await turn.done

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _silent_from(self) -> float:
        """Return the moment from which on the process has been silent for too long."""
        if self._is_waiting():
            return self._now() + self._settings.silence_timeout_seconds
        return max(self._heard_at(), self._answered_at) + self._settings.silence_timeout_seconds

    async def _ask_whether_alive(self) -> None:
        """A tool may take its time and a model too, but the process itself answers at once, or is past answering."""
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self._process.ping()
        except (TimeoutError, AgentCrashedError):
            if not self._turn.done.done():
                self._turn.stop(StopReason.SILENCE)
        else:
            self._answered_at = self._now()

    async def _stop(self) -> None:
        turn, process, limit = self._turn, self._process, self._settings.interrupt_timeout_seconds
        if turn.stop_reason not in _AT_ONCE:
            try:
                async with asyncio.timeout(limit):
                    await process.interrupt()
                    await asyncio.shield(turn.done)
            except (TimeoutError, AgentCrashedError):
                logger.warning("interrupt_not_obeyed", process_id=process.process_id, pid=process.pid)
            else:
                return
        process.kill()
        await asyncio.wait({turn.done}, timeout=limit)
        if not turn.done.done():
            turn.done.set_exception(AgentCrashedError("the agent process did not stop"))
