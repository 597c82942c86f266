"""The REST routes of sessions against the server process: real CLI, real database; only the model is scripted.

What the server answers outside of ``/api`` is asked of the application in this process.
"""

import asyncio
import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.platform import SECRET_KEY
from tests.support.server import Server
from tests.support.talking import SESSIONS, answer, event_stream, events, new_session, until_quiet, whole_tape

from claude_sdk_pattern import main
from claude_sdk_pattern.api.schema import openapi_schema
from claude_sdk_pattern.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

CANARY = "canary-that-must-not-come-back"
NOWHERE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
async def story(alice: httpx2.AsyncClient) -> str:
    """A session with two answered turns, that tests only read."""
    session_id = await new_session(alice, title="A story")
    for number, text in enumerate(("say exactly: first", "say exactly: second"), start=1):
        await send(alice, session_id, text)
        await until_quiet(alice, session_id, number)
    return session_id


async def send(client: httpx2.AsyncClient, session_id: str, text: str, **fields: Any) -> dict[str, Any]:
    """Send a message and return what the server said to it."""
    response = await client.post(f"{SESSIONS}/{session_id}/messages", json={"text": text, **fields})
    assert response.status_code == 202, response.text
    return response.json()


async def pages(client: httpx2.AsyncClient, **query: Any) -> list[list[dict[str, Any]]]:
    """Read the whole list of sessions, page by page."""
    found: list[list[dict[str, Any]]] = []
    cursor: str | None = None
    while True:
        params = query if cursor is None else {**query, "cursor": cursor}
        body = (await client.get(SESSIONS, params=params)).raise_for_status().json()
        found.append(body["items"])
        cursor = body["next_cursor"]
        if cursor is None:
            return found


