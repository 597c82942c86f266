"""Middleware that refuses what nobody means well with: requests under a foreign name, and tokens in addresses."""

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from claude_sdk_pattern.api.problems import Problem, problem_response

# Probes and collectors ask for the address of a machine, by whatever name they have for it, and learn nothing secret.
_ANY_HOST: Final = ("/api/v1/health/", "/metrics")

# What stands in an address ends up in histories and in the logs of every proxy on the way.
_TOKEN_NAMES: Final = frozenset({"token", "access_token", "refresh_token", "jwt", "api_key", "authorization"})

_MAX_QUERY_BYTES: Final = 8192


class RequestChecks:
    """Looks at where a request or handshake was sent to.

    Args:
        hosts: names under which the server may be asked for, without ports. Empty: any name.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, or answer in the application's place."""
        if scope["type"] not in {"http", "websocket"}:
            return await self._app(scope, receive, send)
        problem = self._problem(scope)
        if problem is None:
            return await self._app(scope, receive, send)
        return await problem_response(problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> Problem | None:
        if not scope["path"].startswith(_ANY_HOST) and not self._is_ours(Headers(scope=scope).get("host", "")):
            return Problem(
                421,
                "host_not_allowed",
                "Not this server's name",
                "This server is not asked for by this name. Its operator names it in CLAUDE_SDK_PATTERN_ALLOWED_HOSTS.",
            )
        if scope["path"].startswith(("/api/", "/ws/")) and _names_a_token(scope["query_string"]):
            return Problem(
                400,
                "token_in_url",
                "Token in the address",
                "A token must not stand in an address: send it as `Authorization: Bearer`, or ask "
                "`POST /api/v1/auth/ticket` for a ticket and send that.",
            )
        return None

    def _is_ours(self, host: str) -> bool:
        if not self._hosts:
            return True
        name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
        return name.lower() in self._hosts or ("localhost" in self._hosts and _is_loopback(name))


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _names_a_token(query: bytes) -> bool:
    names = (name.lower() for name, _ in parse_qsl(query[:_MAX_QUERY_BYTES].decode("latin-1"), keep_blank_values=True))
    return not _TOKEN_NAMES.isdisjoint(names)
