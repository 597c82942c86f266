"""Server-sent events against the server process: real CLI, real database, real HTTP; only the model is scripted.

How a query is told is also tried on made-up tapes, and who listens is looked up in a server in this process.
"""

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.support.platform import PASSWORD, PATIENCE_SECONDS, eventually, running_platform
from tests.support.server import Server
from tests.support.talking import (
    SESSIONS,
    EventStream,
    SentEvent,
    answer,
    event_stream,
    new_session,
    until_quiet,
    whole_tape,
)

from claude_sdk_pattern.api import event_stream as routes
from claude_sdk_pattern.api import problems
from claude_sdk_pattern.api.event_stream import QueryStream
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent
from claude_sdk_pattern.model_gateway.loopback import serve_on_loopback

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

SLOW = "stream 80 tokens at 100 tokens per second"


async def send(client: httpx2.AsyncClient, session_id: str, text: str) -> int:
    """Send a message and return its number on the tape."""
    response = await client.post(f"{SESSIONS}/{session_id}/messages", json={"text": text})
    return int(response.raise_for_status().json()["seq"])


async def to_the_end(stream: EventStream) -> list[SentEvent]:
    return [event async for event in stream]


def text(sent: Sequence[SentEvent]) -> str:
    """Put together an answer of one block, as a client does: the whole block takes the place of its pieces."""
    said = ""
    for event in sent:
        if event.name == "assistant_text":
            said = event.data["text"] if event.data.get("replaces") else said + event.data["text"]
    return said


# --- mode=query -------------------------------------------------------------------------------------------------