def ids(items: Sequence[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items]


def code(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    assert response.json()["status"] == response.status_code
    return response.status_code, response.json()["code"]


# --- sessions ---------------------------------------------------------------------------------------------------


async def test_a_new_session_has_what_was_asked_for_and_defaults_for_the_rest(alice: httpx2.AsyncClient) -> None:
    me = (await alice.get("/api/v1/auth/me")).json()["id"]
    plain = await alice.post(SESSIONS, json={})
    assert plain.status_code == 201
    session = plain.json()
    assert session | {"id": "", "created_at": "", "last_active_at": ""} == {
        "id": "",
        "title": "New chat",
        "status": "hibernated",
        "owner": me,
        "model": "claude-sonnet-4-5",
        "permission_mode": "acceptEdits",
        "plugins": [],
        "profile": None,
        "profile_display_name": None,
        "last_seq": 0,
        "cost_usd": 0.0,
        "context_percent": None,
        "forked_from": None,
        "created_at": "",
        "last_active_at": "",
    }
    wishes = {"title": "Löwe & <b>", "model": "claude-opus-4-5", "permission_mode": "dontAsk"}
    wished = (await alice.post(SESSIONS, json=wishes)).json()
    assert {name: wished[name] for name in wishes} == wishes
    assert (await alice.get(f"{SESSIONS}/{wished['id']}")).json() == wished


async def test_a_change_touches_what_it_names_and_is_told_on_the_tape(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, title="before", model="claude-opus-4-5")
    before = (await alice.get(f"{SESSIONS}/{session_id}")).json()
    changed = await alice.patch(f"{SESSIONS}/{session_id}", json={"title": "after"})
    assert changed.status_code == 200
    assert changed.json() == before | {"title": "after", "last_seq": 1}
    [event] = await whole_tape(alice, session_id)
    assert (event["type"], event["title"]) == ("session_updated", "after")
    assert "model" not in event
    assert (await alice.patch(f"{SESSIONS}/{session_id}", json={})).json() == changed.json()


async def test_a_deleted_session_is_gone(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, title="soon gone")
    assert (await alice.delete(f"{SESSIONS}/{session_id}")).status_code == 204
    assert code(await alice.get(f"{SESSIONS}/{session_id}")) == (404, "session_not_found")
    assert code(await alice.delete(f"{SESSIONS}/{session_id}")) == (404, "session_not_found")
    assert (await pages(alice, q="soon gone")) == [[]]


async def test_the_first_message_names_an_untitled_session(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    await send(alice, session_id, "say exactly: the word\nis heron")
    await until_quiet(alice, session_id)
    assert (await alice.get(f"{SESSIONS}/{session_id}")).json()["title"] == "say exactly: the word is heron"


# --- lists ------------------------------------------------------------------------------------------------------


async def test_pages_hold_every_session_once_latest_first(alice: httpx2.AsyncClient) -> None:
    made = [await new_session(alice, title=f"paged {number}") for number in range(5)]
    found = await pages(alice, q="paged", limit=2)
    assert [len(page) for page in found] == [2, 2, 1]
    assert [session_id for page in found for session_id in ids(page)] == made[::-1]
    assert [ids(page) for page in await pages(alice, q="paged", limit=5)] == [made[::-1]]
    everything = [session_id for page in await pages(alice, limit=3) for session_id in ids(page)]
    assert len(everything) == len(set(everything))
    assert set(made) <= set(everything)


async def test_people_see_their_own_sessions_and_administrators_all(
    alice: httpx2.AsyncClient, bob: httpx2.AsyncClient, ada: httpx2.AsyncClient
) -> None:
    mine, his = await new_session(alice, title="whose"), await new_session(bob, title="whose")
    assert [ids(page) for page in await pages(alice, q="whose")] == [[mine]]
    assert [ids(page) for page in await pages(bob, q="whose")] == [[his]]
    # What is everybody's, administrators find in the administration.
    assert [ids(page) for page in await pages(ada, q="whose")] == [[]]
    everybody_s = (await ada.get("/api/v1/admin/sessions", params={"q": "whose"})).json()["items"]
    assert {session["id"] for session in everybody_s} >= {his, mine}


AWKWARD = ["50% off", "snake_case", 'she said "hi"', "back\\slash", "a'; DROP TABLE sessions; --", "Größe", "🦊 fox"]


@pytest.mark.parametrize("words", AWKWARD)
async def test_titles_are_searched_for_exactly_the_words(alice: httpx2.AsyncClient, words: str) -> None:
    session_id = await new_session(alice, title=f"title with {words} inside")
    found = await pages(alice, q=words, limit=200)
    assert session_id in ids(found[0])
    assert all(words in item["title"] for item in found[0])


async def test_messages_and_answers_are_searched_for_exactly_the_words(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, title="searched")
    text = " ".join(word.replace(" ", "~") for word in AWKWARD)
    await send(alice, session_id, f"say exactly: {text}", client_id="hidden-id")
    await until_quiet(alice, session_id)
    for word in AWKWARD:
        assert session_id in ids((await pages(alice, q=word.replace(" ", "~"), limit=200))[0]), word
    answered = await new_session(alice, title="answered")
    await send(alice, answered, 'run bash: echo "qua" | tr -d "\\n"; echo "gga"')
    await until_quiet(alice, answered)
    assert ids((await pages(alice, q="quagga"))[0]) == [answered]
    # What is no word of the conversation is not found: names of fields, ids, wildcards that match anything.
    for word in ("hidden-id", "client_id", "block_id", "user_message", '","', "50%~_ff", "s_arch_d"):
        assert session_id not in ids((await pages(alice, q=word, limit=200))[0]), word


async def test_search_takes_small_and_capital_letters_for_the_same(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, title="The Kakapo")
    assert ids((await pages(alice, q="kAKAPO"))[0]) == [session_id]


# --- who may ----------------------------------------------------------------------------------------------------

APPROVAL = {"decision": "allow"}
# Bodies do nothing lasting, and what they ask for can be told from a refusal: (method, path, body, owner's answer).
ROUTES: list[tuple[str, str, dict[str, Any] | None, int]] = [
    ("GET", "", None, 200),
    ("PATCH", "", {"title": "mine"}, 200),
    ("GET", "/messages", None, 200),
    ("GET", "/messages/{seq}", None, 404),
    ("POST", "/messages", {"text": " "}, 422),
    ("POST", "/interrupt", None, 200),
    ("POST", "/fork", {}, 409),
    ("POST", "/rewind", {"before_seq": 1}, 409),
    ("POST", "/attachments", None, 415),
    ("GET", "/attachments/{attachment_id}", None, 404),
    ("GET", "/apps/{seq}", None, 404),
    ("GET", "/apps/{seq}/page", None, 404),
    ("GET", "/apps/{seq}/resource?uri=ui://x", None, 404),
    ("POST", "/apps/{seq}/call", {"tool": "x"}, 404),
    ("GET", "/approvals", None, 200),
    ("POST", "/approvals/{request_id}", APPROVAL, 409),
    ("GET", "/rules", None, 200),
    ("DELETE", "/rules/{rule_id}", None, 404),
    ("GET", "/events", None, 200),
    ("DELETE", "", None, 204),
]


async def test_every_route_of_a_session_hides_it_from_others(
    server: Server, alice: httpx2.AsyncClient, bob: httpx2.AsyncClient, ada: httpx2.AsyncClient
) -> None:
    documented = {
        (method.upper(), path.removeprefix(f"{SESSIONS}/{{session_id}}"))
        for path, methods in openapi_schema()["paths"].items()
        if path.startswith(f"{SESSIONS}/{{session_id}}")
        for method in methods
    }
    assert documented == {(method, path.partition("?")[0]) for method, path, _, _ in ROUTES}
    for owner in (alice, ada):
        session_id = await new_session(alice)
        async with httpx2.AsyncClient(base_url=server.url) as nobody:
            for method, path, body, expected in ROUTES:
                tail = path.format(request_id="some-request", seq=10**9, attachment_id="some-file", rule_id="some-rule")
                how: dict[str, Any] = {} if body is None else {"json": body}
                where = f"{SESSIONS}/{session_id}{tail}"
                assert code(await nobody.request(method, where, **how)) == (401, "not_authenticated")
                hidden = await bob.request(method, where, **how)
                absent = await bob.request(method, f"{SESSIONS}/{NOWHERE}{tail}", **how)
                assert code(hidden) == (404, "session_not_found")
                assert hidden.content == absent.content
                # Not even what is wrong with a request tells that the session is there.
                odd = await bob.request(method, where, json={CANARY: CANARY})
                assert odd.content == hidden.content
                assert (await owner.request(method, where, **how)).status_code == expected, (method, path)


async def test_without_a_token_nothing_can_be_listed_or_made(server: Server) -> None:
    async with httpx2.AsyncClient(base_url=server.url) as nobody:
        assert code(await nobody.get(SESSIONS)) == (401, "not_authenticated")
        assert code(await nobody.post(SESSIONS, json={})) == (401, "not_authenticated")


# --- messages ---------------------------------------------------------------------------------------------------


async def test_pages_of_the_tape_are_what_the_websocket_sends(
    server: Server, alice: httpx2.AsyncClient, story: str
) -> None:
    whole = await whole_tape(alice, story)
    async with server.chat(alice, f"?session_id={story}") as chat:
        while not chat.frames or chat.frames[-1].get("seq") != whole[-1]["seq"]:
            await chat.receive()
    assert events(chat) == whole
    for limit in (1, 3, len(whole) - 1, len(whole)):
        assert await whole_tape(alice, story, limit=limit) == whole
    middle = whole[len(whole) // 2]["seq"]
    assert await whole_tape(alice, story, after=middle) == [frame for frame in whole if frame["seq"] > middle]


async def test_the_last_page_of_the_tape_says_so(alice: httpx2.AsyncClient, story: str) -> None:
    whole = await whole_tape(alice, story)
    last_seq = whole[-1]["seq"]
    path = f"{SESSIONS}/{story}/messages"
    full = (await alice.get(path, params={"limit": len(whole)})).json()
    assert (full["next_after"], full["last_seq"]) == (None, last_seq)
    first = (await alice.get(path, params={"limit": 2})).json()
    assert (first["next_after"], first["last_seq"]) == (whole[1]["seq"], last_seq)
    beyond = (await alice.get(path, params={"after": last_seq + 1000})).json()
    assert beyond == {"items": [], "next_after": None, "last_seq": last_seq}


async def test_a_message_is_accepted_once_it_is_stored_and_runs_once(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    accepted = await send(alice, session_id, "say exactly: once", client_id="the same")
    [stored] = [frame for frame in await whole_tape(alice, session_id) if frame["type"] == "user_message"]
    assert accepted == {"turn_id": stored["turn_id"], "seq": stored["seq"]}
    again = [send(alice, session_id, "say exactly: once", client_id="the same") for _ in range(3)]
    assert await asyncio.gather(*again) == [accepted] * 3
    await until_quiet(alice, session_id)
    assert await send(alice, session_id, "something else", client_id="the same") == accepted
    other = await send(alice, session_id, "say exactly: twice")
    assert other["turn_id"] != accepted["turn_id"]
    tape = await until_quiet(alice, session_id, 2)
    assert [frame["type"] for frame in tape].count("result") == 2
    session = (await alice.get(f"{SESSIONS}/{session_id}")).json()
    assert session["cost_usd"] > 0
    assert session["context_percent"] > 0
    assert session["last_seq"] == tape[-1]["seq"]


async def test_interrupt_says_whether_there_was_something_to_stop(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice)
    path = f"{SESSIONS}/{session_id}/interrupt"
    assert (await alice.post(path)).json() == {"interrupted": False}
    async with event_stream(alice, session_id, mode="follow") as stream:
        await send(alice, session_id, "hang after 3 tokens")
        await stream.until("stream_event")
        assert (await alice.post(path)).json() == {"interrupted": True}
        assert (await stream.until("result")).data["subtype"] == "interrupted"
        await stream.until("status", status="idle")
    assert (await alice.post(path)).json() == {"interrupted": False}


# --- forks ------------------------------------------------------------------------------------------------------


async def test_a_fork_has_the_past_up_to_the_place_asked_for(alice: httpx2.AsyncClient, story: str) -> None:
    whole = await whole_tape(alice, story)
    ends = [frame["seq"] for frame in whole if frame["type"] == "result"]
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, ends[1]),
        ({"at_seq": ends[1]}, ends[1]),
        ({"at_seq": ends[1] - 1, "title": "early"}, ends[0]),
    ]
    for body, end in cases:
        response = await alice.post(f"{SESSIONS}/{story}/fork", json=body)
        assert response.status_code == 201
        fork = response.json()
        assert (fork["forked_from"], fork["title"]) == (story, body.get("title", "A story (fork)"))
        assert fork["last_seq"] == end
        tape = await whole_tape(alice, fork["id"])
        assert [frame | {"session_id": story} for frame in tape] == [frame for frame in whole if frame["seq"] <= end]
    assert await whole_tape(alice, story) == whole


async def test_a_fork_goes_its_own_way(alice: httpx2.AsyncClient, story: str) -> None:
    whole = await whole_tape(alice, story)
    fork = (await alice.post(f"{SESSIONS}/{story}/fork", json={})).json()["id"]
    await send(alice, fork, "what did I tell you earlier?")
    tape = await until_quiet(alice, fork, 3)
    assert "say exactly: second" in answer(tape, tape[-1]["turn_id"])
    assert await whole_tape(alice, story) == whole


async def test_before_the_first_answer_there_is_nothing_to_fork(alice: httpx2.AsyncClient, story: str) -> None:
    empty = await new_session(alice)
    assert code(await alice.post(f"{SESSIONS}/{empty}/fork", json={})) == (409, "nothing_to_fork")
    assert code(await alice.post(f"{SESSIONS}/{story}/fork", json={"at_seq": 1})) == (409, "nothing_to_fork")


# --- permissions and structured output --------------------------------------------------------------------------


async def test_the_first_answer_to_a_permission_request_decides(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, permission_mode="default")
    await send(alice, session_id, "run bash: touch asked && echo no")
    async with event_stream(alice, session_id, mode="follow", after=0) as stream:
        request = (await stream.until("permission_request")).data
        path = f"{SESSIONS}/{session_id}/approvals/{request['request_id']}"
        changed = request["input"] | {"command": "touch asked && echo yes"}
        first = await alice.post(path, json={"decision": "allow", "updated_input": changed})
        assert (first.status_code, first.content) == (204, b"")
        assert code(await alice.post(path, json={"decision": "deny"})) == (409, "request_not_pending")
        assert (await stream.until("permission_resolved")).data["decision"] == "allow"
        assert "yes" in json.dumps((await stream.until("tool_result")).data["content"])
        await stream.until("result")


async def test_a_denial_with_its_reason_reaches_the_agent(alice: httpx2.AsyncClient) -> None:
    session_id = await new_session(alice, permission_mode="default")
    await send(alice, session_id, "run bash: touch asked")
    async with event_stream(alice, session_id, mode="follow", after=0) as stream:
        request = (await stream.until("permission_request")).data
        path = f"{SESSIONS}/{session_id}/approvals/{request['request_id']}"
        reply = {"decision": "deny", "message": "Not on a Sunday."}
        assert (await alice.post(path, json=reply)).status_code == 204
        assert (await stream.until("permission_resolved")).data["reason"] == "Not on a Sunday."
        result = (await stream.until("tool_result")).data
        assert result["is_error"] is True
        assert "Not on a Sunday." in json.dumps(result["content"])
        await stream.until("result")


async def test_an_output_schema_shapes_the_result(alice: httpx2.AsyncClient) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["name", "count"],
        "additionalProperties": False,
    }
    session_id = await new_session(alice, output_schema=schema)
    await send(alice, session_id, "say exactly: anything")
    tape = await until_quiet(alice, session_id)
    [result] = [frame for frame in tape if frame["type"] == "result"]
    assert result["subtype"] == "success"
    assert result["structured_output"].keys() == {"name", "count"}
    assert isinstance(result["structured_output"]["count"], int)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": CANARY}, "$.type"),
        ({"properties": {"a": {"minimum": CANARY}}}, "$.properties.a.minimum"),
        ({"required": CANARY}, "$.required"),
        (nested(100), "too deeply"),
    ],
)
async def test_an_invalid_output_schema_is_refused_with_its_place(
    alice: httpx2.AsyncClient, schema: dict[str, Any], where: str
) -> None:
    response = await alice.post(SESSIONS, json={"output_schema": schema})
    assert code(response) == (422, "invalid_output_schema")
    assert where in response.json()["detail"]
    assert CANARY not in response.text


