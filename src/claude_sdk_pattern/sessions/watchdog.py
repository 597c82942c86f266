"""The watchdog: looks at every agent process now and then, and acts when one is too old, too large or not needed.

What it sees and what it does about it are apart: :func:`judge` decides and is pure, :class:`Watchdog` looks and acts.
Limits of one turn (its time, its silence) are kept by :class:`~claude_sdk_pattern.sessions.turns.TurnGuard`.
"""

import asyncio
import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.memory import tree_rss
from claude_sdk_pattern.sessions.turns import StopReason
from claude_sdk_pattern.sessions.workspace_quota import WorkspaceQuota

logger = structlog.get_logger(__name__)

_MEBIBYTE = 1024 * 1024


class Action(enum.StrEnum):
    """What can be done about a session's process."""

    WARN_OF_AGE = "age_warning"
    END_OF_AGE = "age"
    RESTART = "memory"
    KILL = "memory_kill"
    HIBERNATE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What is known of a session that holds a process. Times in seconds; ``rss_bytes`` is of the whole tree."""

    age: float
    idle_for: float
    is_busy: bool
    is_watched: bool
    rss_bytes: int
    is_warned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """How long and how large a process may be. Times in seconds."""

    max_age: float
    warn_before: float
    max_rss_bytes: int
    idle_watched: float
    idle_unwatched: float

    @staticmethod
    def of(settings: Settings) -> "ProcessLimits":
        """Return the limits that the settings ask for."""
        return ProcessLimits(
            max_age=settings.max_session_duration_seconds,
            warn_before=settings.session_warning_seconds,
            max_rss_bytes=settings.max_session_rss_mb * _MEBIBYTE,
            idle_watched=settings.session_timeout,
            idle_unwatched=min(settings.hibernate_after_seconds, settings.session_timeout),
        )


def judge(vitals: Vitals, limits: ProcessLimits) -> Action | None:
    """Return what to do about a process now, or None. At work, only twice the memory is reason to end it."""
    if vitals.is_busy:
        if vitals.rss_bytes >= 2 * limits.max_rss_bytes:
            return Action.KILL
    elif vitals.age >= limits.max_age:
        return Action.END_OF_AGE
    elif vitals.rss_bytes >= limits.max_rss_bytes:
        return Action.RESTART
    elif vitals.idle_for >= (limits.idle_watched if vitals.is_watched else limits.idle_unwatched):
        return Action.HIBERNATE
    if vitals.age >= limits.max_age - limits.warn_before and not vitals.is_warned:
        return Action.WARN_OF_AGE
    return None


class Watchdog:
    """Watches the processes of all conversations of this server until :meth:`run` is cancelled.

    Args:
        settings: the limits.
        conversations: returns the conversations there are.
        folders_of: returns where a process keeps its files.
        on_action: called with everything that is done, to be counted.
        on_rss: called with the memory of each process, in bytes, after every look.
    """

    def __init__(
        self,
        settings: Settings,
        conversations: Callable[[], Iterable[Conversation]],
        *,
        folders_of: Callable[[AgentProcess], tuple[Path, ...]],
        on_action: Callable[[str], None],
        on_rss: Callable[[list[int]], None],
    ) -> None:
        self._limits = ProcessLimits.of(settings)
        self._interval = settings.watchdog_interval_seconds
        self._conversations = conversations
        self._folders_of = folders_of
        self._quota = WorkspaceQuota(
            max_bytes=settings.max_workspace_mb * _MEBIBYTE, max_files=settings.max_workspace_files
        )
        self._on_action = on_action
        self._on_rss = on_rss
        self._warned: set[str] = set()

    async def run(self) -> None:
        """Look at all processes, again and again."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.look()
            except Exception:
                # One look that fails must not be the last: nothing else bounds memory and age.
                logger.exception("watchdog_failed")

    async def look(self) -> None:
        """Look at all processes once, and act."""
        awake = [(item, process) for item in self._conversations() if (process := item.process) is not None]
        rss = await tree_rss({process.pid for _, process in awake if process.pid is not None})
        self._on_rss(list(rss.values()))
        self._warned &= {process.process_id for _, process in awake}
        now = asyncio.get_running_loop().time()
        for conversation, process in awake:
            if conversation.process is not process:
                continue
            vitals = Vitals(
                age=now - process.started_at,
                idle_for=now - conversation.idle_since,
                is_busy=conversation.is_busy,
                is_watched=conversation.is_watched,
                rss_bytes=rss.get(process.pid or 0, 0),
                is_warned=process.process_id in self._warned,
            )
            action = judge(vitals, self._limits)
            if action is not None:
                logger.info(
                    "watchdog_acts",
                    action=action.value,
                    session_id=conversation.session.id,
                    age_seconds=round(vitals.age),
                    rss_mb=vitals.rss_bytes // _MEBIBYTE,
                )
                self._on_action(action.value)
                await self._act(action, conversation, vitals)
        await self._look_at_workspaces()

    async def _look_at_workspaces(self) -> None:
        """Stop the turns whose agents keep more on disk than they may and go on adding to it."""
        busy = [(item, process) for item in self._conversations() if (process := item.process) and item.is_busy]
        self._quota.forget_all_but({process.process_id for _, process in busy})
        for conversation, process in busy:
            is_over = await self._quota.exceeded(process.process_id, *self._folders_of(process))
            if is_over and conversation.process is process:
                logger.info("watchdog_acts", action="workspace", session_id=conversation.session.id)
                self._on_action(StopReason.WORKSPACE)
                conversation.stop_turn(StopReason.WORKSPACE)

    async def _act(self, action: Action, conversation: Conversation, vitals: Vitals) -> None:
        match action:
            case Action.WARN_OF_AGE:
                if conversation.process is not None:
                    self._warned.add(conversation.process.process_id)
                minutes = max(1, round((self._limits.max_age - vitals.age) / 60))
                conversation.notify(
                    code="session_duration_warning",
                    message=f"The agent of this session will be put to sleep in {minutes} min. Nothing is lost: your "
                    "next message wakes it.",
                )
            case Action.END_OF_AGE:
                conversation.notify(
                    code="session_duration_reached",
                    message="The agent of this session has run for as long as it may and was put to sleep. Your next "
                    "message wakes it.",
                )
                await conversation.hibernate()
            case Action.RESTART:
                conversation.notify(
                    code="memory_restart",
                    message="The agent had grown too large and was restarted. It remembers the conversation.",
                )
                await conversation.restart_process()
            case Action.KILL:
                conversation.stop_turn(StopReason.MEMORY)
            case Action.HIBERNATE:
                await conversation.hibernate()
