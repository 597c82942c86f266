"""Agent processes that do as a test tells them, in place of real ones, and where a conversation gets them from.

They stand in at a seam of ours, so that thousands of histories can be tried. ``test_agent_processes`` asks the same of
them and of the real ones.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast, override

from claude_agent_sdk import PermissionMode, ResultMessage
from uuid_utils import uuid4

from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.offer import NOTHING_OFFERED
from claude_sdk_pattern.sessions.agent_process import AgentListener, AgentProcess
from claude_sdk_pattern.sessions.errors import AgentCrashedError, AgentStartError
from claude_sdk_pattern.sessions.model_trouble import ModelTrouble
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.process_factory import ProcessFactory
from claude_sdk_pattern.sessions.workspaces import Workspaces


class MadeUpProcess:
    """An agent process without a process. Attributes are those of the real one, and the three that follow.

    Attributes:
        asked: uuids of the messages it has taken and not answered.
        is_deaf: it does not obey an interrupt.
        is_mute: it does not answer a ping.
    """

    def __init__(
        self, *, agent_session_id: str, workspace_id: str, model: str, permission_mode: PermissionMode
    ) -> None:
        self.process_id = str(uuid4())
        self.agent_session_id = agent_session_id
        self.workspace_id = workspace_id
        self.model = model
        self.permission_mode = permission_mode
        self.started_at = asyncio.get_running_loop().time()
        self.model_trouble: ModelTrouble | None = None
        self.plugins = PluginSet()
        self.offer = NOTHING_OFFERED
        self.pid: int | None = None
        self.is_alive = True
        self.asked: list[str] = []
        self.is_deaf = False
        self.is_mute = False
        self._listener: AgentListener | None = None
        self._callbacks: list[Callable[[], None]] = []

    def bind(self, listener: AgentListener, session_id: str) -> None:
        """Give the process to a session."""
        self._listener = listener

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Call back once it has ended."""
        self._callbacks.append(callback)

    async def send(
        self,
        content: str | list[dict[str, Any]],
        *,
        message_uuid: str,
        stored: asyncio.Future[Any] | None = None,
    ) -> None:
        """Take a message. It is answered when the test says so, stored or not."""
        self._require_alive()
        self.asked.append(message_uuid)

    async def interrupt(self) -> None:
        """End the running turn, unless it is deaf."""
        self._require_alive()
        if self.is_deaf:
            await asyncio.Event().wait()
        if self.asked:
            self._say_result(terminal_reason="aborted_streaming", subtype="error_during_execution", is_error=True)

    async def ping(self) -> None:
        """Answer, unless it is mute."""
        self._require_alive()
        if self.is_mute:
            await asyncio.Event().wait()

    async def set_model(self, model: str) -> None:
        """Use another model."""
        self._require_alive()
        self.model = model

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change the permission mode."""
        self._require_alive()
        self.permission_mode = mode

    async def stop(self) -> None:
        """End it; its listener does not hear of it."""
        self._end()

    def kill(self) -> None:
        """End it; its listener hears of it."""
        if self.is_alive:
            self._end()
            # As with a real one not before whoever killed it has gone on.
            asyncio.get_running_loop().call_soon(self._tell_exit)

    def answer(self) -> None:
        """Answer the message it took first."""
        self._say_result(subtype="success", is_error=False)

    def _say_result(self, **fields: Any) -> None:
        if self._listener is not None:
            uuid = self.asked.pop(0)
            values: dict[str, Any] = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "user_message_uuid": uuid}
            self._listener.on_message(ResultMessage(session_id=self.agent_session_id, **values, **fields))

    def _tell_exit(self) -> None:
        if self._listener is not None:
            self._listener.on_exit(cast("AgentProcess", self), AgentCrashedError("killed"))

    def _end(self) -> None:
        if self.is_alive:
            self.is_alive = False
            for callback in self._callbacks:
                callback()

    def _require_alive(self) -> None:
        if not self.is_alive:
            raise AgentCrashedError("the agent process is not running")


class MadeUpFactory(ProcessFactory):
    """Starts made-up processes and keeps them all. How one asks for them is the real factory's."""

    def __init__(self) -> None:
        # Nothing of the real one's surroundings but what its public methods look at.
        self._starting = asyncio.Semaphore(4)
        self._workspaces = cast("Workspaces", _NoFolders())
        self.started: list[MadeUpProcess] = []
        self.fails = False

    @property
    def living(self) -> list[MadeUpProcess]:
        """The processes that have not ended."""
        return [process for process in self.started if process.is_alive]

    @override
    async def has_transcript(self, agent_session_id: str, *, entry_uuid: str | None = None) -> bool:
        """Whether there is anything to go on with: always."""
        return True

    @override
    async def _start(self, profile: AgentProfile, **asked: Any) -> AgentProcess:
        await asyncio.sleep(0)
        if self.fails:
            raise AgentStartError("not today")
        process = MadeUpProcess(
            agent_session_id=asked["agent_session_id"],
            workspace_id=asked["workspace_id"],
            model=asked["model"],
            permission_mode=asked["permission_mode"],
        )
        self.started.append(process)
        return cast("AgentProcess", process)


class _NoFolders:
    """Workspaces that are ids and nothing more."""

    def create(self) -> str:
        return str(uuid4())

    async def remove(self, workspace_id: str) -> None:
        pass
