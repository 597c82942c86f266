"""What a client of the API does again and again: make a session, ask, read the tape, read an event stream."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.support.platform import PATIENCE_SECONDS
from tests.support.server import ChatSocket, Frame

SESSIONS = "/api/v1/sessions"


async def new_session(client: httpx2.AsyncClient, **settings: Any) -> str:
    """Make a session and return its id."""
    answer = await client.post(SESSIONS, json=settings)
    return str(answer.raise_for_status().json()["id"])


async def whole_tape(client: httpx2.AsyncClient, session_id: str, *, after: int = 0, limit: int = 1000) -> list[Frame]:
    """Read a tape page by page."""
    found: list[Frame] = []
    next_after: int | None = after
    while next_after is not None:
        page = await client.get(f"{SESSIONS}/{session_id}/messages", params={"after": next_after, "limit": limit})
        body = page.raise_for_status().json()
        found += body["items"]
        next_after = body["next_after"]
    return found


def events(chat: ChatSocket) -> list[Frame]:
    """Return the events of the tape among the frames that came."""
    return [frame for frame in chat.frames if "seq" in frame]


async def say(chat: ChatSocket, text: str, client_id: str) -> str:
    """Send a message and return the turn it opened."""
    await chat.send(type="user_message", text=text, client_id=client_id)
    return str((await chat.until("user_message", client_id=client_id))["turn_id"])


async def ask(chat: ChatSocket, text: str, client_id: str) -> Frame:
    """Send a message and return the result of its turn, read up to where the session is quiet again."""
    turn_id = await say(chat, text, client_id)
    result = await chat.until("result", turn_id=turn_id)
    await chat.until("status", status="idle")
    return result


def answer(frames: Iterable[Frame], turn_id: str | None = None) -> str:
    """Return the text of a turn, or of all, as a client folds it: pieces, replaced by their complete block."""
    blocks: dict[str, str] = {}
    for frame in frames:
        if turn_id not in (None, frame.get("turn_id")):
            continue
        if frame["type"] == "stream_event" and frame["kind"] == "text":
            blocks[frame["block_id"]] = blocks.get(frame["block_id"], "") + frame["delta"]
        elif frame["type"] == "text":
            blocks[frame["block_id"]] = frame["content"]
    return "".join(blocks.values())


async def until_quiet(client: httpx2.AsyncClient, session_id: str, result_count: int = 1) -> list[Frame]:
    """Wait until a session has that many results and follows them with a quiet status; return its tape."""
    async with event_stream(client, session_id, mode="follow", after=0) as stream:
        seen: list[Frame] = []
        async for event in stream:
            seen.append(event.data)
            results = [frame for frame in seen if frame["type"] == "result"]
            if len(results) >= result_count and seen[-1].get("status") == "idle":
                return seen
    raise AssertionError("the stream ended")


@dataclass(frozen=True, kw_only=True)
class SentEvent:
    """One server-sent event."""

    name: str
    data: Any
    id: str | None


class EventStream:
    """Reads server-sent events as a browser does, comments left out."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def __aiter__(self) -> AsyncIterator[SentEvent]:
        while True:
            try:
                yield await self.next()
            except StopAsyncIteration:
                return

    async def next(self) -> SentEvent:
        """Return the next event. Raises StopAsyncIteration at the end, TimeoutError when nothing comes."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                line = await anext(self._lines)
                if not line and fields:
                    return SentEvent(name=fields["event"], data=json.loads(fields["data"]), id=fields.get("id"))
                name, _, value = line.partition(": ")
                if name:
                    fields[name] = value

    async def until(self, name: str, **fields: Any) -> SentEvent:
        """Read on until an event of this name with these fields."""
        while True:
            event = await self.next()
            if event.name == name and all(event.data.get(field) == value for field, value in fields.items()):
                return event


@contextlib.asynccontextmanager
async def event_stream(
    client: httpx2.AsyncClient, session_id: str, *, headers: dict[str, str] | None = None, **query: Any
) -> AsyncGenerator[EventStream]:
    """Open the event stream of a session."""
    path = f"{SESSIONS}/{session_id}/events"
    async with client.stream("GET", path, params=query, headers=headers) as response:
        response.raise_for_status()
        yield EventStream(response)