# --- bad requests -----------------------------------------------------------------------------------------------

LONG = CANARY * 10
ENDLESS = 10**30
BAD_BODIES: list[tuple[str, str, dict[str, Any], str]] = [
    ("POST", "", {"title": ""}, "title in the body"),
    ("POST", "", {"title": " \n"}, "title in the body"),
    ("POST", "", {"title": LONG}, "title in the body"),
    ("POST", "", {"title": f"{CANARY}\0"}, "title in the body"),
    ("POST", "", {"title": [CANARY]}, "title in the body"),
    ("POST", "", {"model": f"--{CANARY}"}, "model in the body"),
    ("POST", "", {"permission_mode": "bypassPermissions"}, "permission_mode in the body"),
    ("POST", "", {"permission_mode": CANARY}, "permission_mode in the body"),
    ("POST", "", {"output_schema": CANARY}, "output_schema in the body"),
    ("POST", "", {"output_schema": nested(400)}, "output_schema in the body"),
    ("POST", "", {"output_schema": {"title": "\ud800"}}, "output_schema in the body"),
    ("POST", "", {"owner": CANARY}, "owner in the body"),
    ("PATCH", "/{id}", {"title": ""}, "title in the body"),
    ("PATCH", "/{id}", {"last_seq": CANARY}, "last_seq in the body"),
    ("PATCH", "/{id}", {"output_schema": {}}, "output_schema in the body"),
    ("POST", "/{id}/messages", {}, "text in the body"),
    ("POST", "/{id}/messages", {"text": 7}, "text in the body"),
    ("POST", "/{id}/messages", {"text": "\ud800"}, "text in the body"),
    ("POST", "/{id}/messages", {"text": "x", "client_id": ""}, "client_id in the body"),
    ("POST", "/{id}/messages", {"text": "x", "client_id": LONG}, "client_id in the body"),
    ("POST", "/{id}/messages", {"text": "x", "client_id": f"{CANARY}\n"}, "client_id in the body"),
    ("POST", "/{id}/messages", {"text": "x", "attachments": [CANARY * 2]}, "attachments[0] in the body"),
    ("POST", "/{id}/fork", {"at_seq": 0}, "at_seq in the body"),
    ("POST", "/{id}/fork", {"at_seq": ENDLESS}, "at_seq in the body"),
    ("POST", "/{id}/fork", {"at_seq": CANARY}, "at_seq in the body"),
    ("POST", "/{id}/approvals/r", {}, "decision in the body"),
    ("POST", "/{id}/approvals/r", {"decision": CANARY}, "decision in the body"),
    ("POST", "/{id}/approvals/r", {"decision": "deny", "message": LONG * 20}, "message in the body"),
    ("POST", "/{id}/approvals/r", {"decision": "allow", "updated_input": CANARY}, "updated_input in the body"),
]
BAD_QUERIES: list[tuple[str, dict[str, Any], str]] = [
    ("", {"limit": 0}, "limit in the query"),
    ("", {"limit": 201}, "limit in the query"),
    ("", {"limit": CANARY}, "limit in the query"),
    ("", {"q": LONG}, "q in the query"),
    ("", {"q": "\0"}, "q in the query"),
    ("/{id}/messages", {"after": -1}, "after in the query"),
    ("/{id}/messages", {"after": CANARY}, "after in the query"),
    ("/{id}/messages", {"after": ENDLESS}, "after in the query"),
    ("/{id}/messages", {"limit": 0}, "limit in the query"),
    ("/{id}/messages", {"limit": 1001}, "limit in the query"),
    ("/{id}/events", {"mode": CANARY}, "mode in the query"),
    ("/{id}/events", {"after": ENDLESS}, "after in the query"),
]