async def test_a_quiet_session_says_so_and_the_stream_ends(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with event_stream(alice, session_id) as stream:
        headers = stream.response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache"
        assert headers["x-accel-buffering"] == "no"
        assert await to_the_end(stream) == [SentEvent(name="status_change", data={"status": "hibernated"}, id=None)]
    await send(alice, session_id, "say exactly: hello")
    await until_quiet(alice, session_id)
    async with event_stream(alice, session_id) as stream:
        assert await to_the_end(stream) == [SentEvent(name="status_change", data={"status": "idle"}, id=None)]


async def test_a_query_is_told_in_order_up_to_its_end(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    begin = await send(alice, session_id, "run bash: echo two")
    async with event_stream(alice, session_id, after=begin) as stream:
        sent = await to_the_end(stream)
    names = [event.name for event in sent]
    assert names[0] == "status_change"
    order = [names.index(name) for name in ("processing", "assistant_text", "tool_use", "tool_result", "done")]
    assert order == sorted(order)
    assert names.count("done") == 1
    assert names[-1] == "done"
    assert "assistant_text" in names[names.index("tool_result") :]
    by_name = {event.name: event.data for event in sent}
    assert by_name["processing"] == {}
    assert by_name["tool_use"].keys() == {"toolName", "toolInput", "toolUseId"}
    assert (by_name["tool_use"]["toolName"], by_name["tool_use"]["toolInput"]["command"]) == ("Bash", "echo two")
    assert by_name["tool_result"] == {"toolUseId": by_name["tool_use"]["toolUseId"], "result": "two"}
    assert (by_name["done"]["subtype"], by_name["done"]["is_error"]) == ("success", False)
    assert text(sent) == answer(await whole_tape(alice, session_id))
    numbers = [int(event.id) for event in sent[1:] if event.id is not None]
    assert len(numbers) == len(sent) - 1
    assert numbers == sorted(numbers)


async def test_who_joins_in_mid_stream_gets_the_rest_and_no_replay(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with event_stream(alice, session_id, mode="follow", after=0) as watching:
        await send(alice, session_id, SLOW)
        await watching.until("stream_event")
        seen = await watching.until("stream_event")
        async with event_stream(alice, session_id) as stream:
            sent = await to_the_end(stream)
    assert sent[0] == SentEvent(name="status_change", data={"status": "responding"}, id=None)
    assert sent[-1].name == "done"
    assert all(int(event.id or 0) > int(seen.id or 0) for event in sent[1:])
    whole = answer(await whole_tape(alice, session_id))
    assert whole.endswith(text(sent))
    assert 0 < len(text(sent)) < len(whole)


async def test_several_streams_tell_the_same(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    begin = await send(alice, session_id, SLOW)

    async def listen() -> list[SentEvent]:
        async with event_stream(alice, session_id, after=begin) as stream:
            return await to_the_end(stream)

    heard = await asyncio.gather(*(listen() for _ in range(4)))
    whole = answer(await whole_tape(alice, session_id))
    assert [text(sent) for sent in heard] == [whole] * 4
    # What is said first depends on when one came, and deltas may be joined for one who lags.
    told = [[event for event in sent[1:] if event.name != "assistant_text"] for sent in heard]
    assert all(one == told[0] for one in told)


@pytest.mark.parametrize("way", ["Last-Event-ID", "after"])
async def test_who_comes_back_in_the_middle_misses_nothing_and_gets_nothing_twice(
    alice: httpx2.AsyncClient, way: str
) -> None:
    seed = random.randrange(2**32)  # noqa: S311
    moments = random.Random(seed)  # noqa: S311
    session_id = await new_session(alice)
    begin = last_id = await send(alice, session_id, "stream 120 tokens at 100 tokens per second")
    heard: list[SentEvent] = []
    while not heard or heard[-1].name != "done":
        # The header is the newer of the two: a browser repeats the address it began with.
        how: dict[str, Any] = {"after": last_id}
        if way == "Last-Event-ID":
            how = {"after": begin, "headers": {"Last-Event-ID": str(last_id)}}
        enough = moments.randrange(1, 30)
        async with event_stream(alice, session_id, **how) as stream:
            assert (await stream.next()).name == "status_change"
            async for event in stream:
                heard.append(event)
                last_id = int(event.id or 0)
                enough -= 1
                if not enough:
                    break
    assert text(heard) == answer(await whole_tape(alice, session_id)), f"seed {seed}"
    numbers = [int(event.id or 0) for event in heard]
    assert numbers == sorted(set(numbers)), f"seed {seed}"


async def test_who_comes_back_after_the_end_is_told_to_put_the_whole_block_in_place_of_its_pieces(
    alice: httpx2.AsyncClient,
) -> None:
    session_id = await new_session(alice)
    begin = await send(alice, session_id, SLOW)
    async with event_stream(alice, session_id, after=begin) as stream:
        piece = await stream.until("assistant_text")
    await until_quiet(alice, session_id)

    async def is_compacted() -> bool:
        return all(frame["type"] != "stream_event" for frame in await whole_tape(alice, session_id))

    await eventually(is_compacted)
    tape = await whole_tape(alice, session_id)
    async with event_stream(alice, session_id, headers={"Last-Event-ID": str(piece.id)}) as stream:
        missed = await to_the_end(stream)
    pieces = [event.data for event in missed if event.name == "assistant_text"]
    assert pieces == [{"text": answer(tape), "replaces": True}]
    assert missed[-1].name == "done"
    # Its own end was the last it heard of: nothing is left but to say that nothing runs.
    async with event_stream(alice, session_id, headers={"Last-Event-ID": str(missed[-1].id)}) as stream:
        ended = await to_the_end(stream)
    assert {event.name for event in ended} == {"status_change"}
    assert ended[0].data == {"status": "idle"}


async def test_an_interrupted_query_is_done_too(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    begin = await send(alice, session_id, "hang after 3 tokens")
    async with event_stream(alice, session_id, after=begin) as stream:
        await stream.until("assistant_text")
        await alice.post(f"{SESSIONS}/{session_id}/interrupt")
        assert (await to_the_end(stream))[-1].data["subtype"] == "interrupted"


# --- mode=follow ------------------------------------------------------------------------------------------------


async def test_following_carries_the_events_of_the_tape_over_several_turns(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with event_stream(alice, session_id, mode="follow") as stream:
        seen: list[SentEvent] = []
        for number in range(2):
            await send(alice, session_id, f"say exactly: number {number}")
            while [event.data.get("status") for event in seen].count("idle") <= number:
                seen.append(await stream.next())
    for event in seen:
        assert (event.name, event.id) == (event.data["type"], str(event.data["seq"]))
    assert answer(event.data for event in seen) == "number 0number 1"


async def test_a_follower_can_begin_anywhere(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    await send(alice, session_id, "say exactly: hello")
    await until_quiet(alice, session_id)

    async def is_compacted() -> bool:
        return all(frame["type"] != "stream_event" for frame in await whole_tape(alice, session_id))

    await eventually(is_compacted)
    tape = await whole_tape(alice, session_id)
    for after in (0, tape[0]["seq"], tape[2]["seq"], tape[-2]["seq"]):
        expected = [frame for frame in tape if frame["seq"] > after]
        async with event_stream(alice, session_id, mode="follow", after=after) as stream:
            assert [(await stream.next()).data for _ in expected] == expected


@pytest.mark.parametrize("mode", ["follow", "query"])
async def test_a_client_ahead_of_the_tape_is_told_to_start_over(alice: httpx2.AsyncClient, mode: str) -> None:
    session_id = await new_session(alice)
    await send(alice, session_id, "say exactly: hello")
    await until_quiet(alice, session_id)
    tape = await whole_tape(alice, session_id)
    async with event_stream(alice, session_id, mode=mode, after=tape[-1]["seq"] + 5) as stream:
        told = await stream.next()
        assert (told.name, told.id, told.data) == ("resume", None, {"resume": "gap", "from_seq": 1})
        # What is on the tape follows, in the words of the mode.
        await stream.until("text" if mode == "follow" else "done")


async def test_signing_out_ends_a_stream_within_seconds(server: Server, alice: httpx2.AsyncClient) -> None:
    async with server.client("alice") as client:
        session_id = await new_session(client)
        async with event_stream(client, session_id, mode="follow") as stream:
            assert (await client.post("/api/v1/auth/logout")).status_code == 204
            async with asyncio.timeout(5):
                assert await to_the_end(stream) == []


async def test_a_deleted_session_ends_its_streams(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    await alice.patch(f"{SESSIONS}/{session_id}", json={"title": "soon gone"})
    async with event_stream(alice, session_id, mode="follow", after=0) as stream:
        await stream.until("session_updated")
        assert (await alice.delete(f"{SESSIONS}/{session_id}")).status_code == 204
        assert await to_the_end(stream) == []


# --- who may, and what is refused -------------------------------------------------------------------------------


async def test_a_ticket_opens_one_stream(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    ticket = (await alice.post("/api/v1/auth/ticket")).json()["ticket"]
    path = f"{SESSIONS}/{session_id}/events"
    async with httpx2.AsyncClient(base_url=server.url) as browser:
        first = await browser.get(path, params={"ticket": ticket})
        assert (first.status_code, first.text.startswith("event: status_change")) == (200, True)
        for params in ({"ticket": ticket}, {"ticket": "csp_tk_nonsense"}, {}):
            refused = await browser.get(path, params=params)
            assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated")


@pytest.mark.parametrize("last_event_id", ["x", "-1", "1.5", "1 2", "0x1", "9" * 17, "9" * 5000])
async def test_a_last_event_id_that_is_no_number_of_an_event_is_refused(
    alice: httpx2.AsyncClient, last_event_id: str
) -> None:
    session_id = await new_session(alice)
    response = await alice.get(f"{SESSIONS}/{session_id}/events", headers={"Last-Event-ID": last_event_id})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_last_event_id")
    assert response.headers["content-type"] == "application/problem+json"
    assert last_event_id not in response.text.replace("422", "")


async def test_an_empty_last_event_id_is_none(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    response = await alice.get(f"{SESSIONS}/{session_id}/events", headers={"Last-Event-ID": ""})
    assert response.status_code == 200


async def test_who_leaves_is_not_listened_for_any_more(sqlite_url: str, tmp_path: Path) -> None:
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0) as platform:
        app = FastAPI()
        problems.install(app)
        app.include_router(routes.router)
        app.state.services = platform.services
        hub = platform.services.hub
        session = await platform.services.manager.create(owner_id=platform.user.id)
        pair = await platform.services.accounts.login("alice", PASSWORD, "127.0.0.1")
        headers = {"Authorization": f"Bearer {pair.access_token}"}

        async def listening(count: int) -> None:
            async def is_so() -> bool:
                return hub.subscriber_count(session.id) == count

            await eventually(is_so)

        async with serve_on_loopback(app) as url:
            async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_SECONDS) as client:
                async with event_stream(client, session.id, mode="follow"):
                    await listening(1)
                    async with event_stream(client, session.id, mode="follow"):
                        await listening(2)
                    await listening(1)
                await listening(0)


# --- how a query is told, on made-up tapes ----------------------------------------------------------------------


def tape(*said: events.Event) -> list[RecordedEvent]:
    """Number events from 1 on."""
    return [
        RecordedEvent(
            session_id="s",
            seq=seq,
            type=event.model_dump()["type"],
            turn_id="t",
            actor=AGENT,
            ts_ms=0,
            block_id=None,
            payload=event.encode(),
        )
        for seq, event in enumerate(said, start=1)
    ]


def piece(delta: str, block_id: str = "b") -> events.StreamEvent:
    return events.StreamEvent(block_id=block_id, kind="text", delta=delta)


def told(query: QueryStream, recorded: Sequence[RecordedEvent]) -> list[dict[str, Any]]:
    """Return what a query stream makes of the text in some events."""
    sent = [event for item in recorded for event in query.read(item)]
    return [json.loads(event.raw_data or "") for event in sent if event.event == "assistant_text"]


WHOLE = events.Text(block_id="b", content="one two three")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["one ", "two ", "three"], ["one ", "two ", "three"]),
        ([], ["one two three"]),
        (["one "], ["one ", "two three"]),
    ],
)
def test_pieces_of_a_block_add_up_to_it(pieces: list[str], expected: list[str]) -> None:
    query = QueryStream()
    assert told(query, tape(*map(piece, pieces), WHOLE)) == [{"text": part} for part in expected]


@pytest.mark.parametrize("content", ["", "something else"])
def test_a_block_that_was_begun_anew_replaces_its_pieces(content: str) -> None:
    recorded = tape(piece("one "), events.Text(block_id="b", content=content))
    assert told(QueryStream(), recorded) == [{"text": "one "}, {"text": content, "replaces": True}]


@pytest.mark.parametrize("split", range(5))
def test_a_stream_that_was_cut_anywhere_goes_on_where_it_ended(split: int) -> None:
    recorded = tape(piece("one "), piece("two "), piece("three"), WHOLE)
    before, rest = recorded[:split], recorded[split:]
    parts = told(QueryStream(), before) + told(QueryStream(before, split), rest)
    assert "".join(part["text"] for part in parts) == "one two three"
    assert not any("replaces" in part for part in parts)


def test_where_pieces_have_left_the_tape_the_block_replaces_what_the_client_had() -> None:
    recorded = tape(events.Status(status="thinking"), piece("one "), WHOLE)
    before, rest = recorded[:1], recorded[2:]
    assert told(QueryStream(before, 2), rest) == [{"text": "one two three", "replaces": True}]


def test_a_subagents_words_are_not_the_answer() -> None:
    aside = events.Text(block_id="a", content="aside", parent_tool_use_id="call")
    assert told(QueryStream(), tape(piece("one "), aside, WHOLE)) == [{"text": "one "}, {"text": "two three"}]


def test_an_error_is_told_in_words() -> None:
    error = events.Error(code="api_unavailable", message="Try later.", recoverable=True, retry_after_ms=5)
    [sent] = QueryStream().read(tape(error)[0])
    assert sent.event == "error"
    assert sent.raw_data == '{"message":"Try later.","recoverable":true}'
    assert sent.id == "1"
