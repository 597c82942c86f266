"""The attack script, run by the real CLI from inside the agent's own shell.

Real: the server as a process (as root, if that is who runs the tests, and as an ordinary user), the CLI, bubblewrap,
another session with an agent at work, listeners on addresses of this machine that stand in for a database, a metadata
service and the outside. The model is scripted.
"""

import asyncio
import contextlib
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.support.processes import agent_processes
from tests.support.server import ChatSocket, Server, free_port, store_people
from tests.support.talking import SESSIONS, ask, new_session, say
from tests.support.users import as_ordinary_user, give_to_ordinary_user

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(300)]

ATTACK = Path(__file__).parent / "attack.sh"
CANARIES = ("sk-ant-canary-real-key", "canary-signing-key-", "canary-of-the-other-session", "canary-of-the-server")
FILE_LIMIT_MB = 32
PROCESS_LIMIT = 200

# Stand for a database, a metadata service and hosts elsewhere. All of it is this machine.
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.169.254.169")


@pytest.fixture(params=["ordinary user", "as it is"])
async def folder(request: pytest.FixtureRequest, sqlite_url: str) -> AsyncGenerator[tuple[Path, tuple[str, ...]]]:
    """A folder for a server, and what runs its program. Root's tests run it as root and as another user."""
    is_ordinary = request.param == "ordinary user"
    made = Path(tempfile.mkdtemp(prefix="csp-attack-"))
    try:
        made.chmod(0o755)
        shutil.copy(sqlite_url.removeprefix("sqlite+aiosqlite:///"), made / "test.db")
        await store_people(f"sqlite+aiosqlite:///{made / 'test.db'}")
        (made / "outside").mkdir()
        if is_ordinary:
            give_to_ordinary_user(made)
        yield made, as_ordinary_user(sys.executable) if is_ordinary else (sys.executable,)
    finally:
        shutil.rmtree(made)


@contextlib.asynccontextmanager
async def running(folder: tuple[Path, tuple[str, ...]], **settings: str) -> AsyncGenerator[Server]:
    root, command = folder
    async with running_scripted_model() as model:
        server = Server(
            model_url=model.base_url,
            database_url=f"sqlite+aiosqlite:///{root / 'test.db'}",
            data_dir=root / "data",
            port=free_port(),
            command=command,
            settings={
                "prewarm_pool_size": "0",
                "max_agent_file_mb": str(FILE_LIMIT_MB),
                "max_agent_processes": str(PROCESS_LIMIT),
                "agent_tmp_mb": "128",
                "canary": "canary-of-the-server",
                **settings,
            },
        )
        try:
            await server.start()
            yield server
        finally:
            await server.kill()


@pytest.fixture
def listeners() -> Generator[list[str]]:
    """Addresses on which somebody listens."""
    with contextlib.ExitStack() as stack:
        found: list[str] = []
        for address in ADDRESSES:
            listener = stack.enter_context(socket.create_server((address, 0)))
            found.append(f"{address}:{listener.getsockname()[1]}")
        yield found


async def bash(chat: ChatSocket, command: str, client_id: str) -> str:
    """Have the agent run a command, with permission, and return what it printed."""
    turn_id = await say(chat, f"run bash: {command}", client_id)
    while True:
        frame = await chat.until_one_of("permission_request", "tool_result")
        if frame["type"] == "tool_result":
            assert frame["turn_id"] == turn_id
            await chat.until("result", turn_id=turn_id)
            return str(frame["content"])
        await chat.send(type="permission_response", request_id=frame["request_id"], decision="allow")


async def attach(client: httpx2.AsyncClient, session_id: str, name: str, content: bytes) -> str:
    answer = await client.post(f"{SESSIONS}/{session_id}/attachments", files={"file": (name, content)})
    return str(answer.raise_for_status().json()["attachment_id"])


def attempts() -> int:
    """Return how many attempts the script has in it, so that one that stops half-way is noticed."""
    return sum(line.startswith("must_fail ") for line in ATTACK.read_text().splitlines())


