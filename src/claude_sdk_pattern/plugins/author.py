"""What the Python of a plugin may use of the platform: ``from claude_sdk_pattern.plugins.author import plugin``.

It works where the platform has loaded the plugin, in the plugin's own process or in the server's, at import and later.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from claude_agent_sdk import SdkMcpTool

type JsonObject = dict[str, Any]

type Ask = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends a request to the platform: its name and parameters, to its answer."""


class PlatformRefusedError(Exception):
    """The platform would not do what a plugin asked of it; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends the request that an endpoint is answering."""

    user_id: str
    name: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an agent answered. ``data`` fits the schema that was asked for; without one it is None."""

    session_id: str
    text: str
    data: Any
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What :data:`plugin` stands for while something of a plugin runs.

    Attributes:
        call_id: names the request that an endpoint is answering, so that the platform knows who it is for.
    """

    name: str
    root: Path
    data: Path
    config: Mapping[str, Any]
    ask: Ask | None = None
    call_id: str | None = None
    caller: Caller | None = None


SURROUNDINGS: ContextVar[Surroundings] = ContextVar("plugin_surroundings")
"""Set by the platform."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin whose code asks."""

    _: None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return SURROUNDINGS.get().name

    @property
    def root(self) -> Path:
        """Its folder, which cannot be written to."""
        return SURROUNDINGS.get().root

    @property
    def data(self) -> Path:
        """A folder of its own for what it wants to keep."""
        return SURROUNDINGS.get().data

    @property
    def config(self) -> Mapping[str, Any]:
        """Its configuration, by key; secrets that it declares are among it."""
        return SURROUNDINGS.get().config

    @property
    def caller(self) -> Caller | None:
        """Who sends the request that is being answered; None behind a public path, and outside of endpoints."""
        return SURROUNDINGS.get().caller

    async def query(
        self, prompt: str, *, output_schema: Mapping[str, Any] | None = None, model: str | None = None
    ) -> Answer:
        """Ask an agent in a session of its own, and wait for the answer.

        Args:
            prompt: what to ask.
            output_schema: JSON Schema that the answer's ``data`` has to fit.
            model: another model than the server's default.

        Raises:
            PlatformRefusedError: it was refused, or the agent gave no such answer.
        """
        schema = None if output_schema is None else dict(output_schema)
        answer = await self._ask("query", {"prompt": prompt, "output_schema": schema, "model": model})
        return Answer(
            session_id=answer["session_id"], text=answer["text"], data=answer["data"], cost_usd=answer["cost_usd"]
        )

    async def start_session(self, prompt: str, *, title: str | None = None, model: str | None = None) -> str:
        """Begin a session with a first message and return its id at once; people find it among their sessions.

        Raises:
            PlatformRefusedError: it was refused.
        """
        answer = await self._ask("start_session", {"prompt": prompt, "title": title, "model": model})
        session_id: str = answer["session_id"]
        return session_id

    async def _ask(self, name: str, params: JsonObject) -> JsonObject:
        surroundings = SURROUNDINGS.get()
        if surroundings.ask is None:
            raise PlatformRefusedError("The platform can be asked while an endpoint answers a request.")
        return await surroundings.ask(name, {**params, "call_id": surroundings.call_id})


@dataclass(kw_only=True)
class AppTool(SdkMcpTool[Any]):
    """A tool with a page; :func:`app` makes it."""

    page: str | None
    visibility: tuple[str, ...]
    connect: tuple[str, ...]
    load: tuple[str, ...]


def app(
    page: str | None = None,
    *,
    visibility: tuple[Literal["model", "app"], ...] = ("model", "app"),
    connect: tuple[str, ...] = (),
    load: tuple[str, ...] = (),
) -> Callable[[SdkMcpTool[Any]], AppTool]:
    """Give a tool a page that people see below its call (MCP Apps). Put it above ``@tool``.

    The manifest has to say ``permissions.apps``.

    Args:
        page: an HTML file in the plugin's folder; None for a tool that only pages call.
        visibility: who may call the tool: the model, pages of this plugin, or both.
        connect: what the page talks to, such as ``https://api.example.org``; ``permissions.hosts`` has to list it.
        load: what it loads scripts, styles, pictures and fonts from, likewise.
    """

    def with_page(tool: SdkMcpTool[Any]) -> AppTool:
        return AppTool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            handler=tool.handler,
            annotations=tool.annotations,
            page=page,
            visibility=tuple(visibility),
            connect=tuple(connect),
            load=tuple(load),
        )

    return with_page


plugin = Plugin()
"""The plugin whose code runs."""
