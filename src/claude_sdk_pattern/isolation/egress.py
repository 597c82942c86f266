"""The egress proxy: the one way from an agent to hosts that the operator has opened, and to nothing else.

It speaks what every HTTP client speaks to a proxy: CONNECT for TLS, and requests with a whole address for plain HTTP.
A name is looked up once, here, and the connection goes to an address that was looked at: a name that answers otherwise
the second time gains nothing. What is inside a TLS connection is not looked at.
"""

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import structlog

from claude_sdk_pattern.isolation.hosts import EgressPolicy

logger = structlog.get_logger(__name__)

type Outcome = Literal["allowed", "refused", "failed"]
"""``refused`` by the policy, ``failed`` because the host could not be reached."""

_MAX_HEAD_BYTES = 64 * 1024
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 15.0

# After one side has said its last word, the other may finish; connections that say nothing for long are given up.
_IDLE_SECONDS = 300.0

_CHUNK = 64 * 1024

# What an agent may have open at once. A browser has six to a host.
_MAX_CONNECTIONS = 64

_REQUEST = re.compile(rb"([A-Z]{1,20}) (\S{1,8192}) (HTTP/1\.[01])")
_HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"host:")


class _RefusedError(Exception):
    """A request that is answered here; ``status`` and the message go to the agent."""

    def __init__(self, status: str, message: str, outcome: Outcome = "refused") -> None:
        super().__init__(message)
        self.status = status
        self.outcome: Outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a request wants to go, and what is sent there before the rest is passed on (nothing for CONNECT)."""

    host: str
    port: int
    head: bytes


class EgressProxy:
    """Lets agents through to the hosts of a policy.

    Args:
        policy: which those are.
        on_request: called with the outcome of each request, to be counted.
    """

    def __init__(self, policy: EgressPolicy, *, on_request: Callable[[Outcome], None]) -> None:
        self._policy = policy
        self._on_request = on_request

    async def listen(self, listener: socket.socket) -> asyncio.AbstractServer:
        """Answer on a listening socket, until what this returns is closed."""
        places = asyncio.Semaphore(_MAX_CONNECTIONS)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async with places:
                await self._serve(reader, writer)

        return await asyncio.start_server(serve, sock=listener, limit=_MAX_HEAD_BYTES)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                target = await self._target(reader)
                upstream_reader, upstream = await self._connect(target)
            except _RefusedError as refusal:
                self._on_request(refusal.outcome)
                logger.warning("egress_refused", reason=str(refusal))
                body = f"{refusal}\n".encode()
                writer.write(
                    f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
                return
            self._on_request("allowed")
            logger.info("egress_allowed", host=target.host, port=target.port)
            if target.head:
                upstream.write(target.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _relay((reader, upstream), (upstream_reader, writer))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            # Either side has gone; there is nobody to tell.
            pass
        finally:
            await _close(writer)

    async def _target(self, reader: asyncio.StreamReader) -> _Target:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise _RefusedError("431 Request Header Fields Too Large", "the request's head is too long") from error
        line, *fields = head[:-4].split(b"\r\n")
        found = _REQUEST.fullmatch(line)
        if found is None:
            raise _RefusedError("400 Bad Request", "not a request to a proxy")
        method, address, version = found.groups()
        try:
            parts = urlsplit(f"//{address.decode('ascii')}" if method == b"CONNECT" else address.decode("ascii"))
            host, port = parts.hostname, parts.port or (None if method == b"CONNECT" else 80)
        except ValueError as error:
            raise _RefusedError("400 Bad Request", "the address cannot be read") from error
        if host is None or port is None or (method != b"CONNECT" and parts.scheme != "http"):
            raise _RefusedError("400 Bad Request", "not an address that a proxy can go to")
        if method == b"CONNECT":
            return _Target(host=host, port=port, head=b"")
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        # The host in the address was checked, so it is the one that is asked for; and one request to a connection.
        kept = [field for field in fields if not field.lower().startswith(_HOP_BY_HOP)]
        lines = [b" ".join((method, path.encode(), version)), b"Host: " + parts.netloc.rpartition("@")[2].encode()]
        return _Target(host=host, port=port, head=b"\r\n".join([*lines, *kept, b"Connection: close"]) + b"\r\n\r\n")

    async def _connect(self, target: _Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        name = f"{target.host}:{target.port}"
        if not self._policy.allows_host(target.host, target.port):
            raise _RefusedError("403 Forbidden", f"{name} is not among the hosts that this server opens to agents")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                loop = asyncio.get_running_loop()
                found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
                addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
                # All of them: a name with one address inside the house is not one to trust with the others.
                if not addresses or not all(map(self._policy.allows_address, addresses)):
                    raise _RefusedError("403 Forbidden", f"{name} leads to an address that is not public")
                return await asyncio.open_connection(str(addresses[0]), target.port, limit=_MAX_HEAD_BYTES)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise _RefusedError("502 Bad Gateway", f"{name} cannot be reached", "failed") from error


async def _relay(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for way in ways:
                group.create_task(_pass_on(*way))
    except* (OSError, TimeoutError):
        # One side broke off; the other is told by its connection's end.
        pass
    finally:
        for _, writer in ways:
            await _close(writer)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        async with asyncio.timeout(_IDLE_SECONDS):
            chunk = await reader.read(_CHUNK)
        if not chunk:
            break
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            await writer.wait_closed()
