"""Runs an ASGI application on a loopback port inside the running event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator
from typing import Any

import uvicorn

# How long requests that are still open get when the listener closes. They belong to agent processes, which end
# before it, so this is only the bound.
_SHUTDOWN_SECONDS = 1


class _QuietServer(uvicorn.Server):
    """A uvicorn server that leaves the process's signal handlers to the main one."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@contextlib.asynccontextmanager
async def serve_on_loopback(app: Any, *, port: int = 0) -> AsyncGenerator[str]:
    """Serve ``app`` on 127.0.0.1 and yield its base address, such as ``http://127.0.0.1:41234``.

    Args:
        app: an ASGI application without a lifespan.
        port: the port, or 0 for a free one.

    Raises:
        OSError: the port is taken.
    """
    # The protocol is named because asyncio turns off Nagle's algorithm only then; without that, headers and body of an
    # answer travel apart and a client's delayed acknowledgement adds 40 ms to each first byte.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
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
        # Bound and listening before the task runs: a client that connects at once waits in the backlog.
        listener.listen(128)
        listener.setblocking(False)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
