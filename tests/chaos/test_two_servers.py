"""Several servers on one database, one of which is killed or put to sleep while it works on a session.

Real: the server processes, each with its own data folder, PostgreSQL (and SQLite where one folder is enough), the CLI
in both isolations, the gateway, the WebSocket. The model is scripted and lives outside the servers.
"""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.support.platform import eventually
from tests.support.processes import agent_processes, runs
from tests.support.server import ChatSocket, Frame, Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.chaos, pytest.mark.timeout(300)]

LEASE_SECONDS = "3"
ENDLESS = "stream 20000 tokens at 50 tokens per second"


@pytest.fixture
async def model_url(anyio_backend: str) -> AsyncGenerator[str]:
    """Address of a scripted model."""
    async with running_scripted_model() as model:
        yield model.base_url


@pytest.fixture
async def first(model_url: str, postgresql_url: str, tmp_path: Path) -> AsyncGenerator[Server]:
    """A server on PostgreSQL."""
    folder = tmp_path / "first"
    async with running_server(model_url, postgresql_url, folder, lease_seconds=LEASE_SECONDS) as server:
        yield server


@pytest.fixture
async def second(first: Server, tmp_path: Path) -> AsyncGenerator[Server]:
    """Another server on the same database."""
    async with first.beside(tmp_path / "second") as server:
        yield server


async def new_session(client: httpx2.AsyncClient) -> str:
    return (await client.post("/api/v1/sessions", json={})).raise_for_status().json()["id"]


async def send(client: httpx2.AsyncClient, session_id: str, text: str) -> httpx2.Response:
    return await client.post(f"/api/v1/sessions/{session_id}/messages", json={"text": text})


async def tape(client: httpx2.AsyncClient, session_id: str) -> list[Frame]:
    page = await client.get(f"/api/v1/sessions/{session_id}/messages", params={"limit": 1000})
    return page.raise_for_status().json()["items"]


async def ask(chat: ChatSocket, text: str, client_id: str) -> str:
    """Send a message until it is taken, and return the answer."""
    while True:
        await chat.send(type="user_message", text=text, client_id=client_id)
        frame = await chat.receive()
        while frame.get("client_id") != client_id:
            frame = await chat.receive()
        if frame["type"] == "user_message":
            break
        assert frame["code"] == "session_elsewhere"
        assert 0 < frame["retry_after_ms"] <= 1000 * int(LEASE_SECONDS)
        await asyncio.sleep(0.1)  # as a client does that was told to come back
    await chat.until("result", turn_id=frame["turn_id"])
    return " ".join(f["content"] for f in chat.frames if f["type"] == "text" and f["turn_id"] == frame["turn_id"])


async def begin_endless_turn(chat: ChatSocket) -> str:
    await chat.send(type="user_message", text=ENDLESS, client_id="endless")
    await chat.until("stream_event")
    return next(frame["turn_id"] for frame in chat.frames if frame.get("client_id") == "endless")


async def test_a_busy_session_is_read_and_not_changed_through_another_server(first: Server, second: Server) -> None:
    async with first.client() as here, second.client() as there:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            await begin_endless_turn(chat)
            refused = [
                await send(there, session_id, "say exactly: no"),
                await there.patch(f"/api/v1/sessions/{session_id}", json={"title": "no"}),
                await there.delete(f"/api/v1/sessions/{session_id}"),
                await there.post(f"/api/v1/sessions/{session_id}/interrupt"),
            ]
            for answer in refused:
                assert (answer.status_code, answer.json()["code"]) == (409, "session_elsewhere")
                assert 1 <= int(answer.headers["retry-after"]) <= int(LEASE_SECONDS)
            async with second.chat(there, f"?session_id={session_id}") as guest:
                await guest.until("user_message", client_id="endless")
                await guest.send(type="user_message", text="no", client_id="refused")
                error = await guest.until("error", client_id="refused")
                assert (error["code"], error["recoverable"]) == ("session_elsewhere", True)
            await chat.send(type="interrupt")
            await chat.until("result")
        assert [frame["client_id"] for frame in await tape(there, session_id) if frame["type"] == "user_message"] == [
            "endless"
        ]


