"""PluginRequests: what plugins ask of the platform: to query an agent, or to begin a session.

A request belongs to the call of an endpoint that the plugin is answering, and is made in the name of whoever signed in
for that: a plugin cannot name anybody itself. Behind a public path nobody did; then it is the user whom the operator
has named for that, or it is refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import structlog
from jsonschema import Draft202012Validator, SchemaError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import TapeError
from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.recorded import user_actor
from claude_sdk_pattern.limits.errors import LimitError
from claude_sdk_pattern.plugins.author import JsonObject, PlatformRefusedError
from claude_sdk_pattern.policy.errors import PolicyError
from claude_sdk_pattern.sessions.errors import SessionError
from claude_sdk_pattern.sessions.manager import SessionManager

logger = structlog.get_logger(__name__)


class _Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str = Field(min_length=1)
    model: str | None = Field(default=None, min_length=1, max_length=100)
    call_id: str | None = None


class _Query(_Params):
    output_schema: dict[str, Any] | None = None


class _StartSession(_Params):
    title: str | None = Field(default=None, min_length=1, max_length=200)


class PluginRequests:
    """Answers plugins.

    Args:
        public_owner: returns the id of the user for calls behind public paths; None if there is nobody.
        may_begin: checks whether a user may begin another session now. Raises LimitError.
        query_seconds: how long a query may take.
    """

    def __init__(
        self,
        *,
        public_owner: Callable[[], Awaitable[str | None]],
        may_begin: Callable[[str], Awaitable[None]],
        query_seconds: float,
    ) -> None:
        self._public_owner = public_owner
        self._may_begin = may_begin
        self._query_seconds = query_seconds
        self._manager: SessionManager | None = None
        self._hub: EventHub | None = None
        self._calls: dict[str, tuple[str, str | None]] = {}

    def attach(self, manager: SessionManager, hub: EventHub) -> None:
        """Learn where sessions are, once they are there; before that nothing is answered."""
        self._manager, self._hub = manager, hub

    def begin_call(self, plugin: str, user_id: str | None) -> str:
        """Note that an endpoint of a plugin answers somebody, and return what names the call."""
        call_id = str(uuid4())
        self._calls[call_id] = plugin, user_id
        return call_id

    def end_call(self, call_id: str) -> None:
        """Note that the call is over."""
        self._calls.pop(call_id, None)

    async def answer(self, plugin: str, what: str, params: JsonObject) -> JsonObject:
        """Answer a plugin.

        Raises:
            PlatformRefusedError: it will not be done; the message is for the plugin.
        """
        try:
            match what:
                case "query":
                    return await self._query(plugin, _Query.model_validate(params))
                case "start_session":
                    return await self._start_session(plugin, _StartSession.model_validate(params))
                case _:
                    raise PlatformRefusedError(f"There is nothing to ask for that is called {what[:100]}.")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise PlatformRefusedError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        except (SessionError, PolicyError, LimitError, TapeError) as error:
            raise PlatformRefusedError(str(error)) from error

    async def _query(self, plugin: str, query: _Query) -> JsonObject:
        manager, hub = self._ready()
        if query.output_schema is not None:
            try:
                Draft202012Validator.check_schema(query.output_schema)
            except SchemaError as error:
                raise PlatformRefusedError(f"output_schema: {error.message[:500]}") from error
        session_id, turn_id = await self._begin(manager, plugin, query, title=plugin, schema=query.output_schema)
        texts: list[str] = []
        try:
            async with asyncio.timeout(self._query_seconds), hub.subscribe(session_id) as subscription:
                async for batch in subscription:
                    for recorded in batch:
                        event = recorded.event
                        if isinstance(event, events.Text) and event.content and event.parent_tool_use_id is None:
                            texts.append(event.content)
                        if isinstance(event, events.Result) and recorded.turn_id == turn_id:
                            return _answer(session_id, "\n".join(texts), event)
        except TimeoutError:
            raise PlatformRefusedError(f"The agent did not answer within {self._query_seconds:g} s.") from None
        raise PlatformRefusedError("The session was deleted.")

    async def _start_session(self, plugin: str, start: _StartSession) -> JsonObject:
        manager, _ = self._ready()
        session_id, _ = await self._begin(manager, plugin, start, title=start.title, schema=None)
        return {"session_id": session_id}

    async def _begin(
        self, manager: SessionManager, plugin: str, asked: _Params, *, title: str | None, schema: JsonObject | None
    ) -> tuple[str, str]:
        """Make a session with its first message; return its id and that of the turn."""
        owner = await self._owner(plugin, asked.call_id)
        await self._may_begin(owner)
        # Nobody is there to answer questions.
        session = await manager.create(
            owner_id=owner, title=title, model=asked.model, permission_mode="dontAsk", output_schema=schema
        )
        logger.info("plugin_began_session", plugin=plugin, session_id=session.id)
        accepted = await manager.submit(
            session.id, asked.prompt, client_id=f"plugin-{uuid4()}", actor=user_actor(owner)
        )
        return session.id, accepted.turn_id

    async def _owner(self, plugin: str, call_id: str | None) -> str:
        asking, user_id = self._calls.get(call_id or "", ("", None))
        if asking != plugin:
            raise PlatformRefusedError("The platform can be asked only while an endpoint answers a request.")
        owner = user_id if user_id is not None else await self._public_owner()
        if owner is None:
            raise PlatformRefusedError(
                "Nobody is signed in, and the operator has named no user for this (CLAUDE_SDK_PATTERN_PLUGIN_USER)."
            )
        return owner

    def _ready(self) -> tuple[SessionManager, EventHub]:
        if self._manager is None or self._hub is None:
            raise PlatformRefusedError("The server is starting.")
        return self._manager, self._hub


def _answer(session_id: str, text: str, result: events.Result) -> JsonObject:
    if result.is_error or result.subtype != "success":
        raise PlatformRefusedError(result.error or f"The agent ended with {result.subtype}.")
    return {
        "session_id": session_id,
        "text": text,
        "data": result.structured_output,
        "cost_usd": result.cost_usd,
    }
