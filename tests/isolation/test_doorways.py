"""Doors that launchers hand to the server. Real: unix socket, descriptors, listening sockets; no namespace."""

import asyncio
import os
import socket
from pathlib import Path

import pytest
from tests.support.platform import eventually

from claude_sdk_pattern.isolation.doorways import Doorways

pytestmark = pytest.mark.anyio


async def greeting(listener: socket.socket) -> asyncio.AbstractServer:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        writer.close()

    return await asyncio.start_server(greet, sock=listener)


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def hand_over(doorways: Doorways, name: str, *doors: socket.socket) -> None:
    """Do as the launcher does."""
    folder = os.open(doorways.folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(f"/proc/self/fd/{folder}/doorway")
        socket.send_fds(sender, [name.encode()], [door.fileno() for door in doors])
    os.close(folder)


async def said_at(door: socket.socket) -> bytes:
    reader, writer = await asyncio.open_connection(*door.getsockname())
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


async def test_the_server_answers_at_a_door_that_was_handed_over(tmp_path: Path) -> None:
    # Longer than the path of a unix socket may be.
    doorways = Doorways(tmp_path / ("x" * 120), [greeting])
    async with doorways.running():
        doorways.expect("p1")
        with listening() as door:
            hand_over(doorways, "p1", door)
            await doorways.opened("p1")
            assert await said_at(door) == b"hello\n"


async def test_nobody_answers_once_the_process_has_ended(tmp_path: Path) -> None:
    doorways = Doorways(tmp_path, [greeting])
    async with doorways.running():
        doorways.expect("p1")
        door = listening()
        hand_over(doorways, "p1", door)
        await doorways.opened("p1")
        address = door.getsockname()
        door.close()
        doorways.close("p1")
        # As nobody has it open any more, the port is free.
        socket.create_server(address).close()


@pytest.mark.parametrize(("name", "count"), [("stranger", 1), ("p1", 2), ("p1", 0)])
async def test_doors_that_nobody_waits_for_are_closed(tmp_path: Path, name: str, count: int) -> None:
    doorways = Doorways(tmp_path, [greeting])
    async with doorways.running():
        doorways.expect("p1")
        doors = [listening() for _ in range(count)]
        hand_over(doorways, name, *doors)
        for door in doors:
            address = door.getsockname()
            door.close()

            async def closed(address: tuple[str, int] = address) -> bool:
                return is_free(address)

            await eventually(closed)
        # What comes after it is taken in as if nothing had been.
        with listening() as door:
            hand_over(doorways, "p1", door)
            await doorways.opened("p1")
            assert await said_at(door) == b"hello\n"


def is_free(address: tuple[str, int]) -> bool:
    try:
        socket.create_server(address).close()
    except OSError:
        return False
    return True


async def test_a_door_that_cannot_be_answered_is_told_to_whoever_waits(tmp_path: Path) -> None:
    async def refusing(listener: socket.socket) -> asyncio.AbstractServer:
        listener.close()
        raise OSError("no")

    doorways = Doorways(tmp_path, [refusing])
    async with doorways.running():
        doorways.expect("p1")
        with listening() as door:
            hand_over(doorways, "p1", door)
            with pytest.raises(OSError, match="no"):
                await doorways.opened("p1")


async def test_only_the_servers_user_gets_to_the_doorway(tmp_path: Path) -> None:
    doorways = Doorways(tmp_path / "doors", [greeting])
    async with doorways.running():
        assert doorways.folder.stat().st_mode & 0o777 == 0o700