async def test_a_closed_session_goes_on_through_another_server_at_once(first: Server, second: Server) -> None:
    """The first server is stopped in good order, which gives its sessions back."""
    async with first.client() as here, second.client() as there:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            await ask(chat, "remember that the word is heron", "1")
        assert (await send(there, session_id, "say exactly: no")).status_code == 409
        await first.stop()
        async with second.chat(there, f"?session_id={session_id}") as chat:
            await chat.send(type="user_message", text="what did I tell you earlier?", client_id="2")
            frame = await chat.until("user_message", client_id="2")
            await chat.until("result", turn_id=frame["turn_id"])
        answers = [f["content"] for f in chat.frames if f["type"] == "text" and f["turn_id"] == frame["turn_id"]]
        assert "heron" in " ".join(answers)


async def test_a_killed_servers_session_is_taken_over_its_turn_closed_and_its_past_remembered(
    first: Server, second: Server
) -> None:
    async with first.client() as here, second.client() as there:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            await ask(chat, "remember that the word is heron", "1")
            turn_id = await begin_endless_turn(chat)
            shown = [frame["seq"] for frame in chat.frames if "seq" in frame]
            left = agent_processes(first.data_dir)
            assert left
            await first.kill()
        async with second.chat(there, f"?session_id={session_id}") as chat:
            assert "heron" in await ask(chat, "what did I tell you earlier?", "3")
            ends = [frame for frame in chat.frames if frame["type"] == "result" and frame["turn_id"] == turn_id]
            assert [end["subtype"] for end in ends] == ["interrupted"]
            numbers = [frame["seq"] for frame in chat.frames if "seq" in frame]
            assert numbers == sorted(set(numbers))
            assert max(numbers) > max(shown)
        _, alive = await asyncio.to_thread(psutil.wait_procs, left, timeout=10)
        assert alive == []
        # The first comes back, and has to wait for its turn like anybody else.
        await first.start()
        async with first.client() as back:
            assert (await send(back, session_id, "say exactly: no")).status_code == 409
            assert (await tape(back, session_id))[-1]["seq"] >= numbers[-1]


async def test_turns_of_a_killed_server_are_closed_without_anybody_asking(first: Server, second: Server) -> None:
    async with first.client() as here, second.client() as there:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            turn_id = await begin_endless_turn(chat)
            await first.kill()
        async with second.chat(there, f"?session_id={session_id}") as watching:
            result = await watching.until("result", turn_id=turn_id)
            assert result["subtype"] == "interrupted"
        # Nobody holds it any more: it is free for all.
        assert (await send(there, session_id, "say exactly: free")).status_code == 202


async def test_a_server_that_was_asleep_writes_nothing_more_and_ends_its_agent(first: Server, second: Server) -> None:
    """Stopped for longer than its lease, in the middle of a flood of tokens, and woken when another has taken over."""
    async with first.client() as here, second.client() as there:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            await ask(chat, "remember that the word is heron", "1")
            turn_id = await begin_endless_turn(chat)
            first.send_signal(signal.SIGSTOP)
            async with second.chat(there, f"?session_id={session_id}") as other:
                assert "heron" in await ask(other, "what did I tell you earlier?", "3")
                before = agent_processes(first.data_dir)
                first.send_signal(signal.SIGCONT)
                # Whoever watched at the first is sent away, to come back for what the second wrote.
                await asyncio.wait_for(chat.socket.wait_closed(), 30)
                assert chat.socket.close_code == 1012

                async def ended() -> bool:
                    # All but what the pool keeps for other sessions, whose processes the lease is nothing to.
                    gone = [process for process in before if not process.is_running()]
                    return len(gone) > 0 and (await send(here, session_id, "no")).status_code == 409

                await eventually(ended)
                assert "heron" in await ask(other, "what did I tell you earlier?", "4")
                shown = [frame for frame in other.frames if "seq" in frame]
        stored = await tape(there, session_id)
        # What the second showed is what is there: nothing was put in between or behind by the first.
        last = {frame["seq"]: frame for frame in stored}
        assert all(last.get(f["seq"]) == f for f in shown if f["type"] != "stream_event")
        until = shown[-1]["seq"]
        assert {f["seq"] for f in stored if f["seq"] <= until and f["type"] != "stream_event"} <= {
            f["seq"] for f in shown
        }
        assert [f["subtype"] for f in stored if f["type"] == "result" and f["turn_id"] == turn_id] == ["interrupted"]
        # The first is in good order otherwise.
        async with first.chat(here) as fresh:
            assert await ask(fresh, "say exactly: well", "1") == "well"


