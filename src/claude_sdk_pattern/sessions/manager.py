"""SessionManager: the sessions of this server, those that are awake and those that only exist."""

import asyncio
import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import structlog
from claude_agent_sdk import fork_session_via_store

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM
from claude_sdk_pattern.sessions.agent_seat import ProcessSource
from claude_sdk_pattern.sessions.attachments import AttachmentStore
from claude_sdk_pattern.sessions.conversation import UNTITLED, Accepted, Conversation, ConversationServices
from claude_sdk_pattern.sessions.disk import DiskWatermark
from claude_sdk_pattern.sessions.errors import NothingToForkError, ShuttingDownError
from claude_sdk_pattern.sessions.pool import WarmPool
from claude_sdk_pattern.sessions.process_factory import TRANSCRIPT_PROJECT, ProcessFactory
from claude_sdk_pattern.sessions.recovery import closing_events
from claude_sdk_pattern.sessions.repository import PageKey, Session, SessionRepository
from claude_sdk_pattern.sessions.slots import ProcessSlots
from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.database import Database

logger = structlog.get_logger(__name__)

# How often quiet sessions are looked for; a fraction of the shortest useful timeout.
_JANITOR_SECONDS = 5.0


class SessionManager:
    """Creates, finds, opens and closes sessions.

    ``async with SessionManager(...) as manager`` recovers what a crash left behind, keeps the warm pool filled, and
    on leaving ends every process. Who may do what is not decided here: callers check before they call.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        log: EventLog,
        hub: EventHub,
        factory: ProcessFactory,
        workspaces: Workspaces,
    ) -> None:
        self.repository = SessionRepository(database)
        self.pool = WarmPool(factory, settings)
        self._settings = settings
        self._log = log
        self._hub = hub
        self._workspaces = workspaces
        self._transcripts = TranscriptStore(database, project_key=TRANSCRIPT_PROJECT)
        disk = DiskWatermark(settings.data_dir, min_free_bytes=settings.min_free_disk_mb * 1024 * 1024)
        self.attachments = AttachmentStore(
            database, settings.data_dir, disk=disk, max_bytes=settings.max_attachment_bytes
        )
        self._services = ConversationServices(
            settings=settings,
            log=log,
            repository=self.repository,
            source=ProcessSource(factory=factory, pool=self.pool, slots=ProcessSlots(settings.max_sessions)),
            workspaces=workspaces,
            attachments=self.attachments,
            disk=disk,
        )
        self._conversations: dict[str, Conversation] = {}
        self._opening: dict[str, asyncio.Task[Conversation]] = {}
        self._janitor: asyncio.Task[None] | None = None
        self._closing = False

    async def __aenter__(self) -> Self:
        await self._workspaces.sweep_private()
        await self.attachments.sweep()
        await self._close_broken_turns()
        await self.pool.__aenter__()
        self._janitor = asyncio.create_task(self._hibernate_quiet_sessions(), name="session-janitor")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._drain()
        if self._janitor is not None:
            self._janitor.cancel()
            await asyncio.gather(self._janitor, return_exceptions=True)
        await asyncio.gather(*(conversation.aclose() for conversation in self._conversations.values()))
        self._conversations.clear()
        await self.pool.__aexit__(exc_type, exc, traceback)

    @property
    def is_closing(self) -> bool:
        """Whether the server is stopping."""
        return self._closing

    # --- sessions -----------------------------------------------------------------------------------------------

    async def create(
        self,
        *,
        owner_id: str,
        title: str | None = None,
        model: str | None = None,
        permission_mode: str | None = None,
        output_schema: dict[str, Any] | None = None,
    ) -> Session:
        """Make a session. No process is started for it until its first message.

        Raises:
            ShuttingDownError: the server is stopping.
        """
        if self._closing:
            raise ShuttingDownError
        return await self.repository.create(
            owner_id=owner_id,
            title=title or UNTITLED,
            model=model or self._settings.default_model,
            permission_mode=permission_mode or "acceptEdits",
            output_schema=output_schema,
        )

    async def get(self, session_id: str) -> Session:
        """Return a session.

        Raises:
            SessionNotFoundError: there is none with this id.
        """
        return await self.repository.get(session_id)

    async def list(
        self, *, owner_id: str | None, query: str | None, limit: int, after: PageKey | None
    ) -> Sequence[Session]:
        """Return sessions, most recently active first; see :meth:`SessionRepository.list`."""
        return await self.repository.list(owner_id=owner_id, query=query, limit=limit, after=after)

    async def latest(self, owner_id: str) -> Session | None:
        """Return the session a user was last active in, which is the one to continue."""
        found = await self.repository.list(owner_id=owner_id, limit=1)
        return found[0] if found else None

    def status(self, session_id: str) -> events.StatusName:
        """Return what a session is doing now."""
        conversation = self._conversations.get(session_id)
        return "hibernated" if conversation is None else conversation.status

    async def fork(
        self, session_id: str, *, owner_id: str, at_seq: int | None = None, title: str | None = None
    ) -> Session:
        """Make a session that shares the past of another: its tape, its files, and what its agent remembers.

        The agent's memory can be cut at the end of a turn only, so the fork begins behind the last turn that was
        answered at or before ``at_seq`` (None: at the end).

        Raises:
            SessionNotFoundError: there is no session to fork.
            NothingToForkError: no turn was answered there yet.
        """
        source = await self.repository.get(session_id)
        end = await self._fork_point(source, at_seq)
        entry = await self._transcript_entry(source, end.checkpoint)
        forked = await fork_session_via_store(self._transcripts, str(source.agent_session_id), up_to_message_id=entry)
        target = await self.repository.create(
            owner_id=owner_id,
            title=title or f"{source.title} (fork)"[:200],
            model=source.model,
            permission_mode=source.permission_mode,
            output_schema=source.output_schema,
            agent_session_id=forked.session_id,
            workspace_id=await self._workspaces.copy(str(source.workspace_id)),
            forked_from=source.id,
            context_percent=source.context_percent,
        )
        await self._log.copy(source.id, target.id, until=end.seq)
        await self.attachments.copy(source.id, target.id)
        return await self.repository.get(target.id)

    async def delete(self, session_id: str) -> None:
        """Delete a session with its tape, its transcript and its files; whoever watches it is disconnected."""
        session = await self.repository.get(session_id)
        conversation = self._conversations.pop(session_id, None)
        if conversation is not None:
            session = conversation.session
            await conversation.aclose()
        self._hub.close_session(session_id)
        await self.repository.delete(session_id)
        if session.agent_session_id is not None:
            await self._transcripts.delete({"project_key": TRANSCRIPT_PROJECT, "session_id": session.agent_session_id})
        if session.workspace_id is not None:
            await self._workspaces.remove(session.workspace_id)
        await self.attachments.remove(session_id)

    # --- conversations ------------------------------------------------------------------------------------------

    async def open(self, session_id: str) -> Conversation:
        """Return the conversation of a session, opened if it is not yet.

        Raises:
            SessionNotFoundError: there is no such session.
            ShuttingDownError: the server is stopping.
        """
        conversation = self._conversations.get(session_id)
        if conversation is not None:
            return conversation
        if self._closing:
            raise ShuttingDownError
        opening = self._opening.get(session_id)
        if opening is None:
            # One task for all who ask at once: a session must never have two owners.
            opening = asyncio.create_task(self._open(session_id))
            self._opening[session_id] = opening
            opening.add_done_callback(lambda _: self._opening.pop(session_id, None))
        return await asyncio.shield(opening)

    async def submit(
        self, session_id: str, text: str, *, client_id: str, actor: str, attachments: Sequence[str] = ()
    ) -> Accepted:
        """Put a message into a session; see :meth:`Conversation.submit`."""
        conversation = await self.open(session_id)
        return await conversation.submit(text, client_id=client_id, actor=actor, attachments=attachments)

    async def _open(self, session_id: str) -> Conversation:
        session = await self.repository.get(session_id)
        accepted = await self._log.client_ids(session_id)
        conversation = Conversation(session, accepted, self._services)
        self._conversations[session_id] = conversation
        return conversation

    # --- forks --------------------------------------------------------------------------------------------------

    async def _fork_point(self, source: Session, at_seq: int | None) -> "_ForkPoint":
        found: _ForkPoint | None = None
        for item in await self._log.read(source.id, until=at_seq):
            if item.type == "result":
                event = item.event
                if isinstance(event, events.Result) and event.checkpoint is not None:
                    found = _ForkPoint(item.seq, event.checkpoint)
        if found is None or source.agent_session_id is None or source.workspace_id is None:
            raise NothingToForkError
        return found

    async def _transcript_entry(self, source: Session, checkpoint: str) -> str:
        """Return the id that a checkpoint has in the source's own transcript: a fork gives every entry a new one."""
        entries = await self._transcripts.load(
            {"project_key": TRANSCRIPT_PROJECT, "session_id": str(source.agent_session_id)}
        )
        for entry in entries or []:
            origin: Any = entry.get("forkedFrom") or {}
            if checkpoint in (entry.get("uuid"), origin.get("messageUuid")):
                return str(entry.get("uuid"))
        raise NothingToForkError

    # --- the life cycle -----------------------------------------------------------------------------------------

    async def _close_broken_turns(self) -> None:
        """Give every turn that a killed server left open its one result."""
        for session_id, turn_id in await self._log.open_turns():
            recorded = await self._log.read(session_id)
            for event in closing_events(item.event for item in recorded if item.turn_id == turn_id):
                self._log.append_nowait(session_id, event, turn_id=turn_id, actor=SYSTEM)
            result = events.Result(subtype="interrupted", is_error=False, error="The server was restarted.")
            await self._log.append(session_id, result, turn_id=turn_id, actor=SYSTEM)
            await self._log.compact(session_id, turn_id)
            logger.info("turn_interrupted_by_restart", session_id=session_id, turn_id=turn_id)

    async def _hibernate_quiet_sessions(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(_JANITOR_SECONDS, self._settings.session_timeout / 2))
            quiet_since = loop.time() - self._settings.session_timeout
            for session_id, conversation in list(self._conversations.items()):
                if conversation.is_busy or conversation.idle_since > quiet_since:
                    continue
                await conversation.hibernate()
                if not self._hub.subscriber_count(session_id) and not conversation.is_busy:
                    # Nobody watches and nothing runs: what is left of it is on the tape.
                    del self._conversations[session_id]
                    await conversation.aclose()

    async def _drain(self) -> None:
        """Let running turns end: half the grace period by themselves, then by interrupt."""
        self._closing = True
        conversations = list(self._conversations.values())
        for conversation in conversations:
            conversation.announce_shutdown()
        grace = self._settings.shutdown_grace_seconds
        waiting = asyncio.gather(*(conversation.wait_idle() for conversation in conversations))
        try:
            async with asyncio.timeout(grace / 2):
                await asyncio.shield(waiting)
        except TimeoutError:
            for conversation in conversations:
                conversation.interrupt()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace / 2):
                    await waiting


class _ForkPoint:
    """The end of a turn: the number of its result, and the agent's name for the place."""

    def __init__(self, seq: int, checkpoint: str) -> None:
        self.seq = seq
        self.checkpoint = checkpoint
