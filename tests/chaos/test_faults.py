"""Faults, each at seeded random moments: the agent killed, the database locked or gone, processes started and killed.

After each: every accepted turn has exactly one result, the tape is in order, a new message works, no process and no
file is left. Real: the CLI, its sandbox, the gateway, the databases. Limits, silence and memory are in
``tests/sessions/test_life_cycle.py``, faults of the model in ``tests/model_gateway``, a killed server beside this file.
"""

import asyncio
import os
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.support.platform import Chat, Platform, eventually, running_platform
from tests.support.postgres import PostgresServer

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.errors import AgentProcessError
from claude_sdk_pattern.sessions.options import AgentProfile

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.chaos]

# More on demand: CHAOS_ROUNDS=20 tries each fault twenty times as often, and starts and kills a thousand processes.
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "1"))


def agents() -> list[psutil.Process]:
    """Return the agent processes of this process, sandboxes and all."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.is_running() and child.status() != psutil.STATUS_ZOMBIE and "bwrap" in " ".join(_command(child))
    ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


async def check(chat: Chat, seed: int) -> None:
    """Hold the tape against what was promised, and see that the session still works."""
    words = f"still here {seed}"
    text, ended = await chat.ask(f"say exactly: {words}")
    assert (text, ended.subtype) == (words, "success"), f"seed {seed}"
    tape = await chat.tape()
    numbers = [item.seq for item in tape]
    assert numbers == sorted(set(numbers)), f"seed {seed}"
    for turn_id in {item.turn_id for item in tape if item.type == "user_message"}:
        ends = [item for item in tape if item.turn_id == turn_id and item.type == "result"]
        assert len(ends) == 1, f"turn {turn_id} ended {len(ends)} times (seed {seed})"


async def nothing_left(data_dir: Path) -> None:
    """See that no agent and no folder of one is left; call when the platform has stopped."""
    assert agents() == []
    assert list((data_dir / "agents").glob("*")) == []


async def whole_platform(url: str, data_dir: Path, during: Callable[[Platform], Awaitable[None]]) -> None:
    async with running_platform(url, data_dir) as platform:
        await platform.services.manager.pool.wait_filled()
        await during(platform)
    await nothing_left(data_dir)


# What the agent does while it is killed, and for how long at most it is left to it.
KILLED_WHILE = {
    "it thinks": ("hang", 0.5),
    "it streams": ("stream 300 tokens at 200 tokens per second", 1.5),
    "it says a very long line": ("long answer of 4000 words", 1.0),
    "a tool runs": ("run a command that takes 30 seconds", 1.0),
    "tools follow each other": ("use several tools at once", 1.0),
}


@pytest.mark.parametrize("moment", KILLED_WHILE)
async def test_the_agent_is_killed_while(moment: str, sqlite_url: str, tmp_path: Path) -> None:
    text, longest = KILLED_WHILE[moment]

    async def killed_again_and_again(platform: Platform) -> None:
        async with await platform.chat() as chat:
            await chat.ask("remember that the word is heron")
            for seed in range(3 * ROUNDS):
                accepted = await chat.say(text)
                await chat.until_status("thinking")
                ending = asyncio.create_task(chat.until_type(events.Result, turn_id=accepted.turn_id))
                moments = random.Random(seed)  # noqa: S311 - the moment is the test
                while not ending.done():
                    # More than once, because a message of which an agent said nothing goes to the next.
                    await asyncio.wait({ending}, timeout=moments.uniform(0, longest))
                    for agent in agents():
                        with suppress(psutil.NoSuchProcess):
                            agent.kill()
                    await asyncio.wait({ending}, timeout=2 + longest)
                ended = ending.result()
                assert ended.subtype in ("interrupted", "success"), f"seed {seed}"
                await check(chat, seed)
            told, _ = await chat.ask("what did I tell you earlier?")
            assert "heron" in told

    await whole_platform(sqlite_url, tmp_path / "data", killed_again_and_again)


@pytest.mark.timeout(600)
async def test_processes_are_started_and_killed_at_random_moments(sqlite_url: str, tmp_path: Path) -> None:
    """Killed at any moment of their start: whoever started them hears of it, and nothing is left."""
    moments = random.Random(7)  # noqa: S311
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_concurrent_starts=4
    ) as platform:
        factory = platform.services.manager.processes
        folders = platform.data_dir / "agents"

        async def start_and_be_killed(delay: float) -> str:
            workspace_id = platform.services.manager.workspaces.create()
            start = asyncio.create_task(
                factory.start_fresh(
                    AgentProfile(),
                    model="claude-sonnet-4-5",
                    permission_mode="acceptEdits",
                    primed=False,
                    workspace_id=workspace_id,
                )
            )
            await asyncio.sleep(delay)
            for agent in agents():
                if workspace_id in " ".join(_command(agent)):
                    with suppress(psutil.NoSuchProcess):
                        agent.kill()
            try:
                process = await start
            except AgentProcessError:
                return "not started"
            await process.stop()
            return "started"

        outcomes: list[str] = []
        for _ in range(12 * ROUNDS):
            outcomes += await asyncio.gather(*(start_and_be_killed(moments.uniform(0.0, 1.5)) for _ in range(4)))
        # Both kinds happened, or the moments are badly chosen.
        assert set(outcomes) == {"started", "not started"}

        async def all_gone() -> bool:
            return not agents() and not list(folders.glob("*"))

        await eventually(all_gone)
        async with await platform.chat() as chat:
            await check(chat, 0)


async def remembers_all(chat: Chat) -> None:
    """See that a process that is started afresh knows what was said before and during the trouble."""
    for agent in agents():
        agent.kill()

    async def ended() -> bool:
        return chat.conversation.process is None

    await eventually(ended)
    told, _ = await chat.ask("what did I tell you earlier?")
    assert "heron" in told
    assert "stream 100 tokens" in told
    await check(chat, 0)


async def test_a_locked_database_delays_an_answer_and_loses_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async def locked(platform: Platform) -> None:
        async with await platform.chat() as chat:
            await chat.ask("remember that the word is heron")
            accepted = await chat.say("stream 100 tokens at 50 tokens per second")
            await chat.until_status("responding")
            lock = sqlite3.connect(sqlite_url.partition("///")[2], check_same_thread=False)
            lock.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(5)
            lock.rollback()
            lock.close()
            ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
            assert ended.subtype == "success"
            await remembers_all(chat)

    await whole_platform(sqlite_url, tmp_path / "data", locked)


async def test_a_database_that_is_gone_for_five_seconds_loses_nothing(
    postgresql_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    name = postgresql_url.partition("@/")[2].partition("?")[0]

    async def gone(platform: Platform) -> None:
        async with await platform.chat() as chat:
            await chat.ask("remember that the word is heron")
            accepted = await chat.say("stream 100 tokens at 50 tokens per second")
            await chat.until_status("responding")
            postgres_server.allow_connections(name, False)
            postgres_server.disconnect_everyone(name)
            await asyncio.sleep(5)
            postgres_server.allow_connections(name, True)
            ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
            assert ended.subtype == "success"
            await remembers_all(chat)

    await whole_platform(postgresql_url, tmp_path / "data", gone)
