"""The WebSocket against the server process: real CLI, real gateway, real database, real sockets; a scripted model."""

import asyncio
import contextlib
import json
import random
import shutil
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from tests.api.conftest import FRIENDLY_ORIGIN, MAX_QUEUED_MESSAGES
from tests.support.platform import PATIENCE_SECONDS, SECRET_KEY, eventually
from tests.support.server import CLOSE_SECONDS, ChatSocket, Frame, Server, running_server
from tests.support.talking import answer, ask, events, new_session, say, whole_tape
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from claude_sdk_pattern.accounts.access_tokens import ALGORITHM, AUDIENCE, ISSUER
from claude_sdk_pattern.accounts.keys import derive_key
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

CANARY = "canary-that-must-not-come-back"


@pytest.fixture(scope="module")
async def story(server: Server, alice: httpx2.AsyncClient) -> str:
    """A session with three turns, one of them with a tool, that tests only read."""
    session_id = await new_session(alice, title="The story")
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await ask(chat, "say exactly: one", "story-1")
        await ask(chat, "run bash: echo two", "story-2")
        await ask(chat, "stream 30 tokens at 300 tokens per second", "story-3")

    # Deltas leave the tape after the end of their turn, which nothing announces.
    async def is_compacted() -> bool:
        return all(frame["type"] != "stream_event" for frame in await whole_tape(alice, session_id))

    await eventually(is_compacted)
    return session_id


@contextlib.asynccontextmanager
async def opened(
    server: Server, *, query: str = "", protocols: Sequence[str] | None = None, **options: Any
) -> AsyncGenerator[ChatSocket]:
    """Open a chat with any credentials, or none."""
    url = f"{server.url.replace('http', 'ws', 1)}/ws/v1/chat{query}"
    options = {"close_timeout": CLOSE_SECONDS, **options}
    async with connect(url, subprotocols=protocols, **options) as socket:  # pyright: ignore[reportArgumentType]
        yield ChatSocket(socket)


async def closing(chat: ChatSocket) -> tuple[int, str]:
    """Read to the end and return how the server closed."""
    with pytest.raises(ConnectionClosed) as closed:
        await chat.until("nothing that a server sends")
    assert closed.value.rcvd is not None, "the connection broke"
    return closed.value.rcvd.code, closed.value.rcvd.reason


async def read_to(chat: ChatSocket, last_seq: int) -> list[Frame]:
    """Read until an event of the tape, and return all events so far."""
    while True:
        frame = await chat.receive()
        if frame.get("seq") == last_seq:
            return events(chat)


def token(client: httpx2.AsyncClient) -> str:
    return client.headers["authorization"].removeprefix("Bearer ")


# --- connecting -------------------------------------------------------------------------------------------------


async def test_hello_says_what_a_client_needs_to_begin(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, title="Greetings", model="claude-opus-4-5", permission_mode="plan")
    me = (await alice.get("/api/v1/auth/me")).json()
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        assert chat.socket.subprotocol == "csp.v1"
        assert await chat.receive() == {
            "type": "hello",
            "protocol": "csp.v1",
            "session_id": session_id,
            "title": "Greetings",
            "model": "claude-opus-4-5",
            "permission_mode": "plan",
            "plugins": [],
            "status": "hibernated",
            "last_seq": 0,
            "cost_usd": 0.0,
            "resume": "ok",
            "you": {"id": me["id"], "username": "alice", "role": "user"},
            "participants": [{"id": me["id"], "username": "alice", "state": "active"}],
        }


async def test_without_a_session_a_new_one_is_made(server: Server, alice: httpx2.AsyncClient) -> None:
    async with server.chat(alice) as first, server.chat(alice) as second:
        ids = [(await chat.receive())["session_id"] for chat in (first, second)]
    assert len(set(ids)) == 2
    for session_id in ids:
        assert (await alice.get(f"/api/v1/sessions/{session_id}")).json()["id"] == session_id


