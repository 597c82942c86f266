"""ProcessFactory: starts agent processes, fresh ones and ones that continue a conversation."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import override

from claude_agent_sdk import PermissionMode
from claude_agent_sdk.types import SessionKey, SessionStoreEntry
from uuid_utils import uuid4

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.isolation.housing import Housing
from claude_sdk_pattern.model_gateway.tokens import AgentCredential, AgentTokens
from claude_sdk_pattern.plugins.personas import Persona
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime
from claude_sdk_pattern.policy.hooks import HookEvent
from claude_sdk_pattern.policy.model import FilePolicy
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.errors import SandboxUnavailableError
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.options import AgentProfile, OptionsBuilder, ProcessPlan
from claude_sdk_pattern.sessions.orphans import AgentRecords
from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.database import Database

# All our transcripts share one project: a session is found by its id, wherever its workspace lies.
TRANSCRIPT_PROJECT = "sessions"


class _ProcessTranscripts(TranscriptStore):
    """The transcripts as one process writes them: without the turns it was primed with (under ``primed_id``), without
    a message that was given ahead and lost, and no longer when another server works on its session."""

    def __init__(
        self, database: Database, *, credential: AgentCredential, leases: Leases, primed_id: str | None
    ) -> None:
        super().__init__(database, project_key=TRANSCRIPT_PROJECT)
        self._credential = credential
        self._leases = leases
        self._primed_id = primed_id

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries unless they belong to the conversation that priming leaves behind, or to a lost message."""
        if key["session_id"] != self._primed_id and await self._credential.is_message_stored():
            await super().append(key, entries)

    @override
    def _may_append(self) -> bool:
        # Whoever has the session now has resumed this transcript; a second branch in it would change its memory.
        session_id = self._credential.session_id
        return session_id is None or self._leases.holds(session_id)


def _written(config_dir: Path, persona: Persona) -> Path:
    file = config_dir / "system-prompt.md"
    file.write_text(persona.prompt, "utf-8")
    return file


