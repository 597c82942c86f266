"""Turns as a state machine: whatever happens in whatever order, each accepted message has exactly one result.

The tape, its database and the conversation are real; the agent processes are made up (``tests/support/agents.py``).
"""

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.agents import MadeUpFactory, MadeUpProcess
from tests.support.model_gateway import make_gateway
from tests.support.platform import PATIENCE_SECONDS, eventually
from tests.support.plugins_at_work import no_plugins
from tests.support.rows import store_sessions

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.types import Result
from claude_sdk_pattern.model_gateway.tokens import AgentTokens
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.policy.loading import builtin_policy
from claude_sdk_pattern.policy.model import RoleName
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.agent_seat import ProcessSource
from claude_sdk_pattern.sessions.attachments import AttachmentStore
from claude_sdk_pattern.sessions.checkpoints import Checkpoints
from claude_sdk_pattern.sessions.conversation import Conversation, ConversationServices
from claude_sdk_pattern.sessions.disk import DiskWatermark
from claude_sdk_pattern.sessions.errors import SessionError
from claude_sdk_pattern.sessions.history import History
from claude_sdk_pattern.sessions.inbox import Accepted
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.sessions.ledger import Ledger
from claude_sdk_pattern.sessions.policy_services import make_policy_services
from claude_sdk_pattern.sessions.pool import PoolLimits, WarmPool
from claude_sdk_pattern.sessions.repository import SessionRepository
from claude_sdk_pattern.sessions.slots import ProcessSlots
from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.sessions.turns import StopReason
from claude_sdk_pattern.sessions.workspaces import Workspaces
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.telemetry.metrics import Metrics

pytestmark = pytest.mark.anyio

SESSION = "s1"
OWNER = "owner"

_numbers = count(1)


class World:
    """One conversation, and the processes it was given."""

    def __init__(self, conversation: Conversation, log: EventLog, factory: MadeUpFactory, path: Path) -> None:
        self.conversation = conversation
        self.log = log
        self.factory = factory
        self.accepted: list[str] = []
        self._said: list[asyncio.Task[Accepted]] = []
        self._rewindings: list[asyncio.Task[None]] = []
        self._lock = sqlite3.connect(path, isolation_level=None)

    @property
    def process(self) -> MadeUpProcess | None:
        return cast("MadeUpProcess | None", self.conversation.process)

    async def say(self) -> None:
        """Send a message, and wait until it is stored unless nothing can be."""
        message = self.conversation.submit("hello", client_id=f"c{len(self._said)}", actor=f"user:{OWNER}")
        self._said.append(asyncio.create_task(message))
        if self.is_locked:
            await _some_steps()
        else:
            await self.hear()

    async def rewind(self) -> None:
        """Begin to take the last message that was accepted back."""
        messages = [item.seq for item in await self.log.read(SESSION) if item.type == "user_message"]
        if messages:
            rewinding = self.conversation.rewind(before_seq=messages[-1], files=False, actor=OWNER)
            self._rewindings.append(asyncio.create_task(rewinding))
            await _some_steps()

    async def hear(self) -> None:
        """Wait for what became of the messages."""
        self.accepted = [accepted.turn_id for accepted in await asyncio.gather(*self._said)]

    @property
    def is_locked(self) -> bool:
        return self._lock.in_transaction

    async def lock(self) -> None:
        """Keep the database from storing anything, or no longer."""
        if self.is_locked:
            await self.unlock()
        else:
            await self.log.flush()
            self._lock.execute("BEGIN IMMEDIATE")

    async def unlock(self) -> None:
        if self.is_locked:
            self._lock.execute("ROLLBACK")
        await self.hear()

    async def be_taken(self) -> None:
        """Wait until an agent works on a message, or none is left to work on."""
        if self.is_locked:
            return

        async def is_taken() -> bool:
            return not self.conversation.is_busy or (self.process is not None and bool(self.process.asked))

        await eventually(is_taken)

    async def answer(self) -> None:
        if self.process is not None and self.process.asked:
            self.process.answer()

    async def die(self) -> None:
        if self.process is not None:
            self.process.kill()

    async def be(self, **how: bool) -> None:
        for name, value in how.items():
            if self.process is not None:
                setattr(self.process, name, value)

    async def fail_to_start(self) -> None:
        self.factory.fails = not self.factory.fails

    async def stop(self, reason: StopReason) -> None:
        self.conversation.stop_turn(reason)

    async def tape(self) -> list[RecordedEvent]:
        await self.log.flush()
        return await self.log.read(SESSION)

    async def settle(self) -> None:
        """Let everything that was begun come to its end."""
        self.factory.fails = False
        await self.unlock()

        async def is_quiet() -> bool:
            await self.be(is_deaf=False, is_mute=False)
            await self.answer()
            return not self.conversation.is_busy

        await eventually(is_quiet)
        ended = await asyncio.gather(*self._rewindings, return_exceptions=True)
        assert all(error is None or isinstance(error, SessionError) for error in ended), ended


async def _some_steps() -> None:
    """Let what was begun come as far as it comes by itself."""
    for _ in range(10):
        await asyncio.sleep(0)


LOCK = "lock the database, or no longer"

