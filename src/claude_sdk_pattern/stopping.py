"""Ending the server in good order when it is told to.

The first SIGTERM or SIGINT drains it: nothing new is let in, turns get the grace period, clients are told and then
closed, and everything ends in the reverse of the order in which it was started. A second signal hurries that. A
deadline stands behind it all, since whoever sent the signal will send SIGKILL next.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Generator
from socket import socket
from typing import Final, cast

import structlog
import uvicorn
from fastapi import FastAPI

from claude_sdk_pattern.api.draining import announce_shutdown
from claude_sdk_pattern.api.services import Services

logger = structlog.get_logger(__name__)

OPEN_REQUEST_SECONDS: Final = 2
"""How long answers that are still being sent get once everything is drained."""

STOP_SECONDS: Final = 15.0
"""What stopping may take besides the grace period. An idle server needs less than one."""

# How long readers get to fetch the last events before their connections are closed.
_LAST_EVENTS_SECONDS = 2.0

# What is left after the event loop is threads that nobody waits for any more.
_LEAVE_SECONDS = 2.0


class StoppableServer:
    """Runs an application with its lifespan until a signal comes, and ends it.

    Args:
        app: an application with :class:`Services` as ``app.state.services`` once its lifespan has begun.
        config: of uvicorn, with ``lifespan="off"``.
        grace_seconds: what running turns get; for the deadline only.
    """

    def __init__(self, app: FastAPI, config: uvicorn.Config, *, grace_seconds: float) -> None:
        self._app = app
        self._config = config
        self._grace_seconds = grace_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[None] | None = None
        self._server: _DrainingServer | None = None
        self._deadline = _Deadline()
        self._signals = 0

    def run(self) -> None:
        """Serve until told to stop.

        Raises:
            SystemExit: with code 0 if a signal came before there was anything to end, else with that of a failed start.
        """
        # Not the event loop's handlers: those are gone before the process is.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        with asyncio.Runner(loop_factory=self._config.get_loop_factory()) as runner:
            runner.run(self._live())
        self._deadline.set(_LEAVE_SECONDS, exit_code=0)

    async def _live(self) -> None:
        self._starting = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        try:
            async with self._app.router.lifespan_context(self._app):
                self._server = _DrainingServer(self._config, cast("Services", self._app.state.services))
                await self._server.serve()
        except asyncio.CancelledError:
            if not self._signals:
                raise
            logger.info("stopped_while_starting")

    def _on_signal(self, *_: object) -> None:
        self._signals += 1
        if self._loop is None:
            raise SystemExit(0)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop, self._signals)

    def _stop(self, signals: int) -> None:
        if signals == 1:
            logger.info("stopping")
            self._deadline.set(self._grace_seconds + STOP_SECONDS, exit_code=1)
        elif signals == 2:
            logger.info("stopping_in_a_hurry")
            self._deadline.set(STOP_SECONDS, exit_code=1)
        if self._server is not None:
            self._server.stop()
        elif self._starting is not None and signals == 1:
            self._starting.cancel()


class _DrainingServer(uvicorn.Server):
    """A uvicorn server that closes connections when its sessions have come to rest, and not before."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        # Its own handlers would end connections at once, and raise the signal again at the end.
        yield

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Open the port, and say so."""
        await super().startup(sockets)
        logger.info("listening", host=self.config.host, port=self.config.port)

    def stop(self) -> None:
        """Begin to drain; told again, hurry."""
        if self.should_exit:
            self._services.manager.hurry()
            return
        self.should_exit = True
        announce_shutdown(self._services)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drain with the port still open, so that probes and refusals are answered; then close."""
        services = self._services
        try:
            await services.manager.drain()
            await services.log.flush()
            services.hub.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_EVENTS_SECONDS):
                    await services.hub.wait_deserted()
        finally:
            await super().shutdown(sockets)


class _Deadline:
    """Ends the process when its time is over, whatever keeps it; agent processes die with it."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def set(self, seconds: float, *, exit_code: int) -> None:
        """Replace the deadline by one in so many seconds."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self._expire, [exit_code])
        self._timer.daemon = True
        self._timer.start()

    def _expire(self, exit_code: int) -> None:
        threads = [thread.name for thread in threading.enumerate() if not thread.daemon]
        logger.error("stopping_took_too_long", exit_code=exit_code, threads=threads)
        os._exit(exit_code)
