"""Bench: a whole platform in a temporary folder, with the scripted model, on which plugins are tried for real.

Nothing of it is a stand-in but the model: the registry, the plugin's processes behind their walls, the permission gate
and Claude Code are those of a server. It takes no setting from the environment, so it is the same everywhere.
"""

import asyncio
import contextlib
import json
import secrets
import tempfile
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast, override
from uuid import uuid4

import httpx2
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.hub import Subscription
from claude_sdk_pattern.events.recorded import user_actor
from claude_sdk_pattern.main import create_app
from claude_sdk_pattern.runtime import running_services
from claude_sdk_pattern.sessions.approvals import Answer as Decision
from claude_sdk_pattern.storage.schema import migrate

_NAME: Final = "author"
"""The one user of a bench, an administrator."""

# Longer than any limit of a plugin's that has a default.
TURN_SECONDS: Final = 120.0

_ADDRESS: Final = "http://127.0.0.1:8000"


class _BenchSettings(Settings):
    """Settings of which the environment sets none."""

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of an agent and what came of it.

    Attributes:
        tool: its name, as agents see it.
        input: the arguments.
        text: what it answered, or why it did not.
        is_error: it failed, was denied or got no answer.
    """

    tool: str
    input: Mapping[str, Any]
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an agent made of a message.

    Attributes:
        text: what it said.
        calls: the tools it called, in order.
        subtype: how the turn ended: ``success``, or what else ``result`` events have.
        notices: what the platform had to say, such as about a prompt that a hook blocked.
    """

    text: str
    calls: tuple[ToolCall, ...]
    subtype: str
    notices: tuple[str, ...] = ()


class Bench:
    """A running platform; see :func:`running_bench`."""

    def __init__(self, services: Services, user: User, password: str) -> None:
        self.services = services
        self._user = user
        self._password = password

    async def activate(self, folder: Path, config: Mapping[str, Any] | None = None) -> str:
        """Install the plugin in a folder, or another version of it, configure and activate it; return its name.

        Raises:
            PluginError: what the registry says about it.
        """
        registry = self.services.plugins
        root = await asyncio.to_thread(folder.resolve)
        installed = await registry.install_folder(
            root, actor=self._user.id, source="upload", origin=root.name, name=root.name
        )
        name = installed.record.name
        if config:
            await registry.configure(name, config, actor=self._user.id)
        await registry.activate(name, actor=self._user.id)
        return name

    @contextlib.asynccontextmanager
    async def chat(self) -> AsyncGenerator["BenchChat"]:
        """Yield a new session, which has the plugins that are active now."""
        session = await self.services.manager.create(owner_id=self._user.id)
        async with self.services.hub.subscribe(session.id) as subscription:
            yield BenchChat(self.services, self._user, session.id, subscription)

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request over REST, signed in; ``options`` as httpx2 has them: ``json``, ``content``, ``headers``."""
        app = create_app(self.services.settings)
        # Its lifespan, which would start everything once more, does not run here.
        app.state.services = self.services
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=_ADDRESS) as client:
            login = {"username": self._user.username, "password": self._password, "client": "api"}
            answer = (await client.post("/api/v1/auth/login", json=login)).raise_for_status()
            client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
            return await client.request(method, path, **options)


class BenchChat:
    """One session. Whatever the agent asks permission for is allowed; the policy and plugins may still deny."""

    def __init__(self, services: Services, user: User, session_id: str, subscription: Subscription) -> None:
        self._services = services
        self._user = user
        self._session_id = session_id
        self._subscription = subscription

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolCall:
        """Have the agent call a tool, by its whole name, and return what came of it.

        Raises:
            LookupError: the agent did not come to call it; the message says what it did.
        """
        answer = await self.ask(f"call tool {tool} with {json.dumps(dict(arguments))}")
        for call in reversed(answer.calls):
            if call.tool == tool:
                return call
        said = "; ".join((*answer.notices, answer.text))
        raise LookupError(f"{tool} was not called; the turn ended with {answer.subtype}: {said}")

    async def ask(self, text: str) -> Answer:
        """Send a message and return what came of it.

        Raises:
            TimeoutError: the turn did not end within two minutes.
        """
        manager = self._services.manager
        async with asyncio.timeout(TURN_SECONDS):
            accepted = await manager.submit(
                self._session_id, text, client_id=str(uuid4()), actor=user_actor(self._user.id)
            )
            seen: list[events.AnyEvent] = []
            async for batch in self._subscription:
                for recorded in batch:
                    if recorded.turn_id != accepted.turn_id:
                        continue
                    event = recorded.event
                    seen.append(event)
                    if isinstance(event, events.PermissionRequest):
                        await self._allow(event)
                    elif isinstance(event, events.Result):
                        return _answer(seen, event)
        raise ConnectionError("the session was closed")

    async def _allow(self, request: events.PermissionRequest) -> None:
        conversation = await self._services.manager.open(self._session_id)
        decision = Decision(
            decision="allow", by=self._user.id, by_name=self._user.username, input_hash=request.input_hash
        )
        await conversation.answer_permission(request.request_id, decision)


@contextlib.asynccontextmanager
async def running_bench(**settings: Any) -> AsyncGenerator[Bench]:
    """Run a platform of its own, of which nothing is left afterwards. ``settings``: any of the server's, by name."""
    with tempfile.TemporaryDirectory(prefix="plugin-bench-") as temporary:
        folder = Path(temporary)
        password = secrets.token_urlsafe()
        values: dict[str, Any] = {
            "demo": True,
            "secret_key": secrets.token_hex(32),
            "db_url": f"sqlite+aiosqlite:///{folder / 'bench.db'}",
            "data_dir": folder / "data",
            "plugins_dir": folder / "plugins",
            # Webhooks come from nobody who is signed in, and may ask the agent all the same.
            "plugin_user": _NAME,
            "prewarm_pool_size": 0,
            "shutdown_grace_seconds": 0,
            **settings,
        }
        await migrate(values["db_url"])
        async with running_services(_BenchSettings.model_validate(values)) as services:
            await services.accounts.users.ensure(_NAME, password, Role.ADMIN)
            user = (await services.accounts.users.find(_NAME)).user
            yield Bench(services, user, password)


def _answer(seen: list[events.AnyEvent], result: events.Result) -> Answer:
    results = {event.tool_use_id: event for event in seen if isinstance(event, events.ToolResult)}
    return Answer(
        text="\n".join(event.content for event in seen if isinstance(event, events.Text) and event.content),
        calls=tuple(_call(event, results) for event in seen if isinstance(event, events.ToolUse)),
        subtype=result.subtype,
        notices=tuple(event.message for event in seen if isinstance(event, events.Notice | events.Error)),
    )


def _call(use: events.ToolUse, results: Mapping[str, events.ToolResult]) -> ToolCall:
    result = results.get(use.tool_use_id)
    return ToolCall(
        tool=use.tool,
        input=use.input,
        text="it got no answer" if result is None else _text(result.content),
        is_error=result is None or result.is_error,
    )


def _text(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    blocks = cast("list[dict[str, Any]]", content)
    return "\n".join(str(block["text"]) for block in blocks if block.get("type") == "text")
