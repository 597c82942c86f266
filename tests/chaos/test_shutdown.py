"""The server told to stop, at the worst moments: what people see, what is left behind, and that it goes on afterwards.

Real: the server process, the CLI in its sandbox, the gateway, the database, the sockets. The model is scripted and
lives outside the server, as the real one does.
"""

import asyncio
import contextlib
import os
import signal
import sqlite3
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.support.platform import PATIENCE_SECONDS, eventually
from tests.support.server import ChatSocket, Frame, Server, running_server
from tests.support.talking import SESSIONS, answer, ask, event_stream, events, new_session, say, whole_tape
from websockets.exceptions import ConnectionClosed

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.chaos]

type Start = Callable[..., AbstractAsyncContextManager[Server]]

RESTARTING = 1012
# Far longer than any test waits: only a stop ends it.
ENDLESS = "stream 5000 tokens at 20 tokens per second"
# A command that nobody else on this machine runs, so that it is found by its name; each worker has its own.
SLEEP_SECONDS = 60_000 + os.getpid()
# The CLI runs commands that only look around without asking; this is none of them.
ASKS_FIRST = "run bash: python3 -c \"open('proof.txt', 'w').write('ran')\""


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Start:
    """Return a function that runs a server; the keywords are settings."""

    @contextlib.asynccontextmanager
    async def started(**settings: str) -> AsyncGenerator[Server]:
        async with running_scripted_model() as model:
            async with running_server(model.base_url, database_url, tmp_path / "data", **settings) as running:
                yield running

    return started


@pytest.fixture
def sqlite_start(sqlite_url: str, tmp_path: Path) -> Start:
    """Return a function that runs a server on SQLite, for what does not depend on the database."""

    @contextlib.asynccontextmanager
    async def started(**settings: str) -> AsyncGenerator[Server]:
        async with running_scripted_model() as model:
            async with running_server(model.base_url, sqlite_url, tmp_path / "data", **settings) as running:
                yield running

    return started


def tell(server: Server, number: signal.Signals = signal.SIGTERM) -> None:
    assert server.process is not None
    server.process.send_signal(number)


def agents_of(server: Server) -> list[psutil.Process]:
    """Return every process that works for a server, wherever in the tree of processes it hangs."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            told = [*process.cmdline(), process.cwd()]
            if process.pid != os.getpid() and any(str(server.data_dir) in word for word in told):
                found.append(process)
    return found


async def ended_well(server: Server) -> None:
    """Wait for the end of a server that was told to stop, and look for what it should not have left behind."""
    assert server.process is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await server.process.wait() == 0
    _, alive = await asyncio.to_thread(psutil.wait_procs, agents_of(server), timeout=5)
    assert [process.cmdline() for process in alive] == []
    assert list((server.data_dir / "agents").glob("*")) == []


async def until_closed(chat: ChatSocket) -> int:
    """Read a socket to its end and return the close code."""
    try:
        while True:
            await chat.receive()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd is not None else 1006


def results(tape: list[Frame]) -> dict[str, list[str]]:
    """Return the subtypes of the results of every accepted message, by the message's ``client_id``."""
    found: dict[str, list[str]] = {}
    for message in (frame for frame in tape if frame["type"] == "user_message"):
        ends = (frame for frame in tape if frame["type"] == "result" and frame["turn_id"] == message["turn_id"])
        found[message["client_id"]] = [frame["subtype"] for frame in ends]
    return found


def told(chat: ChatSocket) -> list[Frame]:
    """Return what a socket heard about the server stopping."""
    return [
        frame for frame in chat.frames if frame.get("status") == "server_shutting_down" and frame["type"] != "hello"
    ]


async def goes_on(server: Server, session_id: str, after: int, words: str) -> list[Frame]:
    """Start a server on the same data and see that a conversation goes on with what was said before."""
    await server.start()
    async with server.client() as client, server.chat(client, f"?session_id={session_id}&after={after}") as chat:
        assert (await chat.until("hello"))["resume"] == "ok"
        ended = await ask(chat, "what did I tell you earlier?", "afterwards")
        assert ended["subtype"] == "success"
        assert words in answer(chat.frames, ended["turn_id"])
        assert [frame["seq"] for frame in events(chat)] == sorted({frame["seq"] for frame in events(chat)})
        assert events(chat)[0]["seq"] > after
        return await whole_tape(client, session_id)