async def test_hello_comes_first_even_for_a_client_that_asks_at_once(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        for _ in range(10):
            await chat.send(type="ping")
        assert (await chat.receive())["type"] == "hello"
        for _ in range(10):
            await chat.until("pong")


async def test_ping_is_answered_with_pong(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        await chat.send(type="ping")
        assert await chat.until("pong") == {"type": "pong"}


# --- who may ----------------------------------------------------------------------------------------------------


def expired_token() -> str:
    """Return a token that is over."""
    now = datetime.now(UTC)
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "someone", "sid": "some-login", "role": "user", "jti": "an id"}
    moments = {"iat": now - timedelta(hours=2), "exp": now - timedelta(hours=1)}
    return jwt.encode(claims | moments, derive_key(SECRET_KEY, "access-token"), algorithm=ALGORITHM)


@pytest.mark.parametrize(
    "protocols",
    [
        None,
        ["csp.v1"],
        ["csp.v1", "csp.bearer."],
        ["csp.v1", "csp.bearer.nonsense"],
        ["csp.v1", f"csp.bearer.{expired_token()}"],
        ["csp.v1", "csp.bearer.one", "csp.bearer.two"],
    ],
    ids=["nothing", "no token", "empty", "nonsense", "expired", "two"],
)
async def test_without_a_valid_token_the_connection_is_closed(
    server: Server, story: str, protocols: Sequence[str] | None
) -> None:
    for query in ("", f"?session_id={story}", "?session_id=nowhere", "?ticket=csp_tk_nonsense"):
        async with opened(server, query=query, protocols=protocols) as chat:
            assert await closing(chat) == (4401, "sign in again")
            assert chat.frames == []


async def test_a_ticket_opens_one_connection(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    ticket = (await alice.post("/api/v1/auth/ticket")).json()["ticket"]
    query = f"?session_id={story}&ticket={ticket}"
    async with opened(server, query=query) as chat:
        assert (await chat.receive())["you"]["username"] == "alice"
    async with opened(server, query=query) as again:
        assert (await closing(again))[0] == 4401


async def test_somebody_elses_session_looks_like_one_that_does_not_exist(
    server: Server, bob: httpx2.AsyncClient, story: str
) -> None:
    seen: list[tuple[tuple[int, str], list[Frame]]] = []
    for session_id in (story, "01890000-0000-7000-8000-000000000000", "nonsense"):
        async with server.chat(bob, f"?session_id={session_id}") as chat:
            seen.append((await closing(chat), chat.frames))
    assert seen == [((4404, "no such session"), [])] * 3


async def test_an_administrator_may_read_and_write_in_others_sessions(
    server: Server, alice: httpx2.AsyncClient, ada: httpx2.AsyncClient
) -> None:
    session_id = await new_session(alice)
    async with server.chat(ada, f"?session_id={session_id}") as chat:
        await ask(chat, "say exactly: from above", "ada-1")
        me = (await ada.get("/api/v1/auth/me")).json()["id"]
        [message] = [frame for frame in events(chat) if frame["type"] == "user_message"]
        assert message["actor"] == f"user:{me}"
        assert answer(events(chat)) == "from above"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "https://127.0.0.1"])
