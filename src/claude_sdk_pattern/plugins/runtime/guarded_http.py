"""HTTP for MCP servers at an address: to the declared hosts only, at the address that was looked at, with bounds."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncGenerator
from typing import override

import httpx2

from claude_sdk_pattern.isolation.hosts import EgressPolicy

_DEFAULT_PORTS = {"http": 80, "https": 443}

# To connect and to send. An answer may take as long as a call, which has its own limit.
_TIMEOUT_SECONDS = 15.0


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Looks each name up once, checks every address it leads to, and connects to one of these and no other.

    So a name that answers otherwise the second time gains nothing, nor does a redirect, which is a request like any
    other. The server's own proxy settings are not used.

    Args:
        policy: what may be reached.
        max_bytes: the longest answer that is no event stream.
    """

    def __init__(self, policy: EgressPolicy, *, max_bytes: int) -> None:
        self._policy = policy
        self._max_bytes = max_bytes
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            httpx2.ConnectError: the policy does not allow the host, or its name leads somewhere else or nowhere.
            httpx2.UnsupportedProtocol: it is no address of the web.
        """
        if request.url.scheme not in _DEFAULT_PORTS:
            raise httpx2.UnsupportedProtocol(f"{request.url.scheme!r} is neither http nor https")
        host, port = request.url.host, request.url.port or _DEFAULT_PORTS[request.url.scheme]
        if not self._policy.allows_host(host, port):
            raise httpx2.ConnectError(f"{host}:{port} is not among the hosts that the plugin declares")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{host} cannot be looked up: {error}") from error
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        if not addresses or not all(map(self._policy.allows_address, addresses)):
            raise httpx2.ConnectError(f"{host}:{port} leads to an address that is not public")
        # The Host header is there already; the certificate has to be the name's.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=str(addresses[0]))
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = response.stream
            if isinstance(stream, httpx2.AsyncByteStream):
                response.stream = _Bounded(stream, self._max_bytes)
        return response

    @override
    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    @override
    async def __aiter__(self) -> AsyncGenerator[bytes]:
        count = 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > self._max_bytes:
                raise httpx2.ReadError(f"the answer has more than {self._max_bytes} bytes")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


def guarded_client(
    policy: EgressPolicy, *, headers: dict[str, str], read_seconds: float, max_bytes: int
) -> httpx2.AsyncClient:
    """Return a client that reaches what ``policy`` allows and nothing else."""
    return httpx2.AsyncClient(
        transport=GuardedTransport(policy, max_bytes=max_bytes),
        headers=headers,
        timeout=httpx2.Timeout(_TIMEOUT_SECONDS, read=read_seconds),
        trust_env=False,
    )
