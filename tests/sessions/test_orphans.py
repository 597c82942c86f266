"""What an agent leaves behind, found by its records. Real: processes, /proc, the CLI in both isolations."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import orjson
import psutil
import pytest
from tests.support.platform import Chat, Platform, eventually, running_platform
from tests.support.processes import agent_processes, runs

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.isolation.launcher import TOKEN_VARIABLE
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.orphans import AgentRecords

pytestmark = pytest.mark.anyio

TOKEN = "csp-of-a-test"
SLEEPER = "exec tail -f /dev/null"


@pytest.fixture
def started() -> Generator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended after the test, whatever became of them."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def start(started: list[subprocess.Popen[bytes]], command: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin", **environment})
    started.append(process)
    return process


def rewrite(folder: Path, **fields: object) -> None:
    """Change what the one record says."""
    (path,) = folder.glob("*.json")
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), **fields}))


async def test_everything_that_carries_a_recorded_token_is_ended_and_nothing_else(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    AgentRecords(tmp_path).add("p1", TOKEN)
    child = f"setsid /bin/sh -c 'echo $$ > {tmp_path}/child; {SLEEPER}' & {SLEEPER}"
    ours = start(started, child, {TOKEN_VARIABLE: TOKEN})
    other = start(started, SLEEPER, {TOKEN_VARIABLE: TOKEN + "-another"})
    unnamed = start(started, SLEEPER, {"SOMETHING": TOKEN})

    async def has_child() -> bool:
        return (tmp_path / "child").exists() and bool((tmp_path / "child").read_text())

    await eventually(has_child)
    await AgentRecords(tmp_path).end_left_behind()
    assert ours.wait(10) == -signal.SIGKILL
    await eventually(lambda: is_gone(int((tmp_path / "child").read_text())))
    assert (other.poll(), unnamed.poll()) == (None, None)
    assert list(tmp_path.glob("*.json")) == []


async def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_a_recorded_process_is_ended_also_when_its_environment_says_nothing(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = start(started, SLEEPER, {})
    records = AgentRecords(tmp_path)
    records.add("p1", TOKEN)
    records.set_pid("p1", process.pid)
    await AgentRecords(tmp_path).end_left_behind()
    assert process.wait(10) == -signal.SIGKILL


async def test_a_number_that_was_given_out_again_is_left_alone(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """The record names this number with another start: the process that had it then is gone."""
    process = start(started, SLEEPER, {})
    records = AgentRecords(tmp_path)
    records.add("p1", TOKEN)
    records.set_pid("p1", process.pid)
    (path,) = tmp_path.glob("*.json")
    rewrite(tmp_path, start_time=orjson.loads(path.read_bytes())["start_time"] - 1)
    await AgentRecords(tmp_path).end_left_behind()
    assert process.poll() is None
    assert list(tmp_path.glob("*.json")) == []


async def test_a_record_from_before_the_machine_was_started_names_nobody(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = start(started, SLEEPER, {})
    records = AgentRecords(tmp_path)
    records.add("p1", TOKEN)
    records.set_pid("p1", process.pid)
    rewrite(tmp_path, boot_id="another start")
    await AgentRecords(tmp_path).end_left_behind()
    assert process.poll() is None


async def test_a_record_that_cannot_be_read_keeps_no_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "p1.json").write_bytes(b'{"token')
    (tmp_path / "p2.json").write_bytes(b'{"unknown": 1}')
    await AgentRecords(tmp_path).end_left_behind()
    assert list(tmp_path.iterdir()) == []


async def test_a_record_tells_nobody_the_token(tmp_path: Path) -> None:
    AgentRecords(tmp_path).add("p1", TOKEN)
    (path,) = tmp_path.iterdir()
    assert TOKEN.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_ending_one_process_leaves_the_others(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    records = AgentRecords(tmp_path)
    processes: list[subprocess.Popen[bytes]] = []
    for name in ("p1", "p2"):
        records.add(name, f"{TOKEN}-{name}")
        processes.append(start(started, SLEEPER, {TOKEN_VARIABLE: f"{TOKEN}-{name}"}))
    await records.end("p1")
    assert processes[0].wait(10) == -signal.SIGKILL
    assert processes[1].poll() is None
    assert [path.stem for path in tmp_path.iterdir()] == ["p2"]


# --- with the CLI -------------------------------------------------------------------------------------------------


@pytest.fixture(params=["bubblewrap", "process"])
async def platform(
    request: pytest.FixtureRequest, sqlite_url: str, tmp_path: Path, anyio_backend: str
) -> AsyncGenerator[Platform]:
    """A platform without a pool, in either isolation."""
    settings = {"isolation": request.param, "prewarm_pool_size": 0}
    async with running_platform(sqlite_url, tmp_path / "data", **settings) as running:
        yield running


async def tool_running(chat: Chat) -> list[psutil.Process]:
    """Have the agent run a command that never ends, and return all its processes."""
    await chat.say("run bash: tail -f /dev/null")
    request = await chat.until_type(events.PermissionRequest)
    await chat.conversation.answer_permission(request.request_id, Answer(decision="allow", by="someone"))

    async def running() -> bool:
        return runs("tail", chat.platform.data_dir)

    await eventually(running)
    return agent_processes(chat.platform.data_dir)


@pytest.mark.cli
async def test_a_killed_agent_leaves_no_shell_in_either_isolation(platform: Platform) -> None:
    async with await platform.chat() as chat:
        tree = await tool_running(chat)
        process = chat.conversation.process
        assert process is not None
        process.kill()
        await chat.until_type(events.Result)
        _, alive = await asyncio.to_thread(psutil.wait_procs, tree, timeout=10)
        assert alive == []
        assert (await chat.ask("say exactly: still here"))[0] == "still here"


@pytest.mark.cli
async def test_a_process_that_has_ended_has_no_record(platform: Platform) -> None:
    records = platform.data_dir / "run" / "agents"
    async with await platform.chat() as chat:
        await chat.ask("say exactly: x")
        (path,) = records.iterdir()
        process = chat.conversation.process
        assert process is not None
        assert (path.stem, orjson.loads(path.read_bytes())["pid"]) == (process.process_id, process.pid)
        await chat.fall_asleep()
        assert list(records.iterdir()) == []
