"""Which web pages may talk to this server: the ``Origin`` header against the server's own address and an allowlist.

A browser sends ``Origin`` with every request a page makes to another origin, with every WebSocket handshake and with
every ``POST``; a page cannot forge it. Where it is missing, no page of another origin is asking: it is a program with
a token in hand, or a page of ours that reads. Such requests stand or fall by their token. ``null`` is what sandboxed
frames and local files send, which anybody can make; it is refused.

The server's own origin is what the ``Host`` header says. A page under a foreign name that resolves to this address
counts as our own by that, and gains nothing: cookies and tokens belong to the name they were given to.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import override
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import Response

from claude_sdk_pattern.api.problems import Problem, problem_response

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HTTP_SCHEMES = {"ws": "http", "wss": "https"}


def is_allowed_origin(connection: HTTPConnection, allowed: Iterable[str]) -> bool:
    """Return whether a request or handshake comes from a page that may make it, or from no page at all.

    ``allowed`` are origins besides the server's own, such as ``https://chat.example.com``; there are no wildcards.
    """
    origin = connection.headers.get("origin")
    if origin is None:
        return True
    page = _normal(origin)
    if page is None:
        return False
    scheme, host = connection.url.scheme, connection.headers.get("host", "")
    own = _normal(f"{_HTTP_SCHEMES.get(scheme, scheme)}://{host}")
    return page == own or any(page == _normal(other) for other in allowed)


def origin_not_allowed() -> Problem:
    """Return the answer to a page that may not ask."""
    return Problem(403, "origin_not_allowed", "Origin not allowed", "Pages of this origin may not talk to this server.")


class CrossOriginRequests(CORSMiddleware):
    """The framework's middleware, whose refusals of preflights are problems like all others."""

    @override
    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code < HTTPStatus.BAD_REQUEST:
            return answer
        return problem_response(origin_not_allowed())


def _normal(origin: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port, or ``None`` for what is no origin of a web page."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    default_port = _DEFAULT_PORTS.get(parts.scheme)
    if default_port is None or not parts.hostname or "@" in parts.netloc:
        return None
    if parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, default_port if port is None else port
