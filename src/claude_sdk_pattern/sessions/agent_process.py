"""One agent process: a ``ClaudeSDKClient``, the task that owns it, and the binding to the session it serves.

The SDK demands that a client is connected and disconnected in one task, so each process has an owner task that does
both and waits in between. A sibling task reads. What it reads it hands to the listener in plain calls: a reader that
waited, for a disk or a socket, would fill the SDK's buffer of 100 messages, and with it stop permission requests,
hooks and interrupts, which share the pipe.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKError,
    Message,
    PermissionMode,
    PermissionResult,
    PermissionResultDeny,
    ResultMessage,
    SystemMessage,
    ToolPermissionContext,
)

from claude_sdk_pattern.isolation.launcher import COMPLAINTS
from claude_sdk_pattern.isolation.process_tree import kill_tree
from claude_sdk_pattern.model_gateway.tokens import AgentCredential
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.plugins.runtime.init_report import problems_in
from claude_sdk_pattern.plugins.runtime.offer import NOTHING_OFFERED, Offer
from claude_sdk_pattern.policy.hooks import HOOK_FAILED, HookCall, HookReply
from claude_sdk_pattern.sessions.cli_mode import cli_mode
from claude_sdk_pattern.sessions.errors import AgentCrashedError, AgentStartError, SandboxUnavailableError
from claude_sdk_pattern.sessions.model_trouble import ModelTrouble
from claude_sdk_pattern.sessions.sdk_client import AgentClient
from claude_sdk_pattern.sessions.translate import UnknownMessage

logger = structlog.get_logger(__name__)

# An idle process ends within 0.05 s; one in the middle of a tool needs the SDK's own 5 s, which nobody should wait.
_STOP_SECONDS = 3.0

# After SIGKILL only the kernel has to act.
_KILL_SECONDS = 5.0

# The second turn of a process is already faster than its first; further ones gain nothing (docs/performance.md).
_PRIMING_TURNS = 2

_PRIMING_SECONDS = 15.0

_NOBODYS = "This agent process serves no session yet."

# Enough of standard error to understand a crash, not enough to fill a log.
_STDERR_LINE_LIMIT = 500


class AgentListener(Protocol):
    """Who a process works for. All methods are called on the event loop."""

    def on_message(self, message: Message | UnknownMessage) -> None:
        """Take one message. Must not block and must not raise."""
        ...

    def on_exit(self, process: "AgentProcess", error: AgentCrashedError) -> None:
        """Learn that a process ended without being asked to. Called at most once for each, after its last message."""
        ...

    async def run_hook(self, call: HookCall, process: "AgentProcess") -> HookReply:
        """Answer an event of the process, a tool call before it is made among them."""
        ...

    async def decide_permission(
        self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext, process: "AgentProcess"
    ) -> PermissionResult:
        """Answer a tool call that the CLI wants confirmed."""
        ...

    def on_tool_failure(self, failure: ToolFailure) -> None:
        """Learn that a plugin's tool could not answer a call. Must not block and must not raise."""
        ...

    def on_plugin_problems(self, problems: Mapping[str, str]) -> None:
        """Learn what the process could not load, by plugin. Called at most once. Must not block and must not raise."""
        ...


@dataclass(slots=True, kw_only=True)
class _Binding:
    """The session a process serves; empty while it waits in the pool. The callbacks given to the SDK look here."""

    listener: AgentListener | None = None