class ProcessFactory:
    """Starts agent processes. Each has its own token, private folder and view of the transcripts.

    Only a few start at the same time, whoever asks for them: eight at once on two cores take eight times as long each.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        housing: Housing,
        hook_events: Sequence[HookEvent],
        tokens: AgentTokens,
        database: Database,
        workspaces: Workspaces,
        leases: Leases,
        records: AgentRecords,
        plugins: PluginRuntime,
        files: FilePolicy,
    ) -> None:
        self._settings = settings
        self._housing = housing
        self._options = OptionsBuilder(settings, housing, hook_events=hook_events, files=files)
        self._tokens = tokens
        self._database = database
        self._workspaces = workspaces
        self._leases = leases
        self._records = records
        self._plugins = plugins
        self._transcripts = TranscriptStore(database, project_key=TRANSCRIPT_PROJECT)
        # The other half is for the agents that answer, and for the server.
        starts = settings.max_concurrent_starts or max(1, (os.cpu_count() or 1) // 2)
        self._starting = asyncio.Semaphore(starts)
        self._living: set[AgentProcess] = set()

    async def start_warm(self, profile: AgentProfile) -> AgentProcess:
        """Start a process for the warm pool: connected, primed, and nobody's.

        Raises:
            AgentStartError: it did not start.
        """
        return await self.start_fresh(
            profile, model=self._settings.default_model, permission_mode="acceptEdits", primed=True
        )

    async def start_fresh(
        self,
        profile: AgentProfile,
        *,
        model: str,
        permission_mode: PermissionMode,
        primed: bool,
        workspace_id: str | None = None,
    ) -> AgentProcess:
        """Start a process with an empty conversation, in a new workspace unless one is given.

        Args:
            profile: what cannot be changed later.
            model: the model it begins with.
            permission_mode: the permission mode it begins with.
            primed: whether to warm it up, which takes a moment and makes its first answer faster.
            workspace_id: an existing workspace.

        Raises:
            AgentStartError: it did not start.
        """
        agent_session_id = str(uuid4())
        owned = workspace_id is None
        workspace_id = workspace_id or self._workspaces.create()
        try:
            async with self._starting:
                process = await self._start(
                    profile,
                    model=model,
                    permission_mode=permission_mode,
                    workspace_id=workspace_id,
                    agent_session_id=agent_session_id,
                    resume=False,
                    primed_id=agent_session_id if primed else None,
                )
                if primed:
                    try:
                        await process.prime()
                    except BaseException:
                        await process.stop()
                        raise
        except BaseException:
            if owned:
                await self._workspaces.remove(workspace_id)
            raise
        return process

    async def resume(
        self,
        profile: AgentProfile,
        *,
        model: str,
        permission_mode: PermissionMode,
        workspace_id: str,
        agent_session_id: str,
    ) -> AgentProcess:
        """Start a process that continues the conversation ``agent_session_id`` in its workspace.

        Raises:
            AgentStartError: it did not start.
        """
        async with self._starting:
            return await self._start(
                profile,
                model=model,
                permission_mode=permission_mode,
                workspace_id=workspace_id,
                agent_session_id=agent_session_id,
                resume=True,
            )

    async def has_transcript(self, agent_session_id: str, *, entry_uuid: str | None = None) -> bool:
        """Whether there is anything to continue under this id, with this entry in it if one is named."""
        key: SessionKey = {"project_key": TRANSCRIPT_PROJECT, "session_id": agent_session_id}
        return await self._transcripts.exists(key, entry_uuid=entry_uuid)

    async def discard(self, process: AgentProcess) -> None:
        """End a process that served no session, and delete its workspace."""
        await process.stop()
        await self._workspaces.remove(process.workspace_id)

    async def end_all(self) -> None:
        """End every process there still is: those whose user was cancelled before it could see to that itself."""
        await asyncio.gather(*(process.stop() for process in list(self._living)))

    async def _start(
        self,
        profile: AgentProfile,
        *,
        model: str,
        permission_mode: PermissionMode,
        workspace_id: str,
        agent_session_id: str,
        resume: bool,
        primed_id: str | None = None,
    ) -> AgentProcess:
        process_id = str(uuid4())
        token, credential = self._tokens.issue(process_id)

        async def clean_up() -> None:
            offer.release()
            self._tokens.revoke(token)
            self._housing.leave(process_id)
            # Without a namespace the CLI's shells survive it.
            await self._records.end(process_id)
            await self._workspaces.remove_private(process_id)

        process = AgentProcess(
            process_id=process_id,
            workspace_id=workspace_id,
            agent_session_id=agent_session_id,
            model=model,
            permission_mode=permission_mode,
            credential=credential,
            plugins=profile.plugins,
            on_ended=clean_up,
        )
        config_dir = self._workspaces.create_private(process_id)
        plan = ProcessPlan(
            process_id=process_id,
            agent_session_id=agent_session_id,
            resume=resume,
            workspace=await self._workspaces.hand_over(workspace_id),
            config_dir=config_dir,
            token=token,
            system_prompt=None if profile.persona is None else _written(config_dir, profile.persona),
        )
        await self._plugins.prepare(profile.plugins)
        offer = self._plugins.offer(profile.plugins, process.on_tool_failure)
        process.use(offer, on_problem=self._plugins.told_as_broken, on_tools=self._plugins.told_of_tools)
        options = self._options.build(
            plan,
            profile,
            offer,
            model=model,
            permission_mode=permission_mode,
            transcripts=_ProcessTranscripts(
                self._database, credential=credential, leases=self._leases, primed_id=primed_id
            ),
            can_use_tool=process.can_use_tool,
            run_hook=process.run_hook,
            stderr=process.log_stderr,
        )
        self._records.add(process_id, token)
        try:
            self._housing.expect(process_id)
        except OSError as error:
            await clean_up()
            raise SandboxUnavailableError(f"the agent's limits cannot be set: {error}") from error
        await process.start(options, timeout_seconds=self._settings.connect_timeout_seconds)
        try:
            await self._housing.doors_open(process_id)
        except OSError as error:
            await process.stop()
            raise SandboxUnavailableError(f"the server cannot answer the agent: {error}") from error
        self._living.add(process)
        process.when_ended(lambda: self._living.discard(process))
        if process.pid is not None:
            self._records.set_pid(process_id, process.pid)
        return process
