"""HTTP as uvicorn speaks it, with bounds on what comes before a request is a request, and refusals as problems.

An application is asked only when the head of a request is complete. Until then a client could send one that never
ends, or none; uvicorn by itself waits for that as long as the client likes.
"""

import asyncio
from asyncio.events import TimerHandle
from typing import Any, Final, override

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from claude_sdk_pattern.api.problems import Problem, problem_response
from claude_sdk_pattern.api.response_headers import HEADERS

MAX_HEADERS: Final = 100
MAX_HEAD_BYTES: Final = 64 * 1024
"""Of the request line and all headers. Browsers stay below 16 KiB."""

HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take, counted from the connection or from its first byte on."""

# Connections that have not yet said what they want, besides those that are served. Probes are among them.
_SPARE_CONNECTIONS: Final = 100

# A server that is full is alive, and whoever watches it has to be able to ask.
_ALWAYS_SERVED: Final = b"/api/v1/health/"

# How long a refused client gets to read why.
_LAST_WORDS_SECONDS: Final = 1.0

_RETRY_AFTER_SECONDS: Final = 5


class _RefusedError(Exception):
    """Ends the parsing of a request that is refused."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection. :func:`bounded_to` makes the class that uvicorn is given."""

    max_connections: int

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = 0
        self._header_bytes = 0
        self._is_in_head = True
        self._head_timer: TimerHandle | None = None
        self._refusal: Problem | None = None
        self._has_answered = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections + _SPARE_CONNECTIONS:
            transport.abort()
            return
        self._begin_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._has_answered:
            # Read and dropped: closing with something unread would take the answer back.
            return
        was_in_head = self._is_in_head
        super().data_received(data)
        if not was_in_head or not self._is_in_head:
            self._head_bytes = 0
            return
        # The parser hands on a header when it is complete, so one without an end has to be noticed here.
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refusal = _too_large()
            self.send_400_response("")

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        if not self._is_in_head:
            self._begin_head()

    @override
    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_head(len(url))

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count_head(len(name) + len(value))

    @override
    def on_headers_complete(self) -> None:
        self._end_head()
        if len(self.connections) > self.max_connections and not self.url.startswith(_ALWAYS_SERVED):
            self._refusal = Problem(
                503,
                "server_full",
                "The server is full",
                "The server has as many connections as it takes. Try again in a moment.",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
            raise _RefusedError
        super().on_headers_complete()

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer a request that is none, or whose parsing was ended by us, and close the connection."""
        if self._has_answered or self.transport.is_closing():
            return
        self._has_answered = True
        self._end_head()
        problem = self._refusal or Problem(400, "bad_request", "Bad request", "This is not a request as HTTP has them.")
        response = problem_response(problem)
        lines = [STATUS_LINE[problem.status]]
        headers = [*((name.encode(), value.encode()) for name, value in HEADERS.items()), *response.raw_headers]
        lines += [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([*lines, b"connection: close\r\n\r\n", bytes(response.body)]))
        self.transport.write_eof()
        self.loop.call_later(_LAST_WORDS_SECONDS, self.transport.close)

    def _count_head(self, size_bytes: int) -> None:
        self._header_bytes += size_bytes
        if self._header_bytes > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._refusal = _too_large()
            raise _RefusedError

    def _begin_head(self) -> None:
        self._is_in_head = True
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _end_head(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        if self._head_bytes:
            self._refusal = Problem(408, "request_timeout", "Request timeout", "The request did not arrive in time.")
            self.send_400_response("")
        else:
            self.transport.close()


def bounded_to(max_connections: int) -> type[BoundedHttpProtocol]:
    """Return the protocol of a server that has at most so many connections, WebSockets included."""
    return type("BoundedHttpProtocol", (BoundedHttpProtocol,), {"max_connections": max_connections})


def _too_large() -> Problem:
    return Problem(
        431,
        "headers_too_large",
        "Headers too large",
        f"A request has at most {MAX_HEADERS} headers, and {MAX_HEAD_BYTES} bytes of them.",
    )
