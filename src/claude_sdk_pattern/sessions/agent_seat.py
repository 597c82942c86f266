"""The place in a session where its agent process sits: how one is found for it, and what becomes of it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import orjson
import structlog
from claude_agent_sdk import PermissionMode

from claude_sdk_pattern.plugins.personas import Persona, find_profile
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.sessions.agent_process import AgentListener, AgentProcess
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.pool import WarmPool
from claude_sdk_pattern.sessions.process_factory import ProcessFactory
from claude_sdk_pattern.sessions.repository import Session
from claude_sdk_pattern.sessions.slots import ProcessSlots, SlotHolder
from claude_sdk_pattern.telemetry.metrics import Metrics, Start

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSource:
    """Where processes come from, how many there may be, and who is told how long they took."""

    factory: ProcessFactory
    pool: WarmPool[AgentProcess]
    slots: ProcessSlots
    metrics: Metrics
    active_plugins: Callable[[], PluginSet]
    """The plugins that are active now."""


class SessionAgent(AgentListener, Protocol):
    """Whoever uses a seat: it listens to the process and hears how one is found."""

    def on_preparing(self) -> None:
        """Learn that no warm process fits, so that one has to be started."""
        ...

    async def last_checkpoint(self) -> str | None:
        """Return the agent's name for the last thing it has to remember, None if there is nothing.

        Raises:
            AgentStartError: that cannot be found out now.
        """
        ...

    def on_profile_missing(self, profile: str) -> None:
        """Learn that the process begins without the session's profile, because no plugin of the session has it."""
        ...

    def on_memory_lost(self) -> None:
        """Learn that the process begins without what was said before, because the transcript is gone."""
        ...


class AgentSeat:
    """Holds a session's agent process, or none. Only its agent uses it, one call at a time; its holder has the slot."""

    def __init__(self, agent: SessionAgent, holder: SlotHolder, source: ProcessSource) -> None:
        self._agent = agent
        self._holder = holder
        self._source = source
        self.process: AgentProcess | None = None
        # A process that is being taken away still has its slot; the next one waits until both are gone.
        self._changing = asyncio.Lock()

    async def fill(self, session: Session) -> tuple[AgentProcess, Session]:
        """Return a live process for the session: the one it has, a warm one, or a new one.

        The session comes back with the transcript and the folder that are its own now.

        Raises:
            AgentStartError: none could be started.
            AgentCrashedError: one was started and is gone already.
        """
        async with self._changing:
            return await self._fill(session)

    async def _fill(self, session: Session) -> tuple[AgentProcess, Session]:
        if self.process is not None and self.process.is_alive:
            return self.process, session
        await self._source.slots.acquire(self._holder)
        begun = time.monotonic()
        process: AgentProcess | None = None
        try:
            process, start = await self._obtain(session)
            process.bind(self._agent, session.id)
            await apply_settings(process, session)
        except BaseException:
            if process is not None:
                await process.stop()
            self._source.slots.release(self._holder)
            raise
        self.process = process
        self._source.metrics.observe_session_init(start, time.monotonic() - begun)
        return process, replace(session, agent_session_id=process.agent_session_id, workspace_id=process.workspace_id)

    async def clear(self) -> None:
        """End the process, if there is one, and give its slot back."""
        async with self._changing:
            process, self.process = self.process, None
            if process is not None:
                await process.stop()
                self._source.slots.release(self._holder)

    def lose(self, process: AgentProcess | None) -> None:
        """Note that a process is gone by itself; one that is not here any more is no loss."""
        if process is not None and process is self.process:
            self.process = None
            self._source.slots.release(self._holder)

    def notify_idle(self) -> None:
        """Tell sessions that wait for a slot that this one could be had."""
        self._source.slots.notify()

    @property
    def is_slot_free(self) -> bool:
        """Whether a process could be had at once, and nobody would have to give theirs up for it."""
        return self._source.slots.is_free_for(self._holder)

    def check(self) -> None:
        """Find out whether there will be a process for the next message, perhaps after waiting for one.

        Raises:
            TooManyWaitingError: all are at work, and too many sessions wait.
        """
        self._source.slots.check(self._holder)

    async def _obtain(self, session: Session) -> tuple[AgentProcess, Start]:
        factory = self._source.factory
        schema = None if session.output_schema is None else orjson.dumps(session.output_schema).decode()
        # Kept as long as the process lives: what is activated or changed meanwhile is for its successor.
        plugins = session.plugins.among(self._source.active_plugins())
        profile = AgentProfile(output_schema=schema, plugins=plugins, persona=self._persona(session, plugins))
        mode = cast("PermissionMode", session.permission_mode)
        # A warm process works in a folder of its own, so a session that has one already cannot use it.
        if session.workspace_id is None and (warm := self._source.pool.adopt(profile)) is not None:
            return warm, "warm"
        self._agent.on_preparing()
        transcript, workspace = session.agent_session_id, session.workspace_id
        checkpoint = None
        if transcript is not None and workspace is not None:
            checkpoint = await self._agent.last_checkpoint()
            if await factory.has_transcript(transcript, entry_uuid=checkpoint):
                resumed = await factory.resume(
                    profile,
                    model=session.model,
                    permission_mode=mode,
                    workspace_id=workspace,
                    agent_session_id=transcript,
                )
                return resumed, "resume"
        fresh = await factory.start_fresh(
            profile, model=session.model, permission_mode=mode, primed=False, workspace_id=workspace
        )
        if checkpoint is not None:
            self._agent.on_memory_lost()
        return fresh, "cold"

    def _persona(self, session: Session, plugins: PluginSet) -> Persona | None:
        if session.profile is None:
            return None
        offered = find_profile(plugins, session.profile)
        try:
            if offered is not None:
                return offered.persona()
        except (OSError, UnicodeDecodeError):
            logger.exception("profile_unreadable", profile=session.profile)
        self._agent.on_profile_missing(session.profile)
        return None


async def apply_settings(process: AgentProcess, session: Session) -> None:
    """Make a process use the session's model and permission mode.

    Raises:
        AgentCrashedError: it is gone or refused.
    """
    await process.set_model(session.model)
    await process.set_permission_mode(cast("PermissionMode", session.permission_mode))