class AgentProcess:
    """A connected Claude Code CLI. Made by :class:`~claude_sdk_pattern.sessions.process_factory.ProcessFactory`.

    Attributes:
        process_id: our id of it, also the name of its private folder.
        workspace_id: the folder it works in.
        agent_session_id: the id of its transcript; priming changes it.
        model: the model it uses now.
        permission_mode: the permission mode it works in now, as a session names it.
        plugins: the plugins it works with.
        offer: what it was given of them.
        started_at: when it was started, on the event loop's clock, in seconds.
    """

    def __init__(
        self,
        *,
        process_id: str,
        workspace_id: str,
        agent_session_id: str,
        model: str,
        permission_mode: PermissionMode,
        credential: AgentCredential,
        plugins: PluginSet,
        on_ended: Callable[[], Awaitable[None]],
    ) -> None:
        self.process_id = process_id
        self.workspace_id = workspace_id
        self.agent_session_id = agent_session_id
        self.model = model
        self.permission_mode: PermissionMode = permission_mode
        self.plugins = plugins
        self.offer = NOTHING_OFFERED
        self._credential = credential
        self._on_ended = on_ended
        self._binding = _Binding()
        self._client: AgentClient | None = None
        self._owner: asyncio.Task[None] | None = None
        self._connected = asyncio.get_running_loop().create_future()
        self._stop_requested = asyncio.Event()
        self._complaint: str | None = None
        self._priming: asyncio.Queue[Message | UnknownMessage] | None = None
        self._on_problem: Callable[[str, str], None] | None = None
        self._on_tools: Callable[[Mapping[str, str], Collection[str]], None] | None = None
        self._problems: Mapping[str, str] | None = None
        self.started_at = asyncio.get_running_loop().time()

    # --- life ---------------------------------------------------------------------------------------------------

    async def start(self, options: ClaudeAgentOptions, *, timeout_seconds: float) -> None:
        """Start the CLI and wait until it is connected.

        Raises:
            SandboxUnavailableError: it could not be walled in.
            AgentStartError: it did not start, or not in time. Nothing of it is left running.
        """
        self._owner = asyncio.create_task(self._own(options), name=f"agent-{self.process_id}")
        try:
            # `wait` and not `wait_for`: running out of time here must not cancel what the owner is about to set.
            done, _ = await asyncio.wait({self._connected}, timeout=timeout_seconds)
        except asyncio.CancelledError:
            await self.stop()
            raise
        if not done:
            await self.stop()
            raise AgentStartError(f"the agent process did not connect within {timeout_seconds:g} s")
        try:
            self._connected.result()
        except (ClaudeSDKError, OSError, RuntimeError, ValueError) as error:
            await self.stop()
            if self._complaint is not None:
                raise SandboxUnavailableError(f"the agent could not be walled in: {self._complaint}") from error
            raise AgentStartError(f"the agent process did not start: {error}") from error

    async def prime(self) -> None:
        """Run turns that nobody sees, so that the first real one is as fast as the next, and forget them.

        The gateway answers these itself, because the process belongs to no session yet. ``/clear`` gives the process
        an empty conversation under a new id.

        Raises:
            AgentStartError: the process did not answer.
        """
        self._priming = asyncio.Queue()
        try:
            async with asyncio.timeout(_PRIMING_SECONDS):
                for text in ["prime"] * _PRIMING_TURNS + ["/clear"]:
                    await self._require_client().query(_user_message(text))
                    while not isinstance(message := await self._priming.get(), ResultMessage):
                        pass
                    self.agent_session_id = message.session_id
        except (TimeoutError, ClaudeSDKError, AgentCrashedError) as error:
            raise AgentStartError("the agent process did not answer its first turn") from error
        finally:
            self._priming = None

    def bind(self, listener: AgentListener, session_id: str) -> None:
        """Give the process to a session; from now on its token opens the model. Called once."""
        self._binding.listener = listener
        self._credential.session_id = session_id
        if self._problems:
            listener.on_plugin_problems(self._problems)

    @property
    def is_alive(self) -> bool:
        """Whether the process can still be used."""
        return (
            self._owner is not None
            and not self._owner.done()
            and self._connected.done()
            and not self._connected.cancelled()
            and self._connected.exception() is None
            and not self._stop_requested.is_set()
        )

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Call back once the process has ended, for whatever reason."""
        if self._owner is None:
            raise RuntimeError("the process was not started")
        self._owner.add_done_callback(lambda _: callback())

    @property
    def pid(self) -> int | None:
        """Process id of the CLI (of its sandbox, when it has one), or None if none runs."""
        return None if self._client is None else self._client.pid

    @property
    def home(self) -> Path:
        """Where the CLI keeps its own files.

        Raises:
            AgentCrashedError: it does not run.
        """
        return self._require_client().config_dir

    async def stop(self) -> None:
        """End the process, by force if it does not end by itself. Safe to call twice and from several tasks."""
        self._stop_requested.set()
        owner = self._owner
        if owner is None:
            return
        await asyncio.wait({owner}, timeout=_STOP_SECONDS)
        if not owner.done():
            self.kill()
            await asyncio.wait({owner}, timeout=_KILL_SECONDS)
        if not owner.done():
            logger.error("agent_process_will_not_end", process_id=self.process_id, pid=self.pid)
            owner.cancel()

    def kill(self) -> None:
        """Send SIGKILL to it and all it has started.

        The listener hears of it through ``on_exit`` unless :meth:`stop` was called before.
        """
        if self.pid is not None:
            kill_tree(self.pid)

    # --- conversation -------------------------------------------------------------------------------------------

    @property
    def model_trouble(self) -> ModelTrouble | None:
        """Why the model gave no answer to the last request of this turn, or None if it did."""
        failure = self._credential.health.last_failure
        if failure is None:
            return None
        return ModelTrouble(kind=failure.kind, status=failure.status, retry_after_seconds=failure.retry_after_seconds)

    async def send(
        self,
        content: str | list[dict[str, Any]],
        *,
        message_uuid: str,
        stored: asyncio.Future[Any] | None = None,
    ) -> None:
        """Send a user message. ``message_uuid`` comes back in the result of the turn that answers it.

        Before ``stored`` is done the model is not asked, and nothing of the message is kept in the transcript.

        Raises:
            AgentCrashedError: the process is gone.
        """
        self._credential.health.begin_turn()
        self._credential.turn_id = message_uuid
        self._credential.stored = stored
        await self._call(lambda client: client.query(_user_message(content, message_uuid)))

    async def interrupt(self) -> None:
        """Stop the running turn; its result follows as a message.

        Raises:
            AgentCrashedError: the process is gone.
        """
        await self._call(lambda client: client.interrupt())

    async def set_model(self, model: str) -> None:
        """Use another model from the next request on.

        Raises:
            AgentCrashedError: the process is gone or refused.
        """
        if model != self.model:
            await self._call(lambda client: client.set_model(model))
            self.model = model

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change the permission mode.

        Raises:
            AgentCrashedError: the process is gone or refused.
        """
        if mode != self.permission_mode:
            await self._call(lambda client: client.set_permission_mode(cli_mode(mode)))
            self.permission_mode = mode

    async def ping(self) -> None:
        """Ask something that costs the process nothing, to see that it answers.

        Raises:
            AgentCrashedError: the process is gone.
        """
        await self._call(lambda client: client.get_mcp_status())

    # --- plugins ------------------------------------------------------------------------------------------------

    def use(
        self,
        offer: Offer,
        *,
        on_problem: Callable[[str, str], None],
        on_tools: Callable[[Mapping[str, str], Collection[str]], None],
    ) -> None:
        """Note what the process is started with.

        Args:
            offer: what plugins bring to it.
            on_problem: is told of each plugin that it cannot load.
            on_tools: is told the owners of servers, as in the offer, and the tools that there are at each turn.
        """
        self.offer = offer
        self._on_problem = on_problem
        self._on_tools = on_tools

    def on_tool_failure(self, failure: ToolFailure) -> None:
        """Tell whoever the process works for of a call that a plugin's tool could not answer."""
        if self._binding.listener is not None:
            self._binding.listener.on_tool_failure(failure)

    def _compare(self, init: SystemMessage) -> None:
        """Compare what the process has loaded, which it tells at the beginning of each turn, with what it should."""
        if self._on_tools is not None and self.offer.starts_servers:
            tools: Sequence[str] = init.data.get("tools") or ()
            self._on_tools(self.offer.owners, tools)
        if self._problems is not None:
            return
        self._problems = problems_in(self.offer, init.data)
        for plugin, problem in self._problems.items():
            logger.warning("plugin_not_loaded", plugin=plugin, problem=problem)
            if self._on_problem is not None:
                self._on_problem(plugin, problem)
        if self._problems and self._binding.listener is not None:
            self._binding.listener.on_plugin_problems(self._problems)

    async def mcp_status(self) -> dict[str, Any]:
        """Return what the CLI says of its MCP servers.

        Raises:
            AgentCrashedError: the process is gone.
        """
        return await self._call(lambda client: client.get_mcp_status())

    # --- callbacks for the SDK ----------------------------------------------------------------------------------

    async def can_use_tool(
        self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        """The SDK's permission callback: ask whoever the process works for."""
        listener = self._binding.listener
        if listener is None:
            return PermissionResultDeny(message=_NOBODYS)
        return await listener.decide_permission(tool, tool_input, context, self)

    async def run_hook(self, call: HookCall) -> HookReply:
        """The SDK's hooks, all of them: ask whoever the process works for. Before that is somebody, nothing may run."""
        listener = self._binding.listener
        if listener is None:
            return HookReply(decision="deny" if call.event == "PreToolUse" else None, reason=_NOBODYS, rule=HOOK_FAILED)
        return await listener.run_hook(call, self)

    def log_stderr(self, line: str) -> None:
        """The SDK's callback for standard error of the CLI; without one it would go to the server's own."""
        logger.debug("agent_stderr", process_id=self.process_id, line=line[:_STDERR_LINE_LIMIT])
        if not self._connected.done() and line.startswith(COMPLAINTS):
            self._complaint = line[:_STDERR_LINE_LIMIT]

    # --- the owner ----------------------------------------------------------------------------------------------

    async def _call(self, command: Callable[[AgentClient], Any]) -> Any:
        try:
            return await command(self._require_client())
        except Exception as error:
            # The SDK reports a refused or unanswered control request as a bare Exception.
            raise AgentCrashedError(str(error)) from error

    def _require_client(self) -> AgentClient:
        if self._client is None or not self.is_alive:
            raise AgentCrashedError("the agent process is not running")
        return self._client

    async def _own(self, options: ClaudeAgentOptions) -> None:
        self._client = AgentClient(options)
        try:
            await self._client.connect()
        except BaseException as error:
            self._client = None
            await self._on_ended()
            if not self._connected.done():
                self._connected.set_exception(error if isinstance(error, Exception) else AgentStartError(str(error)))
                # Retrieved here too: the waiter may have given up already.
                self._connected.exception()
            if not isinstance(error, Exception):
                raise
            return
        self._connected.set_result(None)
        reader = asyncio.create_task(self._read(self._client), name=f"agent-reader-{self.process_id}")
        stopping = asyncio.create_task(self._stop_requested.wait())
        try:
            await asyncio.wait({reader, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            crashed = reader.done() and not self._stop_requested.is_set()
            await self._close(reader, stopping)
            listener = self._binding.listener
            if crashed and listener is not None:
                error = None if reader.cancelled() else reader.exception()
                listener.on_exit(self, AgentCrashedError(str(error) if error else "the agent process ended by itself"))

    async def _close(self, reader: asyncio.Task[None], stopping: asyncio.Task[bool]) -> None:
        client = self._client
        try:
            if client is not None:
                await client.disconnect()
        except Exception as error:  # noqa: BLE001 - whatever it was, the process has to be gone afterwards
            logger.warning("agent_disconnect_failed", process_id=self.process_id, error=str(error))
            self.kill()
        finally:
            reader.cancel()
            stopping.cancel()
            await asyncio.gather(reader, stopping, return_exceptions=True)
            self._client = None
            await self._on_ended()

    async def _read(self, client: AgentClient) -> None:
        async for message in client.receive_all():
            if isinstance(message, SystemMessage) and message.subtype == "init":
                self._compare(message)
            if self._priming is not None:
                self._priming.put_nowait(message)
            elif self._binding.listener is not None:
                self._binding.listener.on_message(message)


async def _user_message(
    content: str | list[dict[str, Any]], message_uuid: str | None = None
) -> AsyncGenerator[dict[str, Any]]:
    """Yield one message in the form in which the CLI reports its uuid back."""
    message: dict[str, Any] = {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
    }
    if message_uuid is not None:
        message["uuid"] = message_uuid
    yield message