async def test_a_bad_body_is_refused_with_its_place_and_without_its_content(
    alice: httpx2.AsyncClient, story: str
) -> None:
    before = await whole_tape(alice, story)
    for method, path, body, where in BAD_BODIES:
        content = json.dumps(body)
        response = await alice.request(
            method, SESSIONS + path.format(id=story), content=content, headers={"Content-Type": "application/json"}
        )
        assert code(response) == (422, "invalid_request"), (path, content[:80])
        assert where in [fault["where"] for fault in response.json()["errors"]], response.text
        assert CANARY not in response.text
    assert await whole_tape(alice, story) == before


async def test_a_bad_query_is_refused_with_its_place_and_without_its_content(
    alice: httpx2.AsyncClient, story: str
) -> None:
    for path, query, where in BAD_QUERIES:
        response = await alice.get(SESSIONS + path.format(id=story), params=query)
        assert code(response) == (422, "invalid_request"), (path, query)
        assert [fault["where"] for fault in response.json()["errors"]] == [where]
        assert CANARY not in response.text


async def test_what_is_not_json_is_refused(alice: httpx2.AsyncClient, story: str) -> None:
    for path in ("", f"/{story}/messages", f"/{story}/fork"):
        response = await alice.post(
            SESSIONS + path, content=f'{{"text": {CANARY}', headers={"Content-Type": "application/json"}
        )
        assert code(response) == (400, "malformed_json")
        assert CANARY not in response.text