async def test_a_page_of_another_origin_gets_no_connection(
    server: Server, alice: httpx2.AsyncClient, origin: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with server.chat(alice, additional_headers={"Origin": origin}):
            pass
    assert refused.value.response.status_code == 403


async def test_pages_of_the_server_and_of_allowed_origins_are_served(server: Server, alice: httpx2.AsyncClient) -> None:
    for origin in (server.url, FRIENDLY_ORIGIN):
        async with server.chat(alice, additional_headers={"Origin": origin}) as chat:
            assert (await chat.receive())["type"] == "hello"


async def test_signing_out_closes_open_connections_within_seconds(server: Server) -> None:
    async with server.client("bob") as first, server.client("bob") as second:
        async with server.chat(first) as ended, server.chat(second) as other:
            await ended.until("hello")
            await other.until("hello")
            assert (await first.post("/api/v1/auth/logout")).status_code == 204
            async with asyncio.timeout(5):
                assert (await closing(ended))[0] == 4401
            await other.send(type="ping")
            await other.until("pong")


async def test_a_login_that_has_ended_opens_nothing(server: Server) -> None:
    async with server.client("bob") as client:
        session_id = await new_session(client)
        assert (await client.post("/api/v1/auth/logout")).status_code == 204
        async with server.chat(client, f"?session_id={session_id}") as chat:
            assert (await closing(chat))[0] == 4401


async def test_watchers_of_a_deleted_session_are_told(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await chat.until("hello")
        assert (await alice.delete(f"/api/v1/sessions/{session_id}")).status_code == 204
        assert (await closing(chat))[0] == 4404


# --- the rest of the tape ---------------------------------------------------------------------------------------


async def test_a_client_gets_exactly_what_comes_after_the_last_event_it_has(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    tape = await whole_tape(alice, story)
    last_seq = tape[-1]["seq"]
    seed = random.randrange(2**32)  # noqa: S311
    numbers = random.Random(seed).sample(range(1, last_seq), 8)  # noqa: S311
    for after in [0, *numbers]:
        async with server.chat(alice, f"?session_id={story}&after={after}") as chat:
            hello = await chat.receive()
            assert (hello["resume"], hello["last_seq"]) == ("ok", last_seq)
            assert "from_seq" not in hello
            rest = [frame for frame in tape if frame["seq"] > after]
            assert await read_to(chat, last_seq) == rest, f"after {after} (seed {seed})"


async def test_a_client_that_has_everything_gets_nothing_but_hello(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    last_seq = (await alice.get(f"/api/v1/sessions/{story}")).json()["last_seq"]
    async with server.chat(alice, f"?session_id={story}&after={last_seq}") as chat:
        assert (await chat.receive())["resume"] == "ok"
        await chat.send(type="ping")
        assert (await chat.receive())["type"] == "pong"


@pytest.mark.parametrize("beyond", [1, 10**6, 10**30])
async def test_a_client_ahead_of_the_tape_is_told_to_start_over(
    server: Server, alice: httpx2.AsyncClient, story: str, beyond: int
) -> None:
    tape = await whole_tape(alice, story)
    async with server.chat(alice, f"?session_id={story}&after={tape[-1]['seq'] + beyond}") as chat:
        hello = await chat.receive()
        assert (hello["resume"], hello["from_seq"]) == ("gap", 1)
        assert await read_to(chat, tape[-1]["seq"]) == tape


async def test_sync_sends_the_tape_again_from_anywhere(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    tape = await whole_tape(alice, story)
    last_seq = tape[-1]["seq"]
    async with server.chat(alice, f"?session_id={story}&after={last_seq}") as chat:
        await chat.until("hello")
        for after in (0, tape[3]["seq"], tape[-2]["seq"]):
            chat.frames.clear()
            await chat.send(type="session_command", command="sync", last_message_seq=after)
            assert (await chat.until("hello"))["resume"] == "ok"
            assert await read_to(chat, last_seq) == [frame for frame in tape if frame["seq"] > after]
        chat.frames.clear()
        await chat.send(type="session_command", command="sync", last_message_seq=last_seq + 7)
        assert (await chat.until("hello"))["resume"] == "gap"
        assert await read_to(chat, last_seq) == tape


# --- several tabs -----------------------------------------------------------------------------------------------


async def raw_until_idle(chat: ChatSocket) -> list[str]:
    """Read what comes, as it comes, up to the end of a turn; return the events of the tape."""
    raw: list[str] = []
    while True:
        async with asyncio.timeout(PATIENCE_SECONDS):
            text = str(await chat.socket.recv())
        frame = json.loads(text)
        if "seq" in frame:
            raw.append(text)
        if frame.get("status") == "idle":
            return raw


async def test_two_tabs_see_the_same_bytes(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as first:
        async with server.chat(alice, f"?session_id={session_id}") as second:
            await first.until("hello")
            await second.until("hello")
            await first.send(type="user_message", text="stream 40 tokens at 200 tokens per second", client_id="c1")
            seen = await asyncio.gather(raw_until_idle(first), raw_until_idle(second))
    kept = [[text for text in raw if json.loads(text)["type"] != "stream_event"] for raw in seen]
    assert kept[0] == kept[1]
    # Deltas may be joined for one who lags; what they add up to is the same.
    folded = [answer(json.loads(text) for text in raw if '"stream_event"' in text) for raw in seen]
    assert folded[0] == folded[1] == answer(json.loads(text) for text in kept[0])
    [echo] = [text for text in kept[0] if '"type":"user_message"' in text]
    assert json.loads(echo)["client_id"] == "c1"


async def test_a_tab_that_joins_in_mid_stream_sees_all_that_stands_once(
    server: Server, alice: httpx2.AsyncClient
) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as first:
        await say(first, "stream 60 tokens at 100 tokens per second", "c1")
        await first.until("stream_event")
        async with server.chat(alice, f"?session_id={session_id}") as late:
            await late.until("result")
            await first.until("result")
    numbers = [frame["seq"] for frame in events(late)]
    assert numbers == sorted(set(numbers))
    lasting = [[frame for frame in events(chat) if frame["type"] != "stream_event"] for chat in (first, late)]
    assert lasting[0] == lasting[1]
    streamed = [frame for frame in events(late) if frame["type"] == "stream_event"]
    assert answer(streamed) == answer(events(first)) == answer(lasting[1])


async def test_the_same_message_from_two_tabs_runs_once(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as first:
        async with server.chat(alice, f"?session_id={session_id}") as second:
            for chat in (first, second, first):
                await chat.send(type="user_message", text="say exactly: once", client_id="the same")
            await first.until("result")
            await first.until("status", status="idle")
            await second.send(type="user_message", text="say exactly: once", client_id="the same")
            await ask(second, "say exactly: and another", "another")
    tape = await whole_tape(alice, session_id)
    messages = [frame["client_id"] for frame in tape if frame["type"] == "user_message"]
    assert messages == ["the same", "another"]
    assert len([frame for frame in tape if frame["type"] == "result"]) == 2
    assert not [frame for chat in (first, second) for frame in chat.frames if frame["type"] == "error"]


async def test_everybody_sees_who_is_there_and_what_they_do(
    server: Server, alice: httpx2.AsyncClient, ada: httpx2.AsyncClient
) -> None:
    session_id = await new_session(alice)
    query = f"?session_id={session_id}"

    async def seen(chat: ChatSocket, **states: str) -> None:
        while True:
            frame = await chat.until("presence")
            assert "seq" not in frame
            if {person["username"]: person["state"] for person in frame["participants"]} == states:
                return

    async with server.chat(alice, query) as first:
        await first.until("hello")
        async with server.chat(ada, query) as other:
            names = {person["username"] for person in (await other.until("hello"))["participants"]}
            assert names == {"alice", "ada"}
            await seen(first, alice="active", ada="active")
            await other.send(type="presence", state="typing")
            await seen(first, alice="active", ada="typing")
            # The liveliest of a person's tabs counts, and one person is one participant.
            async with server.chat(alice, query) as second:
                await second.until("hello")
                await first.send(type="presence", state="idle")
                await second.send(type="presence", state="typing")
                await seen(other, alice="typing", ada="typing")
            await seen(other, alice="idle", ada="typing")
        await seen(first, alice="idle")


# --- turns ------------------------------------------------------------------------------------------------------


async def test_messages_wait_their_turn_and_too_many_are_refused(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await say(chat, "hang after 2 tokens", "first")
        await chat.until("stream_event")
        for number in range(MAX_QUEUED_MESSAGES):
            await say(chat, f"say exactly: number {number}", f"waiting-{number}")
        await chat.send(type="user_message", text="say exactly: one too many", client_id="refused")
        error = await chat.until("error")
        assert (error["code"], error["client_id"]) == ("session_busy", "refused")
        assert error["recoverable"] is True
        await chat.send(type="interrupt")
        assert (await chat.until("result"))["subtype"] == "interrupted"
        for number in range(MAX_QUEUED_MESSAGES):
            result = await chat.until("result")
            assert answer(events(chat), result["turn_id"]) == f"number {number}"
    tape = await whole_tape(alice, session_id)
    assert "refused" not in [frame.get("client_id") for frame in tape]


async def test_stop_ends_the_turn_and_keeps_what_was_said(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        turn_id = await say(chat, "hang after 5 tokens", "c1")
        await chat.until("stream_event")
        await chat.send(type="interrupt")
        result = await chat.until("result", turn_id=turn_id)
        assert (result["subtype"], result["is_error"]) == ("interrupted", False)
        assert answer(events(chat), turn_id)
        await ask(chat, "say exactly: still here", "c2")
        assert answer(events(chat)).endswith("still here")


async def test_stop_when_nothing_runs_is_no_error(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        await chat.send(type="interrupt")
        await chat.send(type="ping")
        await chat.until("pong")
        assert not [frame for frame in chat.frames if frame["type"] == "error"]


async def test_a_permission_request_can_be_answered_from_another_tab_and_once(
    server: Server, alice: httpx2.AsyncClient
) -> None:
    session_id = await new_session(alice, permission_mode="default")
    async with server.chat(alice, f"?session_id={session_id}") as first:
        async with server.chat(alice, f"?session_id={session_id}") as second:
            turn_id = await say(first, "run bash: touch asked && echo done", "c1")
            request = await second.until("permission_request")
            assert request["tool"] == "Bash"
            assert request["turn_id"] == turn_id
            reply = {"type": "permission_response", "request_id": request["request_id"]}
            await second.send(**reply, decision="allow")
            resolved = await first.until("permission_resolved")
            me = (await alice.get("/api/v1/auth/me")).json()["id"]
            assert (resolved["decision"], resolved["by"]) == ("allow", me)
            await first.send(**reply, decision="deny")
            error = await first.until("error")
            assert error["code"] == "request_not_pending"
            await first.until("result", turn_id=turn_id)
            await first.send(type="ping")
            await first.until("pong")
    assert "done" in answer(events(first), turn_id)
    decisions = [frame for frame in await whole_tape(alice, session_id) if frame["type"] == "permission_resolved"]
    assert [frame["decision"] for frame in decisions] == ["allow"]


# --- commands ---------------------------------------------------------------------------------------------------


async def test_model_and_permission_mode_can_be_changed(server: Server, alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await chat.send(type="session_command", command="set_model", model="claude-opus-4-5")
        assert (await chat.until("session_updated"))["model"] == "claude-opus-4-5"
        await chat.send(type="session_command", command="set_permission_mode", permission_mode="plan")
        updated = await chat.until("session_updated")
        assert updated["permission_mode"] == "plan"
        assert "model" not in updated
        assert updated["actor"].startswith("user:")
        await ask(chat, "how many messages", "c1")
        assert "claude-opus-4-5" in answer(events(chat))
    session = (await alice.get(f"/api/v1/sessions/{session_id}")).json()
    assert (session["model"], session["permission_mode"]) == ("claude-opus-4-5", "plan")


async def test_a_fork_is_a_session_of_its_own_with_the_same_past(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    before = await whole_tape(alice, story)
    first_end = next(frame["seq"] for frame in before if frame["type"] == "result")
    async with server.chat(alice, f"?session_id={story}") as chat:
        await chat.send(type="session_command", command="fork")
        whole = await chat.until("session_command_result", command="fork")
        await chat.send(type="session_command", command="fork", at_seq=first_end)
        early = await chat.until("session_command_result", command="fork")
    assert len({story, whole["session_id"], early["session_id"]}) == 3
    copied = [frame | {"session_id": story} for frame in await whole_tape(alice, early["session_id"])]
    assert copied == [frame for frame in before if frame["seq"] <= first_end]
    assert await whole_tape(alice, story) == before


async def test_there_is_nothing_to_fork_before_the_first_answer(server: Server, alice: httpx2.AsyncClient) -> None:
    async with server.chat(alice) as chat:
        await chat.send(type="session_command", command="fork")
        assert (await chat.until("error"))["code"] == "refused"


async def test_continue_names_the_session_of_the_latest_activity(server: Server) -> None:
    async with server.client("bob") as bob:
        older = await new_session(bob, title="older")
        latest = await new_session(bob, title="latest")
        async with server.chat(bob, f"?session_id={older}") as chat:
            await chat.send(type="session_command", command="continue")
            found = await chat.until("session_command_result")
    assert found == {"type": "session_command_result", "command": "continue", "session_id": latest}


async def test_resume_brings_the_agent_up_before_the_first_message(server: Server, alice: httpx2.AsyncClient) -> None:
    async with server.chat(alice) as chat:
        hello = await chat.until("hello")
        assert hello["status"] == "hibernated"
        await chat.send(type="session_command", command="resume")
        await chat.until("status", status="idle")
        session = (await alice.get(f"/api/v1/sessions/{hello['session_id']}")).json()
        assert session["status"] == "idle"


# --- bad frames -------------------------------------------------------------------------------------------------

BAD_FRAMES: dict[str, str | bytes] = {
    "not JSON": CANARY,
    "half of JSON": f'{{"type": "ping", "{CANARY}',
    "no object": f'["{CANARY}"]',
    "binary": json.dumps({"type": "ping", "x": CANARY}).encode(),
    "no type": json.dumps({"text": CANARY}),
    "unknown type": json.dumps({"type": CANARY}),
    "type that is no text": json.dumps({"type": {"x": CANARY}}),
    "switch without a position": json.dumps({"type": "plugin_config", "plugin": CANARY}),
    "unknown command": json.dumps({"type": "session_command", "command": CANARY}),
    "no command": json.dumps({"type": "session_command", "last_message_seq": CANARY}),
    "missing field": json.dumps({"type": "user_message", "text": CANARY}),
    "extra field": json.dumps({"type": "ping", "extra": CANARY}),
    "wrong type": json.dumps({"type": "user_message", "text": [CANARY], "client_id": "c"}),
    "empty client_id": json.dumps({"type": "user_message", "text": CANARY, "client_id": ""}),
    "long client_id": json.dumps({"type": "user_message", "text": "x", "client_id": CANARY * 10}),
    "client_id with control characters": json.dumps({"type": "user_message", "text": "x", "client_id": f"{CANARY}\n"}),
    "attachments": json.dumps({"type": "user_message", "text": "x", "client_id": "c", "attachments": [CANARY * 2]}),
    "unknown decision": json.dumps({"type": "permission_response", "request_id": "r", "decision": CANARY}),
    "unknown state": json.dumps({"type": "presence", "state": CANARY}),
    "unknown mode": json.dumps(
        {"type": "session_command", "command": "set_permission_mode", "permission_mode": CANARY}
    ),
    "bypassing permissions": json.dumps(
        {"type": "session_command", "command": "set_permission_mode", "permission_mode": "bypassPermissions"}
    ),
    "strange model": json.dumps({"type": "session_command", "command": "set_model", "model": f"--{CANARY}"}),
    "sync to nowhere": json.dumps({"type": "session_command", "command": "sync", "last_message_seq": -1}),
    "fork at an endless number": '{"type": "session_command", "command": "fork", "at_seq": 1' + "0" * 40 + "}",
    "half a surrogate pair": '{"type": "user_message", "client_id": "c", "text": "\\ud800"}',
}


async def test_a_bad_frame_is_answered_without_its_content_and_ends_nothing(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        for name, frame in BAD_FRAMES.items():
            await chat.socket.send(frame)
            error = await chat.until("error")
            assert error["code"] == "invalid_frame", name
            assert error["recoverable"] is True
            assert error["message"], name
            assert "seq" not in error
            assert CANARY not in json.dumps(error), name
            await chat.send(type="ping")
            await chat.until("pong")


async def test_what_is_wrong_with_a_frame_is_said(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        await chat.send(type="user_message", text="x")
        assert "client_id" in (await chat.until("error"))["message"]
        await chat.send(type="nonsense")
        assert "'user_message'" in (await chat.until("error"))["message"]


async def test_an_empty_and_a_too_long_message_are_refused_by_name(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    tape = await whole_tape(alice, story)
    async with server.chat(alice, f"?session_id={story}&after={tape[-1]['seq']}") as chat:
        for text, code in (("", "refused"), (" \n\t", "refused"), (CANARY * 2000, "message_too_long")):
            await chat.send(type="user_message", text=text, client_id="bad")
            error = await chat.until("error")
            assert (error["code"], error["client_id"]) == (code, "bad")
            assert CANARY not in error["message"]
    assert await whole_tape(alice, story) == tape


async def test_ten_bad_frames_in_a_row_end_the_connection(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        for _ in range(3):
            for _ in range(9):
                await chat.send(type="nonsense")
            await chat.send(type="ping")
        for _ in range(3):
            await chat.until("pong")
        for _ in range(10):
            await chat.send(type="nonsense")
        assert (await closing(chat))[0] == 1008


async def test_a_frame_over_a_mebibyte_is_refused(server: Server, alice: httpx2.AsyncClient, story: str) -> None:
    async with server.chat(alice, f"?session_id={story}") as chat:
        await chat.until("hello")
        await chat.socket.send(json.dumps({"type": "nonsense", "x": "x" * (1024 * 1024 - 64)}))
        assert (await chat.until("error"))["code"] == "invalid_frame"
        await chat.socket.send("x" * (1024 * 1024 + 1))
        assert (await closing(chat))[0] == 1009


# --- the end ----------------------------------------------------------------------------------------------------


async def test_a_server_that_is_told_to_stop_says_so_and_ends_well(
    sqlite_template: Path, tmp_path: Path, anyio_backend: str
) -> None:
    shutil.copy(sqlite_template, tmp_path / "test.db")
    url = f"sqlite+aiosqlite:///{tmp_path / 'test.db'}"
    async with running_scripted_model() as model:
        async with running_server(model.base_url, url, tmp_path / "data", prewarm_pool_size="0") as server:
            async with server.client() as client, server.chat(client) as chat:
                session_id = (await chat.until("hello"))["session_id"]
                await say(chat, "hang after 3 tokens", "c1")
                await chat.until("stream_event")
                seen = events(chat)
                await server.stop()
                assert (await closing(chat))[0] == 1012
            assert server.process is not None
            assert server.process.returncode == 0
            await server.start()
            async with server.client() as client:
                tape = await whole_tape(client, session_id)
    assert [frame["subtype"] for frame in tape if frame["type"] == "result"] == ["interrupted"]
    assert answer(tape).startswith(answer(seen))
