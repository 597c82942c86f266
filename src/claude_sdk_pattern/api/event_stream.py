"""Server-sent events of a session: a second reader of the same tape.

``mode=query`` lives as long as a query and speaks the small vocabulary of scripts and dashboards; ``mode=follow``
stays open and carries the events as the WebSocket does.
"""

from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.api.dependencies import StreamUser
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import SubscriberTooSlow
from claude_sdk_pattern.events.recorded import RecordedEvent
from claude_sdk_pattern.events.resume import resume_point
from claude_sdk_pattern.sessions.repository import Session

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"], responses=PROBLEM_RESPONSES)

_QUIET = ("idle", "hibernated")


async def _readable(session_id: str, user: StreamUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.READ, session.owner_id)
    return session


def _position(
    after: Annotated[int | None, Query(ge=0, description="Number of the last event already seen.")] = None,
    last_event_id: Annotated[str | None, Header(description="Set by browsers when they reconnect.")] = None,
) -> int | None:
    """Return the last event the client has seen, or None if it names none. The header is the newer of the two."""
    if last_event_id is None or last_event_id == "":
        return after
    if not last_event_id.isdecimal():
        raise Problem(422, "invalid_last_event_id", "Last-Event-ID is not the number of an event.")
    return int(last_event_id)


@router.get("/{session_id}/events", response_class=EventSourceResponse)
async def stream_events(
    session: Annotated[Session, Depends(_readable)],
    position: Annotated[int | None, Depends(_position)],
    services: ServicesDependency,
    mode: Literal["query", "follow"] = "query",
) -> AsyncGenerator[ServerSentEvent]:
    """Stream what happens in a session."""
    status = services.manager.status(session.id)
    last_seq = await services.log.last_seq(session.id)
    after = last_seq if position is None else resume_point(position, last_seq).after
    if mode == "query":
        yield _event("status_change", {"status": status})
        # Without a place to go on from, and with nothing running, there is nothing to wait for.
        if status in _QUIET and after >= last_seq:
            return
    query = QueryStream()
    try:
        async with services.hub.subscribe(session.id, after=after) as subscription:
            async for batch in subscription:
                for recorded in batch:
                    if mode == "follow":
                        yield ServerSentEvent(
                            raw_data=recorded.frame.decode(), event=recorded.type, id=str(recorded.seq)
                        )
                        continue
                    for event in query.read(recorded):
                        yield event
                    if query.is_done:
                        return
    except SubscriberTooSlow:
        # Ending the response makes the client come back with the number of the last event it got.
        return


class QueryStream:
    """Tells the tape in the words of ``mode=query``, up to the end of one query."""

    def __init__(self) -> None:
        self.is_done = False
        self._streamed: set[str] = set()

    def read(self, recorded: RecordedEvent) -> Iterator[ServerSentEvent]:
        """Yield what one event of the tape amounts to."""
        for name, data in self._told(recorded.event):
            yield _event(name, data, seq=recorded.seq)

    def _told(self, event: events.AnyEvent) -> Iterator[tuple[str, dict[str, Any]]]:
        match event:
            case events.Status(status="thinking"):
                yield "processing", {}
            case events.Status():
                yield "status_change", event.model_dump(exclude_none=True, exclude={"type"})
            case events.StreamEvent(kind="text"):
                self._streamed.add(event.block_id)
                yield "assistant_text", {"text": event.delta}
            case events.Text() if event.block_id not in self._streamed and event.content:
                # Its deltas were compacted away, or never came.
                yield "assistant_text", {"text": event.content}
            case events.ToolUse():
                yield (
                    "tool_use",
                    {"toolName": event.tool, "toolInput": event.input, "toolUseId": event.tool_use_id},
                )
            case events.ToolResult():
                yield "tool_result", {"toolUseId": event.tool_use_id, "result": event.content}
            case events.Error():
                yield "error", {"message": event.message, "recoverable": event.recoverable}
            case events.Result():
                self.is_done = True
                yield "done", event.model_dump(exclude_none=True, include={"subtype", "is_error", "cost_usd", "error"})
            case _:
                pass


def _event(name: str, data: dict[str, Any], *, seq: int | None = None) -> ServerSentEvent:
    return ServerSentEvent(raw_data=orjson.dumps(data).decode(), event=name, id=None if seq is None else str(seq))
