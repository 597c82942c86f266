"""A disk that runs full, for real: a server whose data folder and database are on a small file system of their own."""

import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from tests.support.platform import eventually
from tests.support.server import Server, free_port, store_people
from tests.support.talking import SESSIONS, answer, ask, new_session, say, whole_tape

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

DISK_MB = 64
WATERMARK_MB = 16

# A namespace of its own, in which anybody may mount.
_ON_A_SMALL_DISK = 'mount -t tmpfs -o size={size}m small "$1" && cp "$0"/* "$1" && shift && exec "$@"'


class SmallDisk:
    """The file system that the server sees, from outside."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def folder(self) -> Path:
        """The data folder, as the server sees it."""
        assert self._server.process is not None
        return Path(f"/proc/{self._server.process.pid}/root{self._server.data_dir}")

    def leave(self, free_bytes: int) -> None:
        """Fill the disk until so much is free."""
        with (self.folder / "filler").open("wb") as file:
            disk = os.statvfs(self.folder)
            os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize - free_bytes)

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with (self.folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def make_room(self) -> None:
        """Take back what was filled."""
        (self.folder / "filler").unlink()


@pytest.fixture
def database_file(request: pytest.FixtureRequest) -> str:
    """Where the database is, as seen from the data folder."""
    return request.param


@pytest.fixture
async def server(sqlite_url: str, tmp_path: Path, database_file: str, anyio_backend: str) -> AsyncGenerator[Server]:
    """A server whose data folder is a disk of its own."""
    await store_people(sqlite_url)
    seed, disk = tmp_path / "seed", tmp_path / "disk"
    seed.mkdir()
    disk.mkdir()
    for file in tmp_path.glob("test.db*"):
        file.rename(seed / file.name)
    script = _ON_A_SMALL_DISK.format(size=DISK_MB)
    async with running_scripted_model() as model:
        running = Server(
            model_url=model.base_url,
            database_url=f"sqlite+aiosqlite:///{disk / database_file}",
            data_dir=disk,
            port=free_port(),
            settings={"min_free_disk_mb": str(WATERMARK_MB), "isolation": "process"},
            log_file=tmp_path / "server.log",
            command=("unshare", "-rm", "sh", "-c", script, str(seed), str(disk), sys.executable),
        )
        try:
            await running.start()
            yield running
        finally:
            await running.kill()


@pytest.fixture
async def alice(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    async with server.client() as client:
        yield client


async def upload(client: httpx2.AsyncClient, session_id: str) -> httpx2.Response:
    return await client.post(f"{SESSIONS}/{session_id}/attachments", files={"file": ("a.txt", b"x")})


@pytest.mark.parametrize("database_file", ["test.db"], indirect=True)
async def test_below_the_watermark_nothing_begins_what_runs_goes_on_and_room_is_noticed(
    server: Server, alice: httpx2.AsyncClient
) -> None:
    disk = SmallDisk(server)
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await ask(chat, "say exactly: ready", "c0")
        running = await say(chat, "stream 60 tokens at 30 tokens per second", "c1")
        waiting = await say(chat, "say exactly: too late", "c2")
        await chat.until("stream_event", turn_id=running)
        disk.leave((WATERMARK_MB - 1) * 1024 * 1024)

        await chat.send(type="user_message", text="say exactly: no", client_id="c3")
        refusal = await chat.until("error", client_id="c3")
        assert (refusal["code"], refusal["recoverable"]) == ("storage_full", True)
        message = await alice.post(f"{SESSIONS}/{session_id}/messages", json={"text": "no"})
        for refused in (message, await upload(alice, session_id)):
            assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")

        # What ran goes on; what waited does not begin, and is told so.
        assert (await chat.until("result", turn_id=running))["subtype"] == "success"
        assert (await chat.until("error", turn_id=waiting))["code"] == "storage_full"
        assert (await chat.until("result", turn_id=waiting))["subtype"] == "error"
        assert len(answer(chat.frames, running).split()) == 60

        disk.make_room()
        assert (await ask(chat, "say exactly: room again", "c3"))["subtype"] == "success"
        assert (await upload(alice, session_id)).status_code == 201
    tape = await whole_tape(alice, session_id)
    assert [frame["client_id"] for frame in tape if frame["type"] == "user_message"] == ["c0", "c1", "c2", "c3"]


@pytest.mark.parametrize("database_file", ["test.db"], indirect=True)
async def test_a_disk_full_to_the_last_byte_ends_the_turn_with_an_error_once_that_can_be_written(
    server: Server, alice: httpx2.AsyncClient
) -> None:
    disk = SmallDisk(server)
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await ask(chat, "say exactly: ready", "c0")
        turn = await say(chat, "stream 20000 tokens at 4000 tokens per second", "c1")
        await chat.until("stream_event", turn_id=turn)
        disk.fill()
        await eventually(lambda: _something_is_lost(server))
        disk.make_room()
        assert (await chat.until("error", turn_id=turn))["code"] in {"storage_unavailable", "storage_full"}
        result = await chat.until("result", turn_id=turn)
        assert (result["subtype"], result["is_error"]) == ("error", True)
        assert (await ask(chat, "say exactly: alive", "c2"))["subtype"] == "success"
    tape = await whole_tape(alice, session_id)
    assert sum(frame["type"] == "result" and frame["turn_id"] == turn for frame in tape) == 1
    # Whoever watched saw nothing that is not on the tape; deltas are joined there.
    seen = {frame["seq"] for frame in chat.frames if "seq" in frame and frame["type"] != "stream_event"}
    assert seen <= {frame["seq"] for frame in tape}


@pytest.mark.parametrize("database_file", ["../seed/test.db"], indirect=True)
async def test_a_turn_in_which_only_the_agents_disk_ran_full_is_no_success_either(
    server: Server, alice: httpx2.AsyncClient
) -> None:
    disk = SmallDisk(server)
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await ask(chat, "remember that the word is heron", "c0")
        turn = await say(chat, "stream 40 tokens at 20 tokens per second", "c1")
        await chat.until("stream_event", turn_id=turn)
        disk.fill()
        assert (await chat.until("error", turn_id=turn))["code"] == "storage_full"
        result = await chat.until("result", turn_id=turn)
        assert (result["subtype"], result["is_error"]) == ("error", True)
        assert len(answer(chat.frames, turn).split()) == 40
        await chat.until("status", status="idle")
        disk.make_room()
        await ask(chat, "what did I tell you earlier?", "c2")
        assert "heron" in answer(chat.frames)


async def _something_is_lost(server: Server) -> bool:
    assert server.log_file is not None
    return "tape_batch_lost" in server.log_file.read_text()