@pytest.mark.timeout(300)
async def test_streaming_sessions_are_told_interrupted_and_go_on_with_the_next_server(start: Start) -> None:
    async with start(shutdown_grace_seconds="4") as server, AsyncExitStack() as stack:
        client = await stack.enter_async_context(server.client())
        chats = [await stack.enter_async_context(server.chat(client)) for _ in range(3)]
        sessions = [str((await chat.until("hello"))["session_id"]) for chat in chats]
        await ask(chats[0], "remember that the word is heron", "before")
        for chat in chats:
            await say(chat, ENDLESS, "endless")
        await say(chats[0], "say exactly: Never begun.", "queued")
        for chat in chats:
            await chat.until("stream_event")
        tell(server)
        for chat in chats:
            assert await until_closed(chat) == RESTARTING
            (status,) = told(chat)
            assert "seq" in status
            # They saw how it ended before they were sent away.
            assert results(chat.frames)["endless"] == ["interrupted"]
        assert results(chats[0].frames)["queued"] == ["interrupted"]
        await ended_well(server)
        last_seen = events(chats[0])[-1]["seq"]
        tape = await goes_on(server, sessions[0], last_seen, "heron")
        assert results(tape) == {
            "before": ["success"],
            "endless": ["interrupted"],
            "queued": ["interrupted"],
            "afterwards": ["success"],
        }
        assert "Never begun." not in answer(tape)
        shown = answer(chats[0].frames)
        assert answer(frame for frame in tape if frame["seq"] <= last_seen) == shown
        async with server.client() as again:
            for session_id in sessions[1:]:
                assert results(await whole_tape(again, session_id)) == {"endless": ["interrupted"]}


async def test_while_it_drains_a_turn_may_end_and_nothing_new_begins(sqlite_start: Start) -> None:
    async with sqlite_start(shutdown_grace_seconds="120") as server, server.client() as client:
        async with server.chat(client) as chat, server.chat(client) as onlooker:
            session_id = (await chat.until("hello"))["session_id"]
            await onlooker.until("hello")
            await say(chat, ASKS_FIRST, "asks")
            request = await chat.until("permission_request")
            tell(server)
            # Half of the grace period is for turns to end by themselves.
            assert (await chat.until("status", status="server_shutting_down"))["delay_ms"] == 60_000
            # Nothing runs where the other looks on: told, and not written down.
            assert "seq" not in await onlooker.until("status", status="server_shutting_down")

            await chat.send(type="user_message", text="and another thing", client_id="late")
            refused = await chat.until("error")
            assert (refused["code"], refused["client_id"]) == ("server_shutting_down", "late")
            for answered in (
                await client.post(SESSIONS, json={}),
                await client.post(f"{SESSIONS}/{session_id}/messages", json={"text": "late"}),
                await client.get(f"{SESSIONS}/{session_id}"),
            ):
                assert (answered.status_code, answered.json()["code"]) == (503, "server_shutting_down")
                assert int(answered.headers["retry-after"]) > 0
            async with server.chat(client, f"?session_id={session_id}") as newcomer:
                assert await until_closed(newcomer) == RESTARTING
                assert newcomer.frames == []
            assert (await client.get("/api/v1/health/live")).status_code == 200
            await eventually(lambda: says_not_ready(client))

            await chat.send(type="permission_response", request_id=request["request_id"], decision="allow")
            assert await until_closed(chat) == RESTARTING
            assert await until_closed(onlooker) == RESTARTING
        await ended_well(server)
        assert results(chat.frames) == {"asks": ["success"]}
        assert results(await goes_on(server, session_id, events(chat)[-1]["seq"], "proof.txt")) == {
            "asks": ["success"],
            "afterwards": ["success"],
        }


async def says_not_ready(client: httpx2.AsyncClient) -> bool:
    probed = await client.get("/api/v1/health/ready")
    return probed.status_code == 503 and probed.json()["checks"]["sessions"] == "shutting down"


