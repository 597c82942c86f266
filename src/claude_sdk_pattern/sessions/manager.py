"""SessionManager: the sessions of this server, those that are awake and those that only exist."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

import structlog
from sqlalchemy.exc import DBAPIError

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import TapeError
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.sessions.agent_seat import ProcessSource
from claude_sdk_pattern.sessions.attachments import AttachmentStore
from claude_sdk_pattern.sessions.checkpoints import Checkpoints
from claude_sdk_pattern.sessions.conversation import UNTITLED, Conversation, ConversationServices
from claude_sdk_pattern.sessions.disk import DiskWatermark
from claude_sdk_pattern.sessions.drain import Drain
from claude_sdk_pattern.sessions.errors import SessionElsewhereError, SessionNotFoundError, ShuttingDownError
from claude_sdk_pattern.sessions.history import History
from claude_sdk_pattern.sessions.inbox import Accepted
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.ledger import Ledger
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.policy_services import PolicyServices
from claude_sdk_pattern.sessions.pool import PoolLimits, WarmPool
from claude_sdk_pattern.sessions.process_factory import TRANSCRIPT_PROJECT, ProcessFactory
from claude_sdk_pattern.sessions.recovery import closing_events
from claude_sdk_pattern.sessions.repository import Session, SessionRepository
from claude_sdk_pattern.sessions.session_plugins import SessionPlugins
from claude_sdk_pattern.sessions.slots import ProcessSlots
from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.sessions.turns import StopReason
from claude_sdk_pattern.sessions.watchdog import Action, Watchdog
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.telemetry.metrics import Metrics, WatchdogAction

logger = structlog.get_logger(__name__)

# How often conversations that nobody needs any more are looked for. Without a process each costs some kilobytes.
_JANITOR_SECONDS = 5.0

# And how long they have been quiet by then: whoever opened one a moment ago is about to use it.
_CLOSE_AFTER_SECONDS = 30.0

_DELETED_AT_ONCE = 50
# Why a permission request is denied whose server was killed; the tape says so as well.
_ASKER_GONE = "The server was restarted while this waited for an answer."

# What the watchdog does, as the metrics name it; a warning and a quiet session's sleep are no actions of note.
_COUNTED: dict[str, WatchdogAction] = {
    Action.END_OF_AGE: "age",
    Action.RESTART: "memory",
    Action.KILL: "memory",
    StopReason.WORKSPACE: "workspace",
}


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
        model: ModelGateway,
        metrics: Metrics,
        leases: Leases,
        policy: PolicyServices,
        active_plugins: Callable[[], PluginSet] = PluginSet,
    ) -> None:
        self.repository = SessionRepository(database)
        self.ledger = Ledger(database, model.meters)
        self._meters = model.meters
        self._policy = policy
        self.processes = factory
        self.pool = WarmPool(
            factory,
            PoolLimits(
                size=settings.prewarm_pool_size,
                max_age_seconds=settings.pool_max_age_seconds,
                key_seconds=settings.pool_key_seconds,
            ),
        )
        self.plugins = SessionPlugins(active_plugins)
        self.take_up_plugins(active_plugins())
        self._settings = settings
        self._log = log
        self._hub = hub
        self.workspaces = workspaces
        self._leases = leases
        leases.on_lost = self._on_lease_lost
        self._transcripts = TranscriptStore(database, project_key=TRANSCRIPT_PROJECT)
        self._history = History(log, self._transcripts)
        self._checkpoints = Checkpoints(settings.data_dir)
        disk = DiskWatermark(settings.data_dir, min_free_bytes=settings.min_free_disk_mb * 1024 * 1024)
        self.attachments = AttachmentStore(
            database, settings.data_dir, disk=disk, max_bytes=settings.max_attachment_bytes
        )
        self._slots = ProcessSlots(
            settings.max_sessions,
            max_waiting=settings.max_waiting_sessions,
            per_owner=settings.max_sessions_per_user,
        )
        self._services = ConversationServices(
            settings=settings,
            log=log,
            repository=self.repository,
            ledger=self.ledger,
            model=model,
            source=ProcessSource(
                factory=factory, pool=self.pool, slots=self._slots, metrics=metrics, active_plugins=active_plugins
            ),
            history=self._history,
            checkpoints=self._checkpoints,
            workspaces=workspaces,
            leases=leases,
            attachments=self.attachments,
            disk=disk,
            policy=policy,
            is_watched=lambda session_id: hub.subscriber_count(session_id) > 0,
            metrics=metrics,
        )
        self._conversations: dict[str, Conversation] = {}
        self._opening: dict[str, asyncio.Task[Conversation]] = {}
        # Held by whatever takes or gives up a session: a lease that is just being given back must not be taken.
        self._handovers: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._abandoning: set[asyncio.Task[None]] = set()
        self._watchdog = Watchdog(
            settings,
            self._conversations.values,
            folders_of=lambda process: workspaces.folders(process.workspace_id, process.process_id),
            on_action=lambda action: metrics.count_watchdog_action(found) if (found := _COUNTED.get(action)) else None,
            on_rss=metrics.set_process_memory,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._drain = Drain(settings.shutdown_grace_seconds)

    def take_up_plugins(self, active: PluginSet) -> None:
        """Learn which plugins are active from now on. Sessions with an agent process keep those they have."""
        self.pool.set_default(AgentProfile(plugins=active))

    async def __aenter__(self) -> Self:
        await self.attachments.sweep()
        await self._close_broken_turns({session_id for session_id, _ in await self._log.open_turns()})
        await self._leases.forget_earlier_runs()
        await self.pool.__aenter__()
        self._tasks = [
            asyncio.create_task(self._watchdog.run(), name="watchdog"),
            asyncio.create_task(self.ledger.run(), name="ledger"),
            asyncio.create_task(self._close_unwatched(), name="session-janitor"),
            asyncio.create_task(self._look_after_orphaned_sessions(), name="session-recovery"),
        ]
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.drain()
        await self.pool.__aexit__(exc_type, exc, traceback)
        await self.processes.end_all()

    # --- the end ------------------------------------------------------------------------------------------------

    @property
    def is_closing(self) -> bool:
        """Whether the server is stopping."""
        return self._drain.is_begun

    @property
    def process_count(self) -> int:
        """How many sessions hold an agent process."""
        return self._slots.used

    @property
    def conversations(self) -> Sequence[Conversation]:
        """The sessions that are open on this server."""
        return list(self._conversations.values())

    def is_busy(self, session_id: str) -> bool:
        """Whether a turn of this session runs or waits."""
        conversation = self._conversations.get(session_id)
        return conversation is not None and conversation.is_busy

    def begin_draining(self) -> None:
        """Accept no more messages and begin no more turns; sessions with a turn say so on their tape."""
        self._drain.begin(self._conversations.values())

    def hurry(self) -> None:
        """Interrupt what still runs instead of waiting for it."""
        self._drain.hurry()

    async def drain(self) -> None:
        """Wait for running turns as long as the grace period allows, then end all sessions and their processes.

        Afterwards every accepted message has its result.
        """
        self.begin_draining()
        conversations = list(self._conversations.values())
        await self._drain.wait_rested(conversations)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*self._abandoning, return_exceptions=True)
        # Side by side, and what goes wrong with one keeps none of the others.
        session_ids = list(self._conversations)
        outcomes = await asyncio.gather(*map(self._close, session_ids), return_exceptions=True)
        for session_id, outcome in zip(session_ids, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                logger.error("session_not_closed", session_id=session_id, exc_info=outcome)
        await self._slots.aclose()

    # --- sessions -----------------------------------------------------------------------------------------------

    async def create(
        self,
        *,
        owner_id: str,
        title: str | None = None,
        model: str | None = None,
        permission_mode: str | None = None,
        output_schema: dict[str, Any] | None = None,
        plugins: Iterable[str] | None = None,
        profile: str | None = None,
    ) -> Session:
        """Make a session. No process is started for it until its first message.

        Args:
            plugins: the names of those it works with; None for all that are active, now or later.
            profile: ``plugin:profile``; it narrows the plugins, and is asked for a model and a permission mode where
                none is given.

        Raises:
            UnknownPluginError: one of the plugins is not active.
            UnknownProfileError: no active plugin has such a profile.
            ShuttingDownError: the server is stopping.
        """
        if self.is_closing:
            raise ShuttingDownError
        choice, declared = self.plugins.choose(plugins, profile)
        return await self.repository.create(
            owner_id=owner_id,
            title=title or UNTITLED,
            model=model or (declared and declared.model) or self._settings.default_model,
            permission_mode=permission_mode or (declared and declared.permission_mode) or "acceptEdits",
            output_schema=output_schema,
            plugins=choice,
            profile=profile,
        )

    async def get(self, session_id: str) -> Session:
        """Return a session.

        Raises:
            SessionNotFoundError: there is none with this id.
        """
        return await self.repository.get(session_id)

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
            ShuttingDownError: the server is stopping.
        """
        if self.is_closing:
            raise ShuttingDownError
        source = await self.repository.get(session_id)
        place = await self._history.end_of_turn(source.id, until=at_seq)
        memory = await self._history.copy_memory(source.agent_session_id, place)
        target = await self.repository.create(
            owner_id=owner_id,
            title=title or f"{source.title} (fork)"[:200],
            model=source.model,
            permission_mode=source.permission_mode,
            output_schema=source.output_schema,
            plugins=source.plugins,
            profile=source.profile,
            agent_session_id=memory,
            workspace_id=await self._copy_files(source, None if at_seq is None else place.files),
            forked_from=source.id,
            context_percent=source.context_percent,
        )
        async with self._held(target.id):
            await self._log.copy(source.id, target.id, until=place.seq)
        await self.attachments.copy(source.id, target.id)
        return await self.repository.get(target.id)

    async def _copy_files(self, source: Session, checkpoint: str | None) -> str | None:
        """Copy a session's workspace, as it is or as it was at a checkpoint, if that was kept."""
        if source.workspace_id is None:
            return None
        copy = await self.workspaces.copy(source.workspace_id)
        folders = self.workspaces.path(source.workspace_id), self.workspaces.path(copy)
        await self._checkpoints.copy(*folders)
        if checkpoint is not None:
            await self._checkpoints.restore(folders[1], checkpoint)
        return copy

    async def delete(self, session_id: str) -> None:
        """Delete a session with its tape, its transcript and its files; whoever watches it is disconnected.

        Raises:
            SessionNotFoundError: there is no such session.
            SessionElsewhereError: another server works on it.
        """
        async with self._handover(session_id):
            conversation = self._conversations.pop(session_id, None)
            if conversation is None:
                await self._leases.acquire(session_id)
            try:
                if conversation is not None:
                    await conversation.aclose()
                session = await self.repository.get(session_id)
                # The lease goes with it. Whoever watches is told afterwards, and finds that it is gone.
                await self.repository.delete(session_id)
                self._hub.close_session(session_id)
            finally:
                self._leases.let_expire(session_id)
        if session.agent_session_id is not None:
            await self._history.forget(session.agent_session_id)
        if session.workspace_id is not None:
            await self.workspaces.remove(session.workspace_id)
            await self._checkpoints.remove(self.workspaces.path(session.workspace_id))
        await self.attachments.remove(session_id)

    async def delete_all_of(self, owner_id: str) -> None:
        """Delete all sessions of a user; see :meth:`delete`. Called again it goes on where it was refused."""
        while found := await self.repository.list(owner_id=owner_id, limit=_DELETED_AT_ONCE):
            for session in found:
                with contextlib.suppress(SessionNotFoundError):
                    await self.delete(session.id)

    # --- conversations ------------------------------------------------------------------------------------------

    async def open(self, session_id: str) -> Conversation:
        """Return the conversation of a session, opened if it is not yet.

        Raises:
            SessionNotFoundError: there is no such session.
            SessionElsewhereError: another server works on it.
            ShuttingDownError: the server is stopping.
        """
        conversation = self._conversations.get(session_id)
        if conversation is not None:
            return conversation
        if self.is_closing:
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
        async with self._handover(session_id):
            await self._take(session_id)
            try:
                session = await self.repository.get(session_id)
                accepted = await self._log.client_ids(session_id)
                # Held here until the conversation does: it is gone when nobody holds it.
                owner = self._meters.of_user(session.owner_id)
                await self.ledger.refresh([owner])
            except BaseException:
                await self._leases.release(session_id)
                raise
            if not self._leases.holds(session_id):
                # The database took so long that the lease ran out meanwhile.
                raise SessionElsewhereError(retry_after_seconds=1)
            conversation = Conversation(session, accepted, self._services)
            self._conversations[session_id] = conversation
            return conversation

    async def _close(self, session_id: str) -> None:
        """Close a conversation, and let other servers have the session."""
        async with self._handover(session_id):
            conversation = self._conversations.pop(session_id, None)
            if conversation is None:
                return
            try:
                await conversation.aclose()
                await self._leases.release(session_id)
            except (TapeError, DBAPIError):
                # A turn may be open still. Whoever finds the lease expired closes it.
                logger.exception("session_not_closed", session_id=session_id)
                self._leases.let_expire(session_id)

    def _handover(self, session_id: str) -> asyncio.Lock:
        return self._handovers.setdefault(session_id, asyncio.Lock())

    # --- leases -------------------------------------------------------------------------------------------------

    async def _take(self, session_id: str) -> None:
        """Take a session's lease, and close what its last owner left open. The caller holds the handover.

        Raises:
            SessionElsewhereError: another server works on it.
            SessionNotFoundError: there is no such session.
            TapeError: it could not be closed; the lease is given up again.
        """
        last_owner = await self._leases.acquire(session_id)
        if last_owner is None:
            return
        try:
            await self._close_open_turns(session_id)
            if last_owner != self._leases.node_id:
                logger.info("session_taken_over", session_id=session_id, last_owner=last_owner)
                # Its process is gone. Being committed, this also takes the number that the last owner would use next,
                # so that it cannot write any more should it only have been asleep.
                await self._log.append(session_id, events.Status(status="hibernated"), actor=SYSTEM)
        except BaseException:
            self._leases.let_expire(session_id)
            raise

    @contextlib.asynccontextmanager
    async def _held(self, session_id: str) -> AsyncGenerator[None]:
        """Hold the lease of a session that is not open here. Raises what :meth:`_take` does."""
        async with self._handover(session_id):
            await self._take(session_id)
            try:
                yield
            except BaseException:
                self._leases.let_expire(session_id)
                raise
            await self._leases.release(session_id)

    def _on_lease_lost(self, session_id: str) -> None:
        conversation = self._conversations.pop(session_id, None)
        if conversation is None:
            return
        abandoning = asyncio.create_task(self._abandon(session_id, conversation))
        self._abandoning.add(abandoning)
        abandoning.add_done_callback(self._abandoning.discard)

    async def _abandon(self, session_id: str, conversation: Conversation) -> None:
        async with self._handover(session_id):
            # Whoever watches comes back, and reads what the next owner writes.
            self._hub.close_session(session_id)
            await conversation.abandon()

    # --- the life cycle -----------------------------------------------------------------------------------------

    async def _look_after_orphaned_sessions(self) -> None:
        """Close, all the time, the turns of servers that do not renew their leases any more."""
        while True:
            await asyncio.sleep(self._leases.beat_seconds)
            try:
                await self._close_broken_turns(await self._leases.expired())
            except (TapeError, DBAPIError) as error:
                logger.warning("sessions_not_looked_after", error=str(error).partition("\n")[0])
            except Exception:
                # Whatever it was: sessions of servers that die later need looking after too.
                logger.exception("sessions_not_looked_after")

    async def _close_broken_turns(self, session_ids: Iterable[str]) -> None:
        """Give every turn that a killed server left open in these sessions its one result."""
        for session_id in session_ids:
            if session_id in self._conversations or session_id in self._opening:
                continue
            # Held by another server now, or deleted: nothing is left to do.
            with contextlib.suppress(SessionElsewhereError, SessionNotFoundError):
                async with self._held(session_id):
                    await self._close_open_turns(session_id)

    async def _close_open_turns(self, session_id: str) -> None:
        await self._policy.approvals.deny_pending(session_id, _ASKER_GONE)
        # What this server wrote itself before it lost the lease.
        await self._log.flush()
        turns = [turn_id for _, turn_id in await self._log.open_turns(session_id)]
        recorded = await self._log.read(session_id) if turns else []
        for turn_id in turns:
            for event in closing_events(item.event for item in recorded if item.turn_id == turn_id):
                self._log.append_nowait(session_id, event, turn_id=turn_id, actor=SYSTEM)
            result = events.Result(subtype="interrupted", is_error=False, error="The server was restarted.")
            await self._log.append(session_id, result, turn_id=turn_id, actor=SYSTEM)
            await self._log.compact(session_id, turn_id)
            logger.info("turn_interrupted_by_restart", session_id=session_id, turn_id=turn_id)

    async def _close_unwatched(self) -> None:
        """Close conversations that nobody watches and that have no process: what is left of them is on the tape."""
        while True:
            await asyncio.sleep(_JANITOR_SECONDS)
            quiet_since = asyncio.get_running_loop().time() - _CLOSE_AFTER_SECONDS
            for session_id, conversation in list(self._conversations.items()):
                is_needed = conversation.process is not None or conversation.is_busy or conversation.is_watched
                if not is_needed and conversation.idle_since < quiet_since:
                    await self._close(session_id)