@pytest.mark.parametrize(
    ("text", "expected"), [("", "message_empty"), (" \n", "message_empty"), (CANARY * 2000, "message_too_long")]
)
async def test_an_empty_and_a_too_long_message_are_refused_by_name(
    alice: httpx2.AsyncClient, story: str, text: str, expected: str
) -> None:
    response = await alice.post(f"{SESSIONS}/{story}/messages", json={"text": text})
    assert code(response) == (422, expected)
    assert CANARY not in response.text


@pytest.mark.parametrize(
    "place",
    [
        1,
        None,
        {},
        [],
        ["2026-01-01T00:00:00Z"],
        ["never", NOWHERE],
        [1, NOWHERE],
        ["2026-01-01T00:00:00", NOWHERE],
        ["0001-01-01T00:00:00+14:00", NOWHERE],
        ["2026-01-01T00:00:00Z", "\0"],
        ["2026-01-01T00:00:00Z", {}],
    ],
)
async def test_a_cursor_of_somebody_elses_making_is_refused(alice: httpx2.AsyncClient, place: object) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    assert code(await alice.get(SESSIONS, params={"cursor": cursor})) == (422, "invalid_cursor")


@pytest.mark.parametrize("cursor", ["", "x", "%%%", "é", "AAAA", "bnVsbA=="])
async def test_a_cursor_that_is_no_cursor_is_refused(alice: httpx2.AsyncClient, cursor: str) -> None:
    assert code(await alice.get(SESSIONS, params={"cursor": cursor})) == (422, "invalid_cursor")


