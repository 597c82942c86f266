"""Run the scripted model inside the current process, for demo mode, tests and benchmarks."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass

import uvicorn

from claude_sdk_pattern.model_gateway.scripted.loader import Scenarios, load_scenarios
from claude_sdk_pattern.model_gateway.scripted.server import ReceivedRequest, ScriptedApp, create_scripted_app

LOOPBACK = "127.0.0.1"
_SHUTDOWN_SECONDS = 1
"""Answers still hanging after this are cut off; nobody waits for a scripted one."""


@dataclass(frozen=True, kw_only=True)
class ScriptedModel:
    """A running scripted model."""

    base_url: str
    """What ``ANTHROPIC_BASE_URL`` is set to, without a slash at the end."""

    app: ScriptedApp

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The latest requests, oldest first; how many is bounded (``server.KEPT_REQUESTS``)."""
        return list(self.app.requests)

    async def wait_for_request(
        self, wanted: Callable[[ReceivedRequest], bool] = lambda _: True, timeout_seconds: float = 10
    ) -> ReceivedRequest:
        """Return the first request that ``wanted`` accepts, come or yet to come. Raises TimeoutError."""
        return await self.app.wait_for_request(wanted, timeout_seconds)


@contextlib.asynccontextmanager
async def running_scripted_model(port: int = 0, scenarios: Scenarios | None = None) -> AsyncGenerator[ScriptedModel]:
    """Serve on loopback from the current event loop while the block runs.

    ``port`` 0 takes a free one; ``scenarios`` None means the packaged ones. Raises OSError when the port is taken and
    ScenarioError when a scenario file is wrong.
    """
    app = create_scripted_app(load_scenarios() if scenarios is None else scenarios)
    with socket.create_server((LOOPBACK, port), backlog=1024) as listener:
        server = _QuietServer(app)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await _first_done(server, serving)
            yield ScriptedModel(base_url=f"http://{LOOPBACK}:{listener.getsockname()[1]}", app=app)
        finally:
            server.should_exit = True
            await serving


async def _first_done(server: "_QuietServer", serving: asyncio.Task[None]) -> None:
    ready = asyncio.create_task(server.ready.wait())
    await asyncio.wait({ready, serving}, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if serving.done():
        await serving


class _QuietServer(uvicorn.Server):
    """uvicorn as a guest in another program: it says when it is ready and leaves signals and logging alone."""

    def __init__(self, app: ScriptedApp) -> None:
        # Streams that are cut on purpose would be logged as errors: critical silences them.
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                access_log=False,
                log_config=None,
                log_level="critical",
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