async def test_a_permission_request_that_nobody_answers_is_denied(sqlite_start: Start) -> None:
    async with sqlite_start() as server, server.client() as client, server.chat(client) as chat:
        session_id = (await chat.until("hello"))["session_id"]
        await say(chat, ASKS_FIRST, "asks")
        await chat.until("permission_request")
        tell(server)
        assert await until_closed(chat) == RESTARTING
        await ended_well(server)
        tape = await goes_on(server, session_id, events(chat)[-1]["seq"], "proof.txt")
        (resolved,) = [frame for frame in tape if frame["type"] == "permission_resolved"]
        assert (resolved["decision"], resolved["by"]) == ("deny", "system")
        assert results(tape) == {"asks": ["interrupted"], "afterwards": ["success"]}
        assert list(server.data_dir.glob("workspaces/*/proof.txt")) == []


@pytest.mark.parametrize("isolation", ["bubblewrap", "process"])
async def test_a_running_tool_is_stopped(sqlite_start: Start, isolation: str) -> None:
    async with sqlite_start(isolation=isolation) as server, server.client() as client, server.chat(client) as chat:
        session_id = (await chat.until("hello"))["session_id"]
        await say(chat, f"run bash: sleep {SLEEP_SECONDS}; touch done", "sleeps")
        await eventually(sleep_runs)
        tell(server)
        assert await until_closed(chat) == RESTARTING
        await ended_well(server)
        assert not await sleep_runs()
        tape = await goes_on(server, session_id, events(chat)[-1]["seq"], str(SLEEP_SECONDS))
        assert results(tape) == {"sleeps": ["interrupted"], "afterwards": ["success"]}
        assert len([frame for frame in tape if frame["type"] == "tool_result"]) == 1


async def sleep_runs() -> bool:
    return any(process.info["cmdline"] == ["sleep", str(SLEEP_SECONDS)] for process in psutil.process_iter(["cmdline"]))


async def test_open_event_streams_and_quiet_sockets_do_not_hold_it(sqlite_start: Start) -> None:
    async with sqlite_start(shutdown_grace_seconds="120") as server, server.client() as client:
        session_id = await new_session(client)
        async with (
            event_stream(client, session_id, mode="follow") as stream,
            server.chat(client, f"?session_id={session_id}") as chat,
            server.chat(client, f"?session_id={session_id}") as twin,
        ):
            await asyncio.gather(chat.until("hello"), twin.until("hello"))
            await ask(chat, "say exactly: Something to follow.", "spoken")
            await stream.until("result")
            tell(server)
            for quiet in (chat, twin):
                assert await until_closed(quiet) == RESTARTING
                (status,) = told(quiet)
                assert "seq" not in status
            # Its end is that of a whole answer, not of a broken connection.
            assert [event.name async for event in stream] == ["status"]
        await ended_well(server)
        await server.start()
        async with server.client() as again:
            assert "server_shutting_down" not in [frame.get("status") for frame in await whole_tape(again, session_id)]


@pytest.mark.parametrize(
    ("number", "isolation"),
    [(signal.SIGTERM, "bubblewrap"), (signal.SIGINT, "bubblewrap"), (signal.SIGTERM, "process")],
)
async def test_a_second_signal_ends_even_an_agent_that_does_not_obey(
    sqlite_start: Start, number: signal.Signals, isolation: str
) -> None:
    # Half of the grace period is longer than this test has patience.
    settings = {"shutdown_grace_seconds": "300", "prewarm_pool_size": "0", "isolation": isolation}
    async with sqlite_start(**settings) as server, server.client() as client:
        async with server.chat(client) as chat, server.chat(client) as stubborn:
            sessions = [str((await one.until("hello"))["session_id"]) for one in (chat, stubborn)]
            await say(chat, ENDLESS, "endless")
            await chat.until("stream_event")
            await say(stubborn, f"run bash: sleep {SLEEP_SECONDS}; touch done", "endless")
            await eventually(sleep_runs)
            for process in agents_of(server):
                process.suspend()
            tell(server)
            await chat.until("status", status="server_shutting_down")
            await stubborn.until("status", status="server_shutting_down")
            tell(server, number)
            assert await until_closed(chat) == RESTARTING
            assert await until_closed(stubborn) == RESTARTING
        await ended_well(server)
        assert not await sleep_runs()
        await server.start()
        async with server.client() as again:
            for session_id in sessions:
                assert results(await whole_tape(again, session_id)) == {"endless": ["interrupted"]}


