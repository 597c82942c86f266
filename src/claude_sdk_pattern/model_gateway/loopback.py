"""Runs an ASGI application inside the running event loop: on a loopback port, or on sockets that come and go."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

import uvicorn

# How long requests that are still open get when the listener closes. They belong to agent processes, which end
# before it, so this is only the bound.
_SHUTDOWN_SECONDS = 1


class _QuietServer(uvicorn.Server):
    """A uvicorn server that leaves the process's signal handlers to the main one, and takes sockets while it runs."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_started = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_started.set()

    async def listen(self, listener: socket.socket) -> asyncio.AbstractServer:
        """Answer on a listening socket as well, until what this returns is closed."""

        def make_protocol() -> asyncio.Protocol:
            # As uvicorn makes them for the sockets that it is given at its start.
            make: Any = self.config.http_protocol_class
            return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

        return await asyncio.get_running_loop().create_server(make_protocol, sock=listener)


Listen = Callable[[socket.socket], Awaitable[asyncio.AbstractServer]]
"""Starts to answer on a listening TCP socket, which it then owns."""


@contextlib.asynccontextmanager
async def serving(app: Any) -> AsyncGenerator[Listen]:
    """Serve ``app`` on the sockets that are given to what this yields.

    Args:
        app: an ASGI application without a lifespan.
    """
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        timeout_keep_alive=120,
    )
    server = _QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[]))
    await server.has_started.wait()
    try:
        yield server.listen
    finally:
        server.should_exit = True
        await task


@contextlib.asynccontextmanager
async def serve_on_loopback(app: Any, *, port: int = 0) -> AsyncGenerator[str]:
    """Serve ``app`` on 127.0.0.1 and yield its base address, such as ``http://127.0.0.1:41234``.

    Args:
        app: an ASGI application without a lifespan.
        port: the port, or 0 for a free one.

    Raises:
        OSError: the port is taken.
    """
    async with serving(app) as listen:
        with listening_on_loopback(port) as listener:
            server = await listen(listener)
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.close()


def listening_on_loopback(port: int = 0) -> socket.socket:
    """Return a socket that listens on 127.0.0.1.

    Raises:
        OSError: the port is taken.
    """
    # The protocol is named because asyncio turns off Nagle's algorithm only then; without that, headers and body of an
    # answer travel apart and a client's delayed acknowledgement adds 40 ms to each first byte.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