async def test_a_session_moves_there_and_back_and_its_workspace_does_not(first: Server, second: Server) -> None:
    """Workspaces are folders of a machine: elsewhere the agent starts with an empty one and its whole memory."""
    async with first.client() as here:
        session_id = await new_session(here)
        async with first.chat(here, f"?session_id={session_id}") as chat:
            await ask(chat, "write file kept.txt with text kept", "1")
        (workspace,) = [path for path in (first.data_dir / "workspaces").iterdir() if any(path.iterdir())]
        await first.stop()
    async with second.client() as there:
        async with second.chat(there, f"?session_id={session_id}") as chat:
            await ask(chat, "what did I tell you earlier?", "2")
        assert list((second.data_dir / "workspaces" / workspace.name).iterdir()) == []
        await first.start()
        assert any(workspace.iterdir())


# --- one folder -----------------------------------------------------------------------------------------------------


async def test_a_second_server_on_the_data_folder_does_not_start(
    model_url: str, sqlite_url: str, tmp_path: Path
) -> None:
    async with running_server(model_url, sqlite_url, tmp_path / "data") as server:
        environment = {
            "CLAUDE_SDK_PATTERN_DB_URL": sqlite_url,
            "CLAUDE_SDK_PATTERN_DATA_DIR": str(server.data_dir),
            "CLAUDE_SDK_PATTERN_SECRET_KEY": "x" * 32,
            "ANTHROPIC_API_KEY": "none",
        }
        command = [sys.executable, "-c", "from claude_sdk_pattern.cli import app; app()", "serve"]
        refused = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        assert refused.returncode == 1
        assert server.process is not None
        assert f"in use by another server (process {server.process.pid})" in refused.stderr
        async with server.client() as client:
            assert (await client.get("/api/v1/health/ready")).status_code == 200


@pytest.mark.parametrize("isolation", ["bubblewrap", "process"])
async def test_a_server_killed_again_and_again_in_a_tool_leaves_nothing(
    model_url: str, sqlite_url: str, tmp_path: Path, isolation: str
) -> None:
    async with running_server(model_url, sqlite_url, tmp_path / "data", isolation=isolation) as server:
        session_id = ""
        for number in range(5):
            async with server.client() as client:
                session_id = session_id or await new_session(client)
                async with server.chat(client, f"?session_id={session_id}") as chat:
                    await chat.send(type="user_message", text="run bash: tail -f /dev/null", client_id=f"{number}")
                    opened = await chat.until("user_message", client_id=f"{number}")
                    request = await chat.until("permission_request", turn_id=opened["turn_id"])
                    await chat.send(type="permission_response", request_id=request["request_id"], decision="allow")

                    async def running() -> bool:
                        return runs("tail", server.data_dir)

                    await eventually(running)
                    left = agent_processes(server.data_dir)
                    await server.kill()
            # Without a namespace the shells live on until the next server finds them.
            await server.start()
            _, alive = await asyncio.to_thread(psutil.wait_procs, left, timeout=10)
            assert alive == []
            async with server.client() as client:
                frames = await tape(client, session_id)
            turns = [frame["turn_id"] for frame in frames if frame["type"] == "user_message"]
            results = [(frame["turn_id"], frame["subtype"]) for frame in frames if frame["type"] == "result"]
            assert results == [(turn_id, "interrupted") for turn_id in turns]
        await server.stop()
        assert agent_processes(server.data_dir) == []
        for kept in ("agents", "tmp"):
            assert list((server.data_dir / "run" / kept).iterdir()) == []
        assert not (server.data_dir / "agents").exists() or list((server.data_dir / "agents").iterdir()) == []
