"""Server-sent events of a session: a second reader of the same tape.

``mode=query`` lives as long as a query and speaks the small vocabulary of scripts and dashboards; ``mode=follow``
stays open and carries the events as the WebSocket does.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.identities import Identity
from claude_sdk_pattern.api.dependencies import StreamIdentity, StreamUser
from claude_sdk_pattern.api.frames import MAX_SEQ
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import SubscriberTooSlow
from claude_sdk_pattern.events.hub import Subscription
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.resume import resume_point
from claude_sdk_pattern.sessions.repository import Session

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"], responses=PROBLEM_RESPONSES)

_QUIET = ("idle", "hibernated")

# How soon a stream feels that its login has ended; one query per login and second at most.
_RECHECK_SECONDS = 2.0

# How far back a block that is being written is looked for. Longer ones are told right too, but may be told twice.
_LOOK_BACK = 1000


async def _readable(session_id: str, user: StreamUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.READ, session.owner_id)
    return session


def _position(
    after: Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="Number of the last event already seen.")] = None,
    last_event_id: Annotated[str | None, Header(description="Set by browsers when they reconnect.")] = None,
) -> int | None:
    """Return the last event the client has seen, or None if it names none. The header is the newer of the two."""
    if last_event_id is None or last_event_id == "":
        return after
    # Long numbers are refused by their length: turning them into one takes time, or fails.
    if not last_event_id.isdecimal() or len(last_event_id) > len(str(MAX_SEQ)) or int(last_event_id) > MAX_SEQ:
        raise Problem(422, "invalid_last_event_id", "Last-Event-ID is not the number of an event.")
    return int(last_event_id)


async def _connected(user: StreamUser, services: ServicesDependency) -> AsyncGenerator[None]:
    """Count the stream among its reader's connections until it ends."""
    with services.connections.connected(user.id):
        yield


@router.get("/{session_id}/events", response_class=EventSourceResponse, dependencies=[Depends(_connected)])
async def stream_events(
    session: Annotated[Session, Depends(_readable)],
    identity: StreamIdentity,
    position: Annotated[int | None, Depends(_position)],
    services: ServicesDependency,
    mode: Literal["query", "follow"] = "query",
) -> AsyncGenerator[ServerSentEvent]:
    """Stream what happens in a session."""
    await services.audit.record(
        AuditAction.SESSION_OPENED, actor=identity.user.id, target=session.id, details={"by": "event stream"}
    )
    status = services.manager.status(session.id)
    last_seq = await services.log.last_seq(session.id)
    point = resume_point(last_seq if position is None else position, last_seq)
    after = point.after
    is_quiet = status in _QUIET
    if point.is_gap:
        yield _event("resume", {"resume": "gap", "from_seq": point.from_seq})
    if mode == "query":
        yield _event("status_change", {"status": status})
        # Without a place to go on from, and with nothing running, there is nothing to wait for.
        if is_quiet and after >= last_seq:
            return
    query = QueryStream(await services.log.read(session.id, after=max(0, after - _LOOK_BACK), until=after), after)
    try:
        async with (
            services.hub.subscribe(session.id, after=after) as subscription,
            _watched(services, identity, session, subscription),
        ):
            async for batch in subscription:
                for recorded in batch:
                    if mode == "follow":
                        yield ServerSentEvent(
                            raw_data=recorded.frame.decode(), event=recorded.type, id=str(recorded.seq)
                        )
                        continue
                    for event in query.read(recorded):
                        yield event
                    if query.is_done or (is_quiet and recorded.seq >= last_seq and not query.is_open):
                        return
    except SubscriberTooSlow:
        # Ending the response makes the client come back with the number of the last event it got.
        return


@contextlib.asynccontextmanager
async def _watched(
    services: Services, identity: Identity, session: Session, subscription: Subscription
) -> AsyncGenerator[None]:
    """End a subscription soon after its reader's login has ended, or its right to see the session."""

    async def watch() -> None:
        try:
            while True:
                await asyncio.sleep(_RECHECK_SECONDS)
                user = (await services.accounts.recheck(identity)).user
                authorize(user, SessionAction.READ, session.owner_id)
        finally:
            # Also when it cannot be found out.
            subscription.end()

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


class QueryStream:
    """Tells the tape in the words of ``mode=query``, up to the end of one query.

    Args:
        before: the latest events the client has seen, or has chosen not to see.
        after: number of the last of them.
    """

    def __init__(self, before: Iterable[RecordedEvent] = (), after: int = 0) -> None:
        self.is_done = False
        self.is_open = False
        """Whether a message was told of whose query has not ended."""
        # What the client has of the blocks that are being written.
        self._told_of: dict[str, str] = {}
        last_seq = 0
        for recorded in before:
            last_seq = recorded.seq
            if isinstance(recorded.event, events.StreamEvent) and recorded.event.kind == "text":
                self._note(recorded.event)
        # Only pieces of text leave the tape: the client has some of the next block, and nobody knows how much.
        self._is_cut = last_seq != after

    def read(self, recorded: RecordedEvent) -> Iterator[ServerSentEvent]:
        """Yield what one event of the tape amounts to."""
        for name, data in self._told(recorded.event):
            yield _event(name, data, seq=recorded.seq)

    def _told(self, event: events.AnyEvent) -> Iterator[tuple[str, dict[str, Any]]]:
        match event:
            case events.UserMessage():
                self.is_open = True
            case events.Status(status="thinking"):
                yield "processing", {}
            case events.Status():
                yield "status_change", event.model_dump(exclude_none=True, exclude={"type"})
            case events.StreamEvent(kind="text"):
                self._note(event)
                yield "assistant_text", {"text": event.delta}
            # A subagent's words are not the answer; what comes of them is in the result of the call.
            case events.Text(parent_tool_use_id=None):
                yield from self._completed(event)
            case events.ToolUse():
                yield (
                    "tool_use",
                    {"toolName": event.tool, "toolInput": event.input, "toolUseId": event.tool_use_id},
                )
            case events.ToolResult():
                cut = {"truncated": True} if event.truncated else {}
                yield "tool_result", {"toolUseId": event.tool_use_id, "result": event.content, **cut}
            case events.Error():
                yield "error", {"message": event.message, "recoverable": event.recoverable}
            case events.Result():
                self.is_done = True
                yield "done", event.model_dump(exclude_none=True, include={"subtype", "is_error", "cost_usd", "error"})
            case _:
                pass

    def _note(self, event: events.StreamEvent) -> None:
        self._told_of[event.block_id] = self._told_of.get(event.block_id, "") + event.delta

    def _completed(self, event: events.Text) -> Iterator[tuple[str, dict[str, Any]]]:
        """Tell what the client lacks of a block now that all of it is known."""
        told = self._told_of.pop(event.block_id, "")
        is_cut, self._is_cut = self._is_cut and not told, False
        if is_cut or not (event.content.startswith(told) or event.content.endswith(told)):
            # It was withdrawn or begun anew; or its pieces are gone, and with them where to go on.
            yield "assistant_text", {"text": event.content, "replaces": True}
        elif event.content.startswith(told) and event.content != told:
            # The rest was joined into the block before it could be sent, or it never came in pieces.
            yield "assistant_text", {"text": event.content[len(told) :]}


def _event(name: str, data: dict[str, Any], *, seq: int | None = None) -> ServerSentEvent:
    return ServerSentEvent(raw_data=orjson.dumps(data).decode(), event=name, id=None if seq is None else str(seq))
