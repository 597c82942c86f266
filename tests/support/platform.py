"""The platform in this process, as the composition root builds it: real CLI, real gateway, scripted model."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.hub import Subscription
from claude_sdk_pattern.events.recorded import RecordedEvent, user_actor
from claude_sdk_pattern.events.types import AnyEvent
from claude_sdk_pattern.model_gateway.scripted import ScriptedModel, load_scenarios, running_scripted_model
from claude_sdk_pattern.runtime import running_services
from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.inbox import Accepted
from claude_sdk_pattern.sessions.workspaces import Workspaces

SECRET_KEY = "canary-signing-key-" + "0" * 32
REAL_KEY = "sk-ant-canary-real-key"
PASSWORD = "correct horse battery"

# Far longer than anything here takes, far shorter than a forgotten test.
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A running platform and the model behind its gateway."""

    services: Services
    model: ScriptedModel
    user: User
    data_dir: Path

    async def chat(self, **settings: Any) -> "Chat":
        """Make a session and watch it from its beginning."""
        session = await self.services.manager.create(owner_id=self.user.id, **settings)
        return await self.watch(session.id)

    async def warm(self) -> None:
        """Wait until the pool is full."""

        async def is_full() -> bool:
            return self.services.manager.pool.size == self.services.settings.prewarm_pool_size

        await eventually(is_full)

    async def watch(self, session_id: str) -> "Chat":
        """Watch an existing session from its beginning."""
        return Chat(self, session_id, await self.services.manager.open(session_id))


class Chat:
    """One session and one reader of its tape; call :meth:`close` or use as a context manager."""

    def __init__(self, platform: Platform, session_id: str, conversation: Conversation) -> None:
        self.platform = platform
        self.session_id = session_id
        self.conversation = conversation
        self.seen: list[RecordedEvent] = []
        self._subscription: Subscription = platform.services.hub.subscribe(session_id)

    async def __aenter__(self) -> "Chat":
        await self._subscription.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._subscription.__aexit__(None, None, None)

    async def say(self, text: str, client_id: str | None = None, *, attachments: Sequence[str] = ()) -> Accepted:
        """Send a message."""
        return await self.platform.services.manager.submit(
            self.session_id,
            text,
            client_id=client_id or str(uuid4()),
            actor=user_actor(self.platform.user.id),
            attachments=attachments,
        )

    async def attach(self, name: str, content: bytes) -> events.AttachmentRef:
        """Upload a file to the session."""

        async def pieces() -> AsyncGenerator[bytes]:
            yield content

        return await self.platform.services.manager.attachments.add(self.session_id, name, pieces())

    @property
    def workspace(self) -> Path:
        """The folder in which the agent works, once it has one."""
        workspace_id = self.conversation.session.workspace_id
        if workspace_id is None:
            raise AssertionError("no turn has run yet")
        return Workspaces(self.platform.data_dir).path(workspace_id)

    async def until(self, wanted: Callable[[AnyEvent], bool], *, turn_id: str | None = None) -> AnyEvent:
        """Read on until an event is the wanted one, and return it. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for recorded in list(self.seen):
                if turn_id in (None, recorded.turn_id) and recorded.seq > self._mark and wanted(recorded.event):
                    self._mark = recorded.seq
                    return recorded.event
            async for batch in self._subscription:
                self.seen.extend(batch)
                for recorded in batch:
                    if turn_id in (None, recorded.turn_id) and recorded.seq > self._mark and wanted(recorded.event):
                        self._mark = recorded.seq
                        return recorded.event
        raise AssertionError("the session was closed")

    _mark = 0

    async def until_type[T: events.Event](self, kind: type[T], *, turn_id: str | None = None) -> T:
        """Read on until an event of this type."""
        found = await self.until(lambda event: isinstance(event, kind), turn_id=turn_id)
        assert isinstance(found, kind)
        return found

    async def until_status(self, status: str) -> None:
        """Read on until the session has this status."""
        await self.until(lambda event: isinstance(event, events.Status) and event.status == status)

    async def fall_asleep(self) -> None:
        """Have the session give its process up, when its turn is over: that is a moment after the result."""

        async def is_quiet() -> bool:
            return not self.conversation.is_busy

        await eventually(is_quiet)
        await self.conversation.hibernate()

    async def ask(self, text: str, *, attachments: Sequence[str] = ()) -> tuple[str, events.Result]:
        """Send a message and return the whole answer and how its turn ended."""
        accepted = await self.say(text, attachments=attachments)
        ended = await self.until_type(events.Result, turn_id=accepted.turn_id)
        return self.answer(accepted.turn_id), ended

    def answer(self, turn_id: str) -> str:
        """Return all complete text of a turn as far as it was read."""
        told = (item.event for item in self.seen if item.turn_id == turn_id and item.type == "text")
        return "\n".join(event.content for event in told if isinstance(event, events.Text) and event.content)

    def types(self, turn_id: str) -> list[str]:
        """Return the types of a turn's events as far as they were read, without deltas."""
        return [item.type for item in self.seen if item.turn_id == turn_id and item.type != "stream_event"]

    async def tape(self) -> list[RecordedEvent]:
        """Return the tape as it is stored."""
        return await self.platform.services.log.read(self.session_id)


@contextlib.asynccontextmanager
async def running_platform(
    database_url: str, data_dir: Path, *, scenarios: Any = None, **settings: Any
) -> AsyncGenerator[Platform]:
    """Run the platform, not in demo mode: a real key in the gateway, the scripted model as its upstream.

    ``scenarios`` is the path of a file of further ones. Run again on the same database, it finds the same user and
    sessions.
    """
    async with running_scripted_model(scenarios=load_scenarios([scenarios] if scenarios else [])) as model:
        values: dict[str, Any] = {
            "secret_key": SECRET_KEY,
            "anthropic_api_key": REAL_KEY,
            "anthropic_base_url": model.base_url,
            "db_url": database_url,
            "data_dir": data_dir,
            # None of the repository's own, unless a test says so.
            "plugins_dir": data_dir.parent / "plugins",
            "prewarm_pool_size": 1,
            "shutdown_grace_seconds": 0,
            **settings,
        }
        async with running_services(Settings.model_validate(values)) as services:
            await services.accounts.users.ensure("alice", PASSWORD, Role.USER)
            user = (await services.accounts.users.find("alice")).user
            yield Platform(services=services, model=model, user=user, data_dir=data_dir)


@contextlib.asynccontextmanager
async def lent(platform: Platform) -> AsyncGenerator[Platform]:
    """Lend a platform that tests share to one of them: it finds no session and no request, and its own are deleted."""
    platform.model.app.requests.clear()
    try:
        yield platform
    finally:
        await platform.services.manager.delete_all_of(platform.user.id)


@contextlib.asynccontextmanager
async def running_platform_in(folder: Path, template: Path, **settings: Any) -> AsyncGenerator[Platform]:
    """Run a platform for several tests in a folder, on a copy of a migrated SQLite file."""
    shutil.copy(template, folder / "test.db")
    async with running_platform(f"sqlite+aiosqlite:///{folder / 'test.db'}", folder / "data", **settings) as platform:
        yield platform


async def eventually(condition: Callable[[], Awaitable[bool]], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something that nothing announces. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - for what nothing announces
            await asyncio.sleep(0.02)