STEPS: dict[str, Callable[[World], Awaitable[Any]]] = {
    "say": World.say,
    "is taken": World.be_taken,
    "answer": World.answer,
    "die": World.die,
    "stop obeying": lambda world: world.be(is_deaf=True),
    "stop answering": lambda world: world.be(is_mute=True),
    "fail to start, or no longer": World.fail_to_start,
    "stopped by a person": lambda world: world.stop(StopReason.PERSON),
    "stopped at the time limit": lambda world: world.stop(StopReason.TIMEOUT),
    "stopped for its memory": lambda world: world.stop(StopReason.MEMORY),
    "stopped for its silence": lambda world: world.stop(StopReason.SILENCE),
    "hibernate": lambda world: world.conversation.hibernate(),
    "wake": lambda world: world.conversation.wake(),
    "restart": lambda world: world.conversation.restart_process(),
    "rewind": World.rewind,
    LOCK: World.lock,
}


@contextlib.asynccontextmanager
async def running_world(template: Path, folder: Path) -> AsyncGenerator[World]:
    folder.mkdir()
    path = shutil.copy(template, folder / "test.db")
    values: dict[str, Any] = {
        "secret_key": "x" * 32,
        "anthropic_api_key": "not used",
        "data_dir": folder,
        "interrupt_timeout_seconds": 0.01,
        "max_crashes_in_a_row": 2,
    }
    config = Settings.model_validate(values)
    factory, metrics = MadeUpFactory(), Metrics()
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        await store_sessions(database, SESSION, owner_id=OWNER)
        leases = Leases(database, node_id="node", lease_seconds=60)
        await leases.acquire(SESSION)
        disk = DiskWatermark(folder, min_free_bytes=0)
        async with EventLog(database, EventHub(TapeReader(database))) as log:
            pool = WarmPool[AgentProcess](factory, PoolLimits(size=0, max_age_seconds=60, key_seconds=60))
            model = make_gateway("http://127.0.0.1:9", tokens=AgentTokens())
            services = ConversationServices(
                settings=config,
                log=log,
                model=model,
                source=ProcessSource(
                    factory=factory,
                    pool=pool,
                    slots=ProcessSlots(1, max_waiting=1),
                    metrics=metrics,
                    active_plugins=PluginSet,
                ),
                disk=disk,
                policy=make_policy_services(
                    builtin_policy(),
                    database=database,
                    role_of=_user,
                    workspaces=Workspaces(folder),
                    metrics=metrics,
                    approval_timeout_seconds=60,
                    plugins=no_plugins(folder),
                ),
                repository=SessionRepository(database),
                ledger=Ledger(database, model.meters),
                metrics=metrics,
                history=History(log, TranscriptStore(database)),
                checkpoints=Checkpoints(folder),
                workspaces=Workspaces(folder),
                leases=leases,
                attachments=AttachmentStore(database, folder, disk=disk, max_bytes=1),
                is_watched=lambda _: True,
            )
            conversation = Conversation(await services.repository.get(SESSION), {}, services)
            try:
                yield World(conversation, log, factory, Path(path))
            finally:
                await conversation.aclose()


async def _user(_: str) -> RoleName:
    return "user"


def check_tape(tape: list[RecordedEvent], accepted: list[str]) -> None:
    """Every accepted message has one result, in the order of the messages, and nothing of a turn comes after it."""
    results = [item.turn_id for item in tape if item.type == "result"]
    assert results == accepted
    asked = [item.turn_id for item in tape if item.type == "user_message"]
    assert asked == accepted
    place = {item.turn_id: item.seq for item in tape if item.type == "result"}
    late = [item for item in tape if item.turn_id is not None and item.seq > place[item.turn_id]]
    assert {item.type for item in late} <= {"status", "error"}
    assert [item.seq for item in tape] == sorted({item.seq for item in tape})


# The ways in which a turn ends without an answer, which chance would find only now and then.
@example(steps=["say", "is taken", "die"], ends="settle")
@example(steps=["say", "is taken", "die", "is taken", "say", "is taken", "die"], ends="settle")
@example(steps=["say", "is taken", "stopped by a person"], ends="settle")
@example(steps=["say", "is taken", "stop obeying", "stopped by a person", "say"], ends="settle")
@example(steps=["say", "is taken", "stop obeying", "stopped at the time limit", "say"], ends="settle")
@example(steps=["say", "is taken", "stopped for its memory", "say"], ends="settle")
@example(steps=["fail to start, or no longer", "say", "is taken", "say"], ends="settle")
@example(steps=["say", "say", "stopped by a person", "hibernate"], ends="settle")
@example(steps=["say", "is taken", "say"], ends="close")
# The second message is given to the agent while it is being stored.
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "say", "answer", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "answer", "die", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "die", "say", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "stopped by a person", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "restart", "hibernate", LOCK], ends="settle")
@example(steps=["say", "is taken", "answer", "is taken", LOCK, "say", "rewind", LOCK], ends="settle")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=25), ends=st.sampled_from(["settle", "close"]))
async def test_every_message_has_one_result_whatever_happens(
    sqlite_template: Path, tmp_path: Path, steps: list[str], ends: str
) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with running_world(sqlite_template, tmp_path / str(next(_numbers))) as world:
            for step in steps:
                await STEPS[step](world)
                assert len(world.factory.living) <= 1, "a session has one process"
            if ends == "settle":
                await world.settle()
                check_tape(await world.tape(), world.accepted)
                # Whatever has happened to it, the session answers.
                await world.say()
                await world.settle()
                assert any(
                    isinstance(item.event, Result) and item.event.subtype == "success" for item in await world.tape()
                )
            log = world.log
            await world.unlock()
            await world.conversation.aclose()
            await log.flush()
            check_tape(await log.read(SESSION), world.accepted)
            assert not world.factory.living