@pytest.mark.parametrize("isolation", ["bubblewrap", "process"])
async def test_ctrl_c_at_a_terminal_reaches_the_server_and_lets_its_agents_finish(
    sqlite_start: Start, isolation: str
) -> None:
    async with sqlite_start(isolation=isolation, shutdown_grace_seconds="120") as server:
        async with server.client() as client, server.chat(client) as chat:
            await chat.until("hello")
            await say(chat, "stream 40 tokens at 20 tokens per second", "short")
            await chat.until("stream_event")
            assert server.process is not None
            # A terminal sends it to the whole group of the command.
            os.killpg(server.process.pid, signal.SIGINT)
            assert await until_closed(chat) == RESTARTING
        await ended_well(server)
        assert results(chat.frames) == {"short": ["success"]}
        assert [frame for frame in chat.frames if frame["type"] == "error"] == []


async def test_told_to_stop_while_it_fills_its_pool(sqlite_start: Start) -> None:
    async with sqlite_start(prewarm_pool_size="3") as server:
        tell(server)
        await ended_well(server)
        assert list(server.data_dir.glob("workspaces/*")) == []


async def test_told_to_stop_while_it_starts(sqlite_start: Start, sqlite_url: str) -> None:
    async with sqlite_start() as server:
        async with server.client() as client, server.chat(client) as chat:
            session_id = (await chat.until("hello"))["session_id"]
            await ask(chat, "remember that the word is heron", "before")
            await say(chat, ENDLESS, "endless")
            await chat.until("stream_event")
            await server.kill()
        # The next server has a turn to close before it takes requests, and cannot write as long as another does.
        writer = sqlite3.connect(sqlite_url.removeprefix("sqlite+aiosqlite:///"), isolation_level=None)
        with contextlib.closing(writer):
            writer.execute("BEGIN IMMEDIATE")
            process = await server.spawn(stderr=PIPE)
            assert process.stderr is not None

            async def no_private_folders() -> bool:
                # It clears away what the killed one has left before it looks at sessions.
                return not list((server.data_dir / "agents").glob("*"))

            async with asyncio.timeout(PATIENCE_SECONDS):
                async for line in process.stderr:
                    if b'"agent_isolation"' in line:
                        break
            await eventually(no_private_folders)
            tell(server)
            rest = asyncio.create_task(process.stderr.read())
            await ended_well(server)
            assert b"stopped_while_starting" in await rest
            writer.execute("ROLLBACK")
        tape = await goes_on(server, session_id, 0, "heron")
        assert results(tape) == {"before": ["success"], "endless": ["interrupted"], "afterwards": ["success"]}


async def test_a_database_that_does_not_answer_does_not_hold_it_for_ever(sqlite_start: Start, sqlite_url: str) -> None:
    async with sqlite_start() as server, server.client() as client:
        async with server.chat(client) as chat:
            session_id = (await chat.until("hello"))["session_id"]
            await say(chat, ENDLESS, "endless")
            await chat.until("stream_event")
            writer = sqlite3.connect(sqlite_url.removeprefix("sqlite+aiosqlite:///"), isolation_level=None)
            with contextlib.closing(writer):
                writer.execute("BEGIN IMMEDIATE")
                tell(server)
                assert server.process is not None
                async with asyncio.timeout(2 * PATIENCE_SECONDS):
                    # 1 if the deadline had to end it. What could not be written is missing until the next start.
                    assert await server.process.wait() in (0, 1)
                _, alive = await asyncio.to_thread(psutil.wait_procs, agents_of(server), timeout=5)
                assert [process.cmdline() for process in alive] == []
        await server.start()
        async with server.client() as again:
            # The claim to the session could not be given back either; the next server waits until it runs out.
            await eventually(lambda: has_results(again, session_id, {"endless": ["interrupted"]}))


async def has_results(client: httpx2.AsyncClient, session_id: str, expected: dict[str, list[str]]) -> bool:
    return results(await whole_tape(client, session_id)) == expected
