"""Requests to addresses that plugins name: what they may not reach, however it is written, is not connected to.

Real: the client, the resolver, and listeners on loopback that stand in for what is inside a network.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from claude_sdk_pattern.isolation.hosts import EgressPolicy, HostPattern
from claude_sdk_pattern.plugins.runtime.guarded_http import guarded_client

pytestmark = pytest.mark.anyio

MAX_BYTES = 1000

# The machine itself, as a resolver of names understands it, and as only a careless one would.
SPELLINGS = [
    *("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1", "127.0.1", "127.255.255.254"),
    *("2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "0", "0.0.0.0"),  # noqa: S104 - nobody listens there
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]"),
]

LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass
class Inside:
    """Somebody who listens, and how often they were reached."""

    port: int
    answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    reached: int = 0


@asynccontextmanager
async def listening() -> AsyncGenerator[Inside]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside.reached += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(inside.answer)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        inside = Inside(port=server.sockets[0].getsockname()[1])
        yield inside


def client(policy: EgressPolicy) -> httpx2.AsyncClient:
    return guarded_client(policy, headers={}, read_seconds=5, max_bytes=MAX_BYTES)


def declared(*hosts: str) -> EgressPolicy:
    return EgressPolicy(hosts=[HostPattern.parse(host) for host in hosts])


def opened(host: str) -> EgressPolicy:
    """Return a policy of somebody who has opened their own machine."""
    return EgressPolicy(hosts=[HostPattern.parse(host)], networks=[ip_network(network) for network in LOOPBACK])


@pytest.mark.parametrize("host", SPELLINGS)
async def test_the_inside_is_not_reached_however_it_is_spelled(host: str) -> None:
    async with listening() as inside, client(declared("example.org", f"localhost:{inside.port}")) as careful:
        with pytest.raises((httpx2.ConnectError, httpx2.InvalidURL)):
            await careful.get(f"http://{host}:{inside.port}/")
        assert inside.reached == 0


@example("localhost@example.org")
@example("example.org@localhost")
@example("example.org#@localhost")
@example("example.org\\@localhost")
@example("example.org%00.localhost")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="lochast.@#\\/:[]%0127xef ", min_size=1, max_size=20))
def test_whatever_stands_in_an_address_nothing_else_is_reached(authority: str) -> None:
    async def attempt() -> None:
        async with listening() as inside, client(declared("nowhere.invalid")) as careful:
            with pytest.raises((httpx2.ConnectError, httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
                await careful.get(f"http://{authority}:{inside.port}/")
            assert inside.reached == 0

    asyncio.run(attempt())


async def test_a_network_that_the_operator_opened_is_reached_by_a_declared_name() -> None:
    async with (
        listening() as inside,
        client(opened(f"localhost:{inside.port}")) as careful,
    ):
        assert (await careful.get(f"http://localhost:{inside.port}/")).text == "hi"
        assert inside.reached == 1


async def test_a_redirect_leads_no_further_than_a_request() -> None:
    async with (
        listening() as inside,
        listening() as outside,
        client(opened(f"localhost:{outside.port}")) as careful,
    ):
        outside.answer = (
            f"HTTP/1.1 302 Found\r\nlocation: http://localhost:{inside.port}/\r\ncontent-length: 0\r\n\r\n".encode()
        )
        with pytest.raises(httpx2.ConnectError, match="not among the hosts"):
            await careful.get(f"http://localhost:{outside.port}/", follow_redirects=True)
        assert (outside.reached, inside.reached) == (1, 0)


async def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that answers first with one address and then with another gets nothing by it."""
    async with (
        listening() as inside,
        client(opened(f"rebound.test:{inside.port}")) as careful,
    ):
        asked: list[str] = []

        async def resolve(host: str, port: int, **options: Any) -> list[Any]:
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "169.254.169.254"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        assert (await careful.get(f"http://rebound.test:{inside.port}/")).text == "hi"
        assert asked == ["rebound.test"]
        with pytest.raises(httpx2.ConnectError, match="not public"):
            await careful.get(f"http://rebound.test:{inside.port}/")
        assert inside.reached == 1


async def test_an_answer_that_does_not_end_is_cut_off() -> None:
    async with (
        listening() as inside,
        client(opened(f"localhost:{inside.port}")) as careful,
    ):
        inside.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_BYTES + 1)
        with pytest.raises(httpx2.ReadError, match="more than 1000 bytes"):
            await careful.get(f"http://localhost:{inside.port}/")
