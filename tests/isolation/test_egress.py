"""The egress proxy, spoken to as an agent would. Real: sockets on this machine, the resolver's own answers.

Names are given addresses by replacing the event loop's resolver: nothing is asked of the network.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import pytest

from claude_sdk_pattern.isolation.egress import EgressProxy, Outcome
from claude_sdk_pattern.isolation.hosts import EgressPolicy, HostPattern

pytestmark = pytest.mark.anyio

ALLOWED = "127.0.0.2"


@dataclass(kw_only=True)
class World:
    """A proxy, a host behind it, and what names lead to. Each address of a name is given out once, then the next."""

    proxy_port: int
    host_port: int
    addresses: dict[str, list[list[str]]]
    outcomes: list[Outcome]
    received: list[bytes] = field(default_factory=list[bytes])

    async def ask(self, request: str) -> bytes:
        """Send the proxy something and return all it answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy_port)
        try:
            writer.write(request.encode())
            writer.write_eof()
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch, anyio_backend: str) -> AsyncGenerator[World]:
    received: list[bytes] = []

    async def host(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(await asyncio.start_server(host, ALLOWED, 0))
        host_port = server.sockets[0].getsockname()[1]
        outcomes: list[Outcome] = []
        proxy = EgressProxy(
            EgressPolicy(
                hosts=[HostPattern.parse(f"*.test:{host_port}"), HostPattern.parse("web.test")],
                networks=[ip_network(f"{ALLOWED}/32")],
            ),
            on_request=outcomes.append,
        )
        listener = socket.create_server(("127.0.0.1", 0))
        stack.enter_context(contextlib.closing(await proxy.listen(listener)))
        found = World(
            proxy_port=listener.getsockname()[1],
            host_port=host_port,
            addresses={},
            outcomes=outcomes,
            received=received,
        )

        async def resolve(name: str, port: int, **_: Any) -> list[Any]:
            answers = found.addresses.get(name)
            if answers is None:
                raise socket.gaierror("no such name")
            chosen = answers.pop(0) if len(answers) > 1 else answers[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in chosen]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        yield found


async def test_a_host_on_the_list_is_reached_through_connect(world: World) -> None:
    world.addresses["api.test"] = [[ALLOWED]]
    answer = await world.ask(f"CONNECT api.test:{world.host_port} HTTP/1.1\r\nHost: x\r\n\r\nhello")
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    assert world.received == [b"hello"]
    assert world.outcomes == ["allowed"]


async def test_a_plain_request_is_passed_on_for_the_host_that_was_checked(world: World) -> None:
    world.addresses["api.test"] = [[ALLOWED]]
    await world.ask(
        f"GET http://api.test:{world.host_port}/path?q=1 HTTP/1.1\r\nHost: other.example\r\n"
        "Proxy-Authorization: Basic eDp5\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n"
    )
    lines = ["GET /path?q=1 HTTP/1.1", f"Host: api.test:{world.host_port}", "Accept: */*", "Connection: close", "", ""]
    assert world.received == ["\r\n".join(lines).encode()]


async def test_a_host_that_is_not_on_the_list_is_refused_by_name(world: World) -> None:
    world.addresses["elsewhere.example"] = [[ALLOWED]]
    for request in ("CONNECT elsewhere.example:443 HTTP/1.1", "GET http://elsewhere.example/ HTTP/1.1"):
        answer = await world.ask(f"{request}\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"elsewhere.example" in answer
    assert world.outcomes == ["refused", "refused"]
    assert world.received == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"],  # noqa: S104
)
async def test_a_name_on_the_list_that_leads_inside_is_refused(world: World, address: str) -> None:
    # Also when one of its addresses is all right.
    for answer in ([address], [ALLOWED, address]):
        world.addresses["api.test"] = [answer]
        said = await world.ask(f"CONNECT api.test:{world.host_port} HTTP/1.1\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 403")
    assert world.received == []


async def test_a_name_that_answers_otherwise_the_second_time_gains_nothing(world: World) -> None:
    world.addresses["api.test"] = [[ALLOWED], ["127.0.0.1"]]
    assert b"200" in await world.ask(f"CONNECT api.test:{world.host_port} HTTP/1.1\r\n\r\n")
    # Looked up once: the second answer is still there, and is for the next request.
    assert world.addresses["api.test"] == [["127.0.0.1"]]
    assert (await world.ask(f"CONNECT api.test:{world.host_port} HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "request_line",
    [f"CONNECT {name}:443 HTTP/1.1" for name in ("127.0.0.1", "[::1]", "2130706433", "localhost", "user@127.0.0.1")],
)
async def test_addresses_cannot_be_named_at_all(world: World, request_line: str) -> None:
    assert (await world.ask(f"{request_line}\r\n\r\n")).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "request_line",
    [
        *("x", "GET / HTTP/1.1", "GET http:// HTTP/1.1", "GET ftp://web.test/ HTTP/1.1"),
        *("CONNECT web.test HTTP/1.1", "CONNECT web.test:x HTTP/1.1", "CONNECT [::1:443 HTTP/1.1"),
    ],
)
async def test_what_is_no_request_to_a_proxy_gets_400(world: World, request_line: str) -> None:
    assert (await world.ask(f"{request_line}\r\n\r\n")).startswith(b"HTTP/1.1 400")


async def test_a_host_that_cannot_be_reached_is_told_as_such(world: World) -> None:
    assert (await world.ask("CONNECT web.test:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 502")
    assert world.outcomes == ["failed"]


async def test_an_endless_head_is_cut_off(world: World) -> None:
    assert (await world.ask("GET http://web.test/ HTTP/1.1\r\nX: " + "x" * 100_000)).startswith(b"HTTP/1.1 431")