def start_time(pid: int) -> str:
    """Return when a process started, in the kernel's own unit."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


async def attack(server: Server, root: Path, listeners: list[str], *, nested: bool = False) -> list[str]:
    """Run the script in one session while another is at work, and return the lines it printed."""
    assert server.process is not None
    with (
        socket.create_server((ADDRESSES[0], 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        ports = [*listeners, f"127.0.0.1:{server.port}", f"127.0.0.1:{tcp.getsockname()[1]}"]
        abstract.bind(f"\0csp-test-{server.port}")
        named.bind(str(root / "host.sock"))
        named.listen()
        abstract.listen()
        async with server.client() as client, server.client("bob") as other:
            victim = await new_session(other)
            async with server.chat(other, f"?session_id={victim}") as chat:
                await ask(chat, "write file secret.txt with canary-of-the-other-session", "c1")
                workspace = Path((await bash(chat, "pwd", "c2")).strip())
                config = Path((await bash(chat, 'echo "$CLAUDE_CONFIG_DIR"', "c3")).strip())
                (victim_pid, *_) = [process.pid for process in agent_processes(server.data_dir)]
                targets = {
                    "VICTIM_WORKSPACE": workspace,
                    "VICTIM_CONFIG": config,
                    "DATA_DIR": server.data_dir,
                    "DATABASE": root / "test.db",
                    "VICTIM_PID": f"{victim_pid}:{start_time(victim_pid)}",
                    "SERVER_PID": f"{server.process.pid}:{start_time(server.process.pid)}",
                    "PORTS": f'"{" ".join(ports)}"',
                    "OUTSIDE": root / "outside",
                    "CANARIES": "attachments/canaries.txt",
                    "ABSTRACT_SOCKET": f"csp-test-{server.port}",
                    "SOCKET": root / "host.sock",
                    "FILE_LIMIT_MB": FILE_LIMIT_MB,
                    # Claude Code's sandbox gives each command a /dev of its own, with no bound that we could set.
                    "FILL": '"/tmp /run"' if nested else '"/tmp /run /dev /dev/shm"',
                    "NESTED": "yes" if nested else "no",
                }
                told = "".join(f"{name}={value}\n" for name, value in targets.items())
                session_id = await new_session(client)
                async with server.chat(client, f"?session_id={session_id}") as attacker:
                    files = [
                        await attach(client, session_id, "attack.sh", ATTACK.read_bytes()),
                        await attach(client, session_id, "targets.txt", told.encode()),
                        await attach(client, session_id, "canaries.txt", "\n".join(CANARIES).encode()),
                    ]
                    await attacker.send(type="user_message", text="say exactly: x", client_id="a1", attachments=files)
                    await attacker.until("result")
                    # Without walls there is a whole machine to look through.
                    attacker.patience_seconds = 200
                    said = await bash(attacker, "bash attachments/attack.sh attachments/targets.txt", "a2")
                # The other session's agent is alive and well.
                assert (await bash(chat, "cat secret.txt", "c4")).strip() == "canary-of-the-other-session"
                assert psutil.pid_exists(victim_pid)
        return said.splitlines()


@pytest.mark.parametrize("command_sandbox", ["false", "true"])
async def test_an_attack_from_the_agents_own_shell_finds_nothing(
    folder: tuple[Path, tuple[str, ...]], listeners: list[str], command_sandbox: str
) -> None:
    root, _ = folder
    async with running(folder, isolation="bubblewrap", sandbox_enabled=command_sandbox) as server:
        lines = await attack(server, root, listeners, nested=command_sandbox == "true")
        assert [line for line in lines if line.startswith("BREACH")] == []
        assert lines[-1] == "finished"
        assert sum(line.startswith("held ") for line in lines) > attempts()
        assert list((root / "outside").iterdir()) == []
        # Nor did the server follow the links that the agent has planted: the copies it keeps hold nothing of theirs.
        kept = [path.read_bytes() for path in (server.data_dir / "checkpoints").rglob("content/*")]
        assert kept
        assert not any(content.startswith(b"SQLite format") for content in kept)


@pytest.mark.parametrize("folder", ["ordinary user"], indirect=True)
async def test_the_same_attack_on_a_plain_process_finds_a_good_deal(
    folder: tuple[Path, tuple[str, ...]], listeners: list[str]
) -> None:
    """What the script would notice if the walls were not there: a test of the test."""
    root, _ = folder
    async with running(folder, isolation="process", sandbox_enabled="false") as server:
        lines = await attack(server, root, listeners)
    breached = {line.split()[1].rstrip(":") for line in lines if line.startswith("BREACH")}
    expected = {"read-other-workspace", "read-other-config", "read-database", "follow-link-to-file", "write-outside"}
    expected |= {"signal-server", "signal-victim", "see-server-process", "have-routes"}
    expected |= {"see-host-socket", "see-abstract-sockets", f"reach-{listeners[0]}", "read-environments"}
    assert expected - breached == set()


async def test_a_fork_bomb_ends_nobody_but_itself(folder: tuple[Path, tuple[str, ...]]) -> None:
    # Bounded: without a limit it is a hundred sleeping processes too many for half a minute.
    bomb = f"for i in $(seq {PROCESS_LIMIT + 100}); do sleep 30 & done; echo survived"
    async with running(folder, isolation="bubblewrap") as server, server.client() as client:
        session_id = await new_session(client)
        async with server.chat(client, f"?session_id={session_id}") as chat:
            turn_id = await say(chat, f"run bash: {bomb}", "c1")
            largest = 0
            while (frame := await chat.until_one_of("permission_request", "result"))["type"] != "result":
                await chat.send(type="permission_response", request_id=frame["request_id"], decision="allow")
                largest = await most_processes(server, PROCESS_LIMIT // 2)
            # bubblewrap's own two are not the agent's.
            assert PROCESS_LIMIT // 2 <= largest <= PROCESS_LIMIT + 2
            assert frame["turn_id"] == turn_id
            await ask(chat, "say exactly: still here", "c2")
            assert any(frame.get("content") == "still here" for frame in chat.frames)


async def most_processes(server: Server, enough: int) -> int:
    """Watch the processes of the agents until there are many and become no more, and return how many there were."""
    seen = -1
    async with asyncio.timeout(60):
        while True:
            now = sum(process.num_threads() for process in agent_processes(server.data_dir))
            if enough <= now <= seen or (seen >= enough and now < seen):
                return max(seen, now)
            seen = max(seen, now)
            await asyncio.sleep(0.5)
