"""The ways to the servers of a plugin: a process of its own behind walls, an address, or this process."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx2
import structlog
from anyio import create_memory_object_stream
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

import claude_sdk_pattern
from claude_sdk_pattern.isolation.confinement import Confined, Confinement
from claude_sdk_pattern.isolation.hosts import EgressPolicy
from claude_sdk_pattern.isolation.kinds import MEBIBYTE, AgentLimits
from claude_sdk_pattern.isolation.launcher import SEARCH_PATH
from claude_sdk_pattern.plugins.hosted.code import load_server
from claude_sdk_pattern.plugins.hosted.protocol import SPEC_VARIABLE, CodeSpec
from claude_sdk_pattern.plugins.manifest import RemoteServer, StdioServer
from claude_sdk_pattern.plugins.runtime.asking import Answering, answering
from claude_sdk_pattern.plugins.runtime.guarded_http import guarded_client
from claude_sdk_pattern.plugins.runtime.placeholders import filled
from claude_sdk_pattern.plugins.runtime.streams import Link, Sent, process_link

logger = structlog.get_logger(__name__)

_NO_HOSTS = EgressPolicy()


# What authors write for the Python that the platform runs in, which has the `mcp` package.
_PYTHON = ("python", "python3")

# A stream of events may say nothing for this long; servers send something now and then to keep it open.
_SILENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What one process of a plugin may use; see the settings of these names. Memory is each plugin's own word."""

    processes: int
    open_files: int
    file_mb: int
    cpu_seconds: int
    tmp_mb: int
    max_message_bytes: int

    def with_memory(self, memory_mb: int) -> AgentLimits:
        """Return the limits of a process that may have this much memory."""
        return AgentLimits(
            processes=self.processes,
            open_files=self.open_files,
            file_bytes=self.file_mb * MEBIBYTE,
            cpu_seconds=self.cpu_seconds,
            tmp_bytes=self.tmp_mb * MEBIBYTE,
            shm_bytes=self.tmp_mb * MEBIBYTE,
            data_bytes=memory_mb * MEBIBYTE,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a plugin is, and what it may see and reach besides.

    Attributes:
        name: for the log: the plugin's name, and the server's where it has several.
        root: its folder.
        data: the folder it may write to.
        readable: files and folders that it declares.
        writable: those that it may write to as well.
        egress: the hosts that it declares.
    """

    name: str
    root: Path
    data: Path
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    egress: EgressPolicy = _NO_HOSTS


@contextlib.asynccontextmanager
async def code_link(
    confinement: Confinement, place: Place, spec: CodeSpec, limits: ProcessLimits, *, memory_mb: int, answer: Answering
) -> AsyncGenerator[Link]:
    """Run a plugin's Python in a process of its own."""
    confined = Confined(
        command=(sys.executable, "-I", "-m", "claude_sdk_pattern.plugins.hosted"),
        environment={**_basics(place), SPEC_VARIABLE: spec.model_dump_json()},
        folder=place.data,
        writable=place.writable,
        read_only=(*_python_folders(), place.root, *place.readable),
        limits=limits.with_memory(memory_mb),
        egress=place.egress,
    )
    async with confinement.start(confined) as process:
        async with process_link(process, name=place.name, max_line_bytes=limits.max_message_bytes) as link:
            async with answering(link, answer) as answered:
                yield answered


@contextlib.asynccontextmanager
async def code_link_in_process(spec: CodeSpec, answer: Answering) -> AsyncGenerator[Link]:
    """Run a plugin's Python in this process, which whoever trusts it has to know: what blocks there blocks all."""
    to_client, received = create_memory_object_stream[SessionMessage | Exception](0)
    sent, to_server = create_memory_object_stream[SessionMessage | Exception](0)
    link = Link(received=received, sent=cast("Sent", sent))
    loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve() -> None:
        try:
            # In a task of its own: what it sets in its context is the plugin's alone.
            server = load_server(spec, is_shared=True)
            loaded.set_result(None)
            await server.run(to_server, to_client, server.create_initialization_options())
        except (Exception, SystemExit) as error:
            if loaded.done():
                logger.exception("trusted_plugin_failed", plugin=spec.plugin)
            else:
                loaded.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
        finally:
            link.ended.set()
            to_client.close()

    task = asyncio.create_task(serve())
    try:
        await loaded
        async with answering(link, answer) as answered:
            yield answered
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for stream in (to_client, received, sent, to_server):
            stream.close()


@contextlib.asynccontextmanager
async def stdio_link(
    confinement: Confinement, place: Place, server: StdioServer, limits: ProcessLimits, *, values: Mapping[str, str]
) -> AsyncGenerator[Link]:
    """Run the program of an MCP server. ``values`` are what its placeholders stand for."""
    command, *arguments = (filled(text, values) for text in (server.command, *server.args))
    read_only = [place.root, *place.readable]
    if command in _PYTHON:
        command = sys.executable
        read_only += _python_folders()
    elif "/" in command and not command.startswith("/"):
        command = str(place.root / command)
    confined = Confined(
        command=(command, *arguments),
        environment=_basics(place) | {name: filled(text, values) for name, text in server.env.items()},
        folder=place.data,
        writable=place.writable,
        read_only=tuple(read_only),
        limits=limits.with_memory(server.memory_mb),
        egress=place.egress,
    )
    async with confinement.start(confined) as process:
        async with process_link(process, name=place.name, max_line_bytes=limits.max_message_bytes) as link:
            yield link


@contextlib.asynccontextmanager
async def remote_link(
    place: Place, server: RemoteServer, limits: ProcessLimits, *, values: Mapping[str, str]
) -> AsyncGenerator[Link]:
    """Reach an MCP server at an address."""
    url = filled(server.url, values)
    headers = {name: filled(text, values) for name, text in server.headers.items()}

    def make_client(*_: Any, **__: Any) -> httpx2.AsyncClient:
        return guarded_client(
            place.egress, headers=headers, read_seconds=_SILENCE_SECONDS, max_bytes=limits.max_message_bytes
        )

    async with contextlib.AsyncExitStack() as stack:
        if server.type == "sse":
            streams = await stack.enter_async_context(sse_client(url, httpx_client_factory=make_client))
        else:
            client = await stack.enter_async_context(make_client())
            streams = await stack.enter_async_context(
                streamable_http_client(url, http_client=client, max_sse_event_size=limits.max_message_bytes)
            )
        yield Link(received=cast("Any", streams[0]), sent=cast("Any", streams[1]))


def _basics(place: Place) -> dict[str, str]:
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(place.data),
        "TMPDIR": "/tmp",  # noqa: S108 - its own
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _python_folders() -> tuple[Path, ...]:
    """Return the folders of this Python and of this package, without those that are inside others or in /usr."""
    wanted = [Path(sys.prefix), Path(sys.base_prefix), Path(claude_sdk_pattern.__file__).parent]
    found: list[Path] = []
    for path in (path.resolve() for path in wanted):
        if not any(path.is_relative_to(above) for above in (Path("/usr"), *found)):
            found.append(path)
    return tuple(found)
