"""ServerConnection: one MCP server of a plugin, connected, and connected again when it breaks.

One task owns the connection, because an MCP session has to be opened and closed in one. Everybody else calls. A call
has a deadline; one that misses it is answered with an error, and a server that does not even answer a ping then is
started anew. After several failures in a row it is given up until somebody starts it again.
"""

import asyncio
import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, cast

import structlog
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, CallToolResult, Implementation, PaginatedRequestParams, Tool
from pydantic import BaseModel

from claude_sdk_pattern import __version__
from claude_sdk_pattern.plugins.runtime.apps import EXTENSION, PAGE_TYPE
from claude_sdk_pattern.plugins.runtime.streams import Link

logger = structlog.get_logger(__name__)

type FailureKind = Literal["timeout", "crashed", "unavailable", "bad_answer"]
"""Why a call got no answer of the tool's own. ``unavailable``: its server is not there."""

# After a failure: soon for the first, because mostly it is the only one.
_FIRST_BACKOFF_SECONDS = 0.2
_LAST_BACKOFF_SECONDS = 30.0

# A server that lived this long, or answered a call, and then broke begins to be counted anew.
_STEADY_SECONDS = 60.0

# A server that is busy with one call still has to answer this; one whose loop is blocked does not.
_PING_SECONDS = 3.0

_MAX_TOOL_PAGES = 50
_MAX_TOOLS = 1000


class ServerStartError(Exception):
    """A server could not be started, or did not answer as one; the message says why, for operators."""


class CallFailedError(Exception):
    """A call got no answer of the tool's own. The message is for the agent and for people."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class ServerState(enum.StrEnum):
    """``waiting``: to be started again after a failure. ``failed``: given up."""

    STARTING = "starting"
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How long a server may take, and how often it may fail in a row before it is given up."""

    start_seconds: float
    call_seconds: float
    max_failures: int = 5


type Connect = Callable[[], AbstractAsyncContextManager[Link]]
"""Starts or reaches the server anew each time."""

type StateReport = Callable[[ServerState, str | None], None]
"""Is told of each state, and of what went wrong."""


