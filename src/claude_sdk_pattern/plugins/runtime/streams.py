"""The pipes of a process as the streams of an MCP session, with a bound on everything that comes through them.

The ``mcp`` package has a transport of its own for processes. It starts them itself, without walls, reads lines of any
length and logs each that it cannot read; a plugin could fill the server's memory or its log.
"""

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import structlog
from anyio import BrokenResourceError, ClosedResourceError, create_memory_object_stream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

logger = structlog.get_logger(__name__)

type Received = MemoryObjectReceiveStream[SessionMessage | Exception]
type Sent = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A way to an MCP server: the streams of a session, and whether there is an end to them.

    Attributes:
        ended: set when nothing more can come; never for a server that is asked anew for each message.
        last_words: returns what the server said last outside of messages; empty for nothing.
    """

    received: Received
    sent: Sent
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    last_words: Callable[[], str] = str


_CHUNK_BYTES = 64 * 1024

# A program that says something on standard output before it is a server, or now and then, is tolerated.
_MAX_BAD_LINES = 100

# Of standard error: enough to understand what went wrong, not enough to fill a log.
_STDERR_LINE_BYTES = 500
_STDERR_LINES_KEPT = 20
_STDERR_LINES_LOGGED = 50

# Where the id of an answer stands: at the beginning as the Python SDK writes it, at the end as others do.
_ID_IN_HEAD = re.compile(rb'\{"jsonrpc": ?"2\.0", ?"id": ?(\d{1,15}),')
_ID_IN_TAIL = re.compile(rb'"id": ?(\d{1,15})(, ?"jsonrpc": ?"2\.0")?\}\s*$')
_TAIL_BYTES = 100


class Complaints:
    """What a process says on standard error: logged up to a bound, the last lines kept to explain its end.

    Args:
        name: whose it is, for the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES_KEPT)
        self._count = 0

    @property
    def last(self) -> str:
        """The last thing it said; empty for nothing."""
        return next((line for line in reversed(self._lines) if line.strip()), "")

    async def read(self, stderr: asyncio.StreamReader) -> None:
        """Read until the end."""
        rest = b""
        while chunk := await stderr.read(_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines[-_STDERR_LINES_KEPT:]:
                self._note(line)
            rest = rest[-_STDERR_LINE_BYTES:]
        self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line[:_STDERR_LINE_BYTES].decode(errors="replace").rstrip()
        if not text:
            return
        self._lines.append(text)
        self._count += 1
        if self._count <= _STDERR_LINES_LOGGED:
            logger.info("plugin_stderr", server=self._name, line=text)


class _Lines:
    """Cuts a stream of bytes into lines, and into what is left of lines that are too long."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        # Head and tail of a line that is too long.
        self._cut: tuple[bytes, bytes] | None = None

    def feed(self, chunk: bytes) -> list[bytes | int | None]:
        """Return whole lines; for one that was too long the id of the answer in it, None if there is none to find."""
        found: list[bytes | int | None] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            found.append(self._end())
        self._add(rest)
        return found

    def _add(self, piece: bytes) -> None:
        if self._cut is not None:
            head, tail = self._cut
            self._cut = head, (tail + piece[-_TAIL_BYTES:])[-_TAIL_BYTES:]
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._max_bytes:
            whole = b"".join(self._parts)
            self._cut = whole[:_TAIL_BYTES], whole[-_TAIL_BYTES:]
            self._parts = []

    def _end(self) -> bytes | int | None:
        cut, line = self._cut, b"".join(self._parts)
        self._parts, self._size, self._cut = [], 0, None
        if cut is None:
            return line
        match = _ID_IN_HEAD.match(cut[0]) or _ID_IN_TAIL.search(cut[1])
        return None if match is None else int(match[1])


@contextlib.asynccontextmanager
async def process_link(process: asyncio.subprocess.Process, *, name: str, max_line_bytes: int) -> AsyncGenerator[Link]:
    """Yield the way to a process. It ends when the process closes its output.

    Args:
        process: with pipes to its input and output; whoever started it ends it.
        name: for the log.
        max_line_bytes: the longest message that is read; the call that a longer one answers gets an error.
    """
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("the process has no pipes")
    complaints = Complaints(name)
    into_session, received = create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_session = create_memory_object_stream[SessionMessage](0)
    link = Link(received=received, sent=sent, last_words=lambda: complaints.last)
    tasks = [
        asyncio.create_task(_receive(process.stdout, into_session, link.ended, name, max_line_bytes)),
        asyncio.create_task(_send(process.stdin, from_session, into_session)),
        asyncio.create_task(complaints.read(process.stderr)),
    ]
    try:
        yield link
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (received, sent, into_session, from_session):
            stream.close()


async def _receive(
    stdout: asyncio.StreamReader,
    into_session: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
    name: str,
    max_line_bytes: int,
) -> None:
    lines, bad = _Lines(max_line_bytes), 0
    with contextlib.ExitStack() as stack:
        stack.callback(ended.set)
        stack.enter_context(contextlib.suppress(ClosedResourceError, BrokenResourceError, ConnectionError))
        stack.enter_context(into_session)
        while chunk := await stdout.read(_CHUNK_BYTES):
            for line in lines.feed(chunk):
                message = _message(line, max_line_bytes)
                if message is not None:
                    await into_session.send(message)
                    continue
                bad += 1
                if bad == 1:
                    logger.warning("plugin_server_said_no_message", server=name)
                if bad > _MAX_BAD_LINES:
                    # It is no server, or none any more; without an end of this it would keep us busy.
                    logger.warning("plugin_server_floods", server=name)
                    return
            # A flood must not keep the others from their turn.
            await asyncio.sleep(0)


def _message(line: bytes | int | None, max_line_bytes: int) -> SessionMessage | None:
    if isinstance(line, int):
        told = f"The answer has more than {max_line_bytes} bytes, which is the limit. Ask for less."
        error = ErrorData(code=INTERNAL_ERROR, message=told)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=line, error=error))
    if line is None:
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _send(
    stdin: asyncio.StreamWriter,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    into_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        async for item in from_session:
            stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await stdin.drain()
    except OSError:
        # It reads no more: to the session that is the end, whatever it may still say.
        into_session.close()
