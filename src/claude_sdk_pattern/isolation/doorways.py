"""Doors: the sockets inside agents' network namespaces on which the server answers.

An agent has a network namespace of its own with nothing in it but a loopback interface. Before its program starts, the
launcher (:mod:`claude_sdk_pattern.isolation.enter`) makes listening sockets in there and sends them to the server over
a unix socket, and the server accepts on them like on any other. So nothing forwards bytes, and what the agent speaks to
is no further away than on the host's loopback.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

logger = structlog.get_logger(__name__)

Door = Callable[[socket.socket], Awaitable[asyncio.AbstractServer]]
"""Starts to answer on a listening socket, which it then owns."""

# A process id and nothing else.
_MAX_MESSAGE_BYTES = 256

# The gateway and the egress proxy.
_MAX_DOORS = 2

_SOCKET_NAME = "doorway"


@dataclass(slots=True)
class _Expected:
    """A process that is starting or runs. ``opened`` ends when its doors are answered, or raises why they are not."""

    doors: Sequence[Door]
    servers: list[asyncio.AbstractServer] = field(default_factory=list[asyncio.AbstractServer])
    opened: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Doorways:
    """Takes in the doors of agent processes and sees to it that they are answered while their process lives.

    Args:
        folder: where its socket is made; only the server's user may get there.
        doors: who answers, in the order of the ports that the launcher listens on, unless a process has its own.
    """

    def __init__(self, folder: Path, doors: Sequence[Door]) -> None:
        self.folder = folder
        self._doors = doors
        self._expected: dict[str, _Expected] = {}
        self._opening: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Take doors in, until the end."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        (self.folder / _SOCKET_NAME).unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as receiver:
            # Through the descriptor, because the path of a unix socket may have 107 bytes only.
            folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
            try:
                receiver.bind(f"/proc/self/fd/{folder}/{_SOCKET_NAME}")
            finally:
                os.close(folder)
            loop.add_reader(receiver.fileno(), self._receive, receiver)
            try:
                yield
            finally:
                loop.remove_reader(receiver.fileno())
                await asyncio.gather(*self._opening, return_exceptions=True)
                for process_id in list(self._expected):
                    self.close(process_id)

    def expect(self, process_id: str, doors: Sequence[Door] | None = None) -> None:
        """Note that a process is about to start; doors of others are not taken in. ``doors`` are its own."""
        self._expected[process_id] = _Expected(doors=self._doors if doors is None else doors)

    async def opened(self, process_id: str) -> None:
        """Wait until the doors of an expected process, whose launcher has run, are answered.

        Raises:
            OSError: they cannot be.
        """
        await asyncio.shield(self._expected[process_id].opened)

    def close(self, process_id: str) -> None:
        """Answer no more, because the process has ended; one that was not expected is fine."""
        expected = self._expected.pop(process_id, None)
        if expected is not None:
            expected.opened.cancel()
            for server in expected.servers:
                server.close()

    def _receive(self, receiver: socket.socket) -> None:
        with suppress(BlockingIOError):
            # Room for one more, so that too many are noticed: the kernel closes what finds none.
            message, descriptors, _, _ = socket.recv_fds(receiver, _MAX_MESSAGE_BYTES, _MAX_DOORS + 1)
            sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
            expected = self._expected.get(message.decode(errors="replace"))
            if expected is None or expected.servers or len(sockets) != len(expected.doors):
                logger.warning("unexpected_doors", count=len(sockets))
                for found in sockets:
                    found.close()
                return
            task = asyncio.create_task(self._open(expected, sockets))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, expected: _Expected, sockets: Sequence[socket.socket]) -> None:
        try:
            for door, listener in zip(expected.doors, sockets, strict=True):
                listener.setblocking(False)
                expected.servers.append(await door(listener))
        except OSError as error:
            if not expected.opened.done():
                expected.opened.set_exception(error)
        else:
            if expected.opened.cancelled():
                # The process ended meanwhile.
                for server in expected.servers:
                    server.close()
            else:
                expected.opened.set_result(None)