class ServerConnection:
    """A connection to one server.

    Args:
        name: for the log and in messages.
        connect: makes a way to the server.
        limits: how long things may take.
        on_state: is told of changes.
    """

    def __init__(self, name: str, connect: Connect, limits: ServerLimits, *, on_state: StateReport) -> None:
        self.name = name
        self.state = ServerState.STARTING
        self.problem: str | None = None
        self.tools: Sequence[Tool] = ()
        self._connect = connect
        self._limits = limits
        self._on_state = on_state
        self._session: ClientSession | None = None
        self._has_answered = False
        self._broken = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start it for the first time, without a second try.

        Raises:
            ServerStartError: it did not start. Nothing of it is left.
        """
        self._task = asyncio.create_task(self._keep(), name=f"plugin-server-{self.name}")
        try:
            while self.state is ServerState.STARTING:
                await self._wait_for_change()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if self.state is not ServerState.READY:
            problem = self.problem
            await self.aclose()
            raise ServerStartError(problem or "it did not start")

    async def aclose(self) -> None:
        """End it. Calls that wait fail."""
        tasks = [task for task in (self._pinging, self._task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._set(ServerState.CLOSED, None)

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool.

        Raises:
            CallFailedError: it did not answer.
        """
        result = await self._ask(
            tool,
            lambda session: session.call_tool(tool, arguments, read_timeout_seconds=self._limits.call_seconds),
            self._limits.call_seconds,
        )
        if not isinstance(result, CallToolResult):
            raise CallFailedError("bad_answer", f"{tool} answered with something that is no result.")
        return result

    async def request[Result: BaseModel](
        self, request: Any, result_type: type[Result], *, timeout_seconds: float, what: str
    ) -> Result:
        """Send a request that is not MCP's, to a server of ours. ``what`` names it in messages.

        Raises:
            CallFailedError: it was not answered.
        """
        return await self._ask(
            what,
            lambda session: session.send_request(request, result_type, request_read_timeout_seconds=timeout_seconds),
            timeout_seconds,
        )

    # --- calls --------------------------------------------------------------------------------------------------

    async def _ask(self, what: str, ask: Callable[[ClientSession], Any], timeout_seconds: float) -> Any:
        session = await self._ready_session(what)
        try:
            # Behind the session's own limit: it counts from when the request could be sent.
            async with asyncio.timeout(timeout_seconds + _PING_SECONDS):
                answer = await ask(session)
            self._has_answered = True
            return answer
        except TimeoutError:
            self._break(session)
            raise CallFailedError("timeout", f"{what} did not answer within {timeout_seconds:g} s.") from None
        except MCPError as error:
            raise self._failure(what, session, error, timeout_seconds) from error
        except (ValueError, RuntimeError) as error:
            # Among them what pydantic and jsonschema have to say about the answer.
            logger.warning("plugin_server_bad_answer", server=self.name, error=str(error)[:500])
            raise CallFailedError("bad_answer", f"{what} answered with something that is no result.") from error

    def _failure(self, what: str, session: ClientSession, error: MCPError, timeout_seconds: float) -> CallFailedError:
        match error.error.code:
            case code if code == REQUEST_TIMEOUT:
                # Busy, or blocked? Only a ping tells, and whoever waits for this call need not wait for that.
                self._pinging = asyncio.create_task(self._ping(session))
                return CallFailedError("timeout", f"{what} did not answer within {timeout_seconds:g} s.")
            case code if code == CONNECTION_CLOSED:
                # Nobody else shall try it while its end is being noticed.
                self._break(session)
                return CallFailedError("crashed", f"The process behind {what} ended. It is started again.")
            case _:
                return CallFailedError("bad_answer", f"{what} failed: {error.error.message[:1000]}")

    async def _ready_session(self, what: str) -> ClientSession:
        try:
            async with asyncio.timeout(self._limits.start_seconds + _PING_SECONDS):
                if self._pinging is not None:
                    # Whether it still answers anybody is just being found out.
                    await asyncio.wait({self._pinging})
                while (session := self._session) is None:
                    if self.state in (ServerState.FAILED, ServerState.CLOSED):
                        raise CallFailedError("unavailable", f"{what} cannot be used now: {self.problem or 'ended'}")
                    await self._wait_for_change()
                return session
        except TimeoutError:
            raise CallFailedError("unavailable", f"{what} cannot be used now: {self.problem or 'starting'}") from None

    async def _ping(self, session: ClientSession) -> None:
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await session.send_ping()
        except (TimeoutError, MCPError):
            self._break(session)

    def _break(self, session: ClientSession) -> None:
        if session is self._session:
            self._session = None
            self._broken.set()

    # --- the owner ----------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        failures = 0
        while True:
            self._broken.clear()
            self._has_answered = False
            born = asyncio.get_running_loop().time()
            problem = await self._live()
            self._session = None
            if self._has_answered or asyncio.get_running_loop().time() - born > _STEADY_SECONDS:
                failures = 0
            failures += 1
            logger.warning("plugin_server_failed", server=self.name, problem=problem, failures=failures)
            if failures >= self._limits.max_failures:
                self._set(ServerState.FAILED, problem)
                return
            self._set(ServerState.WAITING, problem)
            await asyncio.sleep(min(_FIRST_BACKOFF_SECONDS * 4 ** (failures - 1), _LAST_BACKOFF_SECONDS))

    async def _live(self) -> str:
        """Connect, be there until the connection breaks, and return why it did."""
        link: Link | None = None
        try:
            async with self._connect() as link:
                async with _session(link) as session:
                    async with asyncio.timeout(self._limits.start_seconds):
                        await session.initialize()
                        self.tools = await _list_tools(session)
                    self._session = session
                    self._set(ServerState.READY, None)
                    await _first_of(link.ended, self._broken)
                    self._session = None
                    what = "it ended" if link.ended.is_set() else "it did not answer any more"
            return _with_last_words(what, link)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is the server's failure
            cause = _cause(error)
            if isinstance(cause, TimeoutError):
                return _with_last_words(f"it did not answer within {self._limits.start_seconds:g} s", link)
            return _with_last_words(_told(cause), link)

    def _set(self, state: ServerState, problem: str | None) -> None:
        self.state, self.problem = state, problem
        self._changed.set()
        self._changed = asyncio.Event()
        self._on_state(state, problem)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()


def _session(link: Link) -> ClientSession:
    client = Implementation(name="claude-sdk-pattern", version=__version__)
    extensions = {EXTENSION: {"mimeTypes": [PAGE_TYPE]}}
    return ClientSession(link.received, link.sent, client_info=client, extensions=extensions)


async def _list_tools(session: ClientSession) -> Sequence[Tool]:
    """Return all tools of a server that says it has some."""
    capabilities = session.server_capabilities
    if capabilities is None or capabilities.tools is None:
        return ()
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_TOOL_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > _MAX_TOOLS:
            break
    return found[:_MAX_TOOLS]


async def _first_of(*happenings: asyncio.Event) -> None:
    tasks = [asyncio.create_task(happening.wait()) for happening in happenings]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _with_last_words(problem: str, link: Link | None) -> str:
    said = "" if link is None else link.last_words()
    return f"{problem}: {said}" if said else problem


def _cause(error: BaseException) -> BaseException:
    """Return what went wrong: the tasks behind a connection wrap it, once or several times."""
    if isinstance(error, BaseExceptionGroup):
        return _cause(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def _told(error: BaseException) -> str:
    if isinstance(error, MCPError):
        return "it ended" if error.error.code == CONNECTION_CLOSED else error.error.message[:500]
    return (str(error) or type(error).__name__)[:500]