@pytest.mark.parametrize("session_id", ["x", "%00", "..", "%2e%2e%2fetc", "'", NOWHERE.upper(), "a" * 2000])
async def test_an_id_that_is_none_finds_nothing(alice: httpx2.AsyncClient, session_id: str) -> None:
    response = await alice.get(f"{SESSIONS}/{session_id}/messages")
    assert response.status_code == 404
    assert code(response)[1] in ("session_not_found", "not_found")


# --- the rest of the server -------------------------------------------------------------------------------------


async def test_openapi_is_served_as_the_types_are_generated_from_it(server: Server) -> None:
    async with httpx2.AsyncClient(base_url=server.url) as nobody:
        served = (await nobody.get("/api/v1/openapi.json")).json()
    generated = openapi_schema()
    assert served["paths"] == generated["paths"]
    assert served["components"] == generated["components"]


@pytest.fixture
def web_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built web app of one page and one script."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<p>the web app</p>")
    (tmp_path / "assets" / "app.js").write_text("run()")
    monkeypatch.setattr(main, "WEB_APP", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("web_app")
async def test_pages_get_the_web_app_and_the_api_gets_problems() -> None:
    values: dict[str, Any] = {
        "demo": True,
        "secret_key": SECRET_KEY,
        "allowed_hosts": "chat.example",
        "_env_file": None,
    }
    app = main.create_app(Settings(**values))
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://chat.example") as client:
        for path in ("/", "/c/some-session", "/no/such/page", "/apiary"):
            page = await client.get(path, headers=browser)
            assert (page.status_code, page.text) == (200, "<p>the web app</p>"), path
        assert (await client.get("/assets/app.js")).text == "run()"
        assert code(await client.get("/assets/gone.js")) == (404, "not_found")
        for headers in ({}, browser, {"Accept": "application/json"}):
            for path in ("/api/nope", "/api/v1/nope", f"{SESSIONS}/a/b/c", "/ws/v1/nope", "/api/v1/sessions/"):
                assert code(await client.get(path, headers=headers)) == (404, "not_found"), (path, headers)
            assert code(await client.post("/api/v1/nope", headers=headers)) == (404, "not_found")
            assert code(await client.get("/api/v1/auth/login", headers=headers)) == (405, "method_not_allowed")
