"""Managing users over REST, and how soon those who are managed feel it. A real server, SQLite, a real agent."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from tests.api.test_websocket import closing
from tests.support.platform import PASSWORD, PATIENCE_SECONDS, eventually
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

USERS = "/api/v1/admin/users"


@pytest.fixture
async def eve(server: Server, ada: httpx2.AsyncClient) -> AsyncGenerator[httpx2.AsyncClient]:
    """A REST client of somebody new, for each test another."""
    name = f"eve-{uuid4().hex[:8]}"
    made = await ada.post(USERS, json={"username": name, "password": PASSWORD})
    assert made.status_code == 201, made.text
    assert made.json()["link"] is None
    async with server.client(name) as client:
        yield client


async def me(client: httpx2.AsyncClient) -> dict[str, Any]:
    return (await client.get("/api/v1/auth/me")).json()


async def audited(ada: httpx2.AsyncClient, target: str) -> list[str]:
    items = (await ada.get("/api/v1/admin/audit", params={"limit": 200})).json()["items"]
    return [item["action"] for item in reversed(items) if item["target"] == target]


async def test_an_invited_user_chooses_a_password_once_and_is_signed_in(
    server: Server, ada: httpx2.AsyncClient
) -> None:
    name = f"new-{uuid4().hex[:8]}"
    made = (await ada.post(USERS, json={"username": name, "role": "operator"})).json()
    assert not made["user"]["has_password"]
    link = urlsplit(str(made["link"]["url"]))
    # Behind the hash: no server ever sees it in an address.
    assert (link.path, link.query) == ("/choose-password", "")
    async with httpx2.AsyncClient(base_url=server.url) as browser:
        body: dict[str, str] = {"token": link.fragment, "password": "short"}
        refused = await browser.post("/api/v1/auth/choose-password", json=body)
        assert refused.json()["code"] == "weak_password"
        body["password"] = PASSWORD
        tokens = (await browser.post("/api/v1/auth/choose-password", json=body)).json()
        bearer = {"authorization": f"Bearer {tokens['access_token']}"}
        assert (await browser.get("/api/v1/auth/me", headers=bearer)).json()["role"] == "operator"
        again = await browser.post("/api/v1/auth/choose-password", json=body)
        assert (again.status_code, again.json()["code"]) == (410, "link_expired")
    assert await audited(ada, made["user"]["id"]) == ["user.created", "user.password_reset", "user.password_changed"]


async def test_users_are_listed_page_by_page_and_found_by_name(ada: httpx2.AsyncClient) -> None:
    prefix = f"page-{uuid4().hex[:6]}"
    for number in range(5):
        await ada.post(USERS, json={"username": f"{prefix}-{number}"})
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await ada.get(USERS, params={"q": prefix.upper(), "limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [user["username"] for user in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"{prefix}-{number}" for number in range(5)]
    assert (await ada.get(USERS, params={"cursor": "nonsense"})).json()["code"] == "invalid_cursor"


async def test_the_last_administrator_cannot_be_demoted_disabled_or_deleted(ada: httpx2.AsyncClient) -> None:
    own = f"{USERS}/{(await me(ada))['id']}"
    for method, body in (("PATCH", {"role": "user"}), ("PATCH", {"disabled": True}), ("DELETE", None)):
        refused = await ada.request(method, own, json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "last_admin")
    assert (await me(ada))["role"] == "admin"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"disabled": True}),
        ("PATCH", "", {"role": "operator"}),
        ("DELETE", "/sign-ins", None),
        ("DELETE", "", None),
    ],
    ids=["disabled", "another role", "signed out", "deleted"],
)
async def test_open_sockets_and_streams_of_who_is_managed_are_closed(
    server: Server,
    ada: httpx2.AsyncClient,
    eve: httpx2.AsyncClient,
    method: str,
    path: str,
    body: dict[str, Any] | None,
) -> None:
    user_id = (await me(eve))["id"]
    # A session of somebody else's would vanish with its owner.
    session = (await eve.post("/api/v1/sessions", json={})).json()["id"]
    async with (
        server.chat(eve, f"?session_id={session}") as chat,
        eve.stream("GET", f"/api/v1/sessions/{session}/events", params={"mode": "follow", "after": 0}) as stream,
    ):
        await chat.until("hello")
        answer = await ada.request(method, f"{USERS}/{user_id}{path}", json=body)
        assert answer.status_code in {200, 204}, answer.text
        async with asyncio.timeout(PATIENCE_SECONDS):
            code = (await closing(chat))[0]
            async for _ in stream.aiter_bytes():
                pass
    # Where the session itself went first, that is what a client hears.
    assert code in ({4401, 4404} if method == "DELETE" and path == "" else {4401})
    assert (await eve.get("/api/v1/auth/me")).status_code == 401


async def test_the_running_turn_of_a_disabled_user_is_stopped_and_kept(
    server: Server, ada: httpx2.AsyncClient, eve: httpx2.AsyncClient
) -> None:
    user_id = (await me(eve))["id"]
    session = (await eve.post("/api/v1/sessions", json={})).json()["id"]
    async with server.chat(ada, f"?session_id={session}") as watcher:
        await watcher.until("hello")
        sent = await eve.post(
            f"/api/v1/sessions/{session}/messages", json={"text": "stream 5000 tokens at 20 tokens per second"}
        )
        assert sent.status_code == 202
        await watcher.until("stream_event")
        assert (await ada.patch(f"{USERS}/{user_id}", json={"disabled": True})).status_code == 200
        result = await watcher.until("result")
    assert result["subtype"] == "interrupted"
    tape = (await ada.get(f"/api/v1/sessions/{session}/messages")).json()["items"]
    assert any(event["type"] == "text" and event["content"] for event in tape)
    # An administrator who looks at it is on record.
    assert "session.opened" in await audited(ada, session)


async def test_one_s_own_sign_ins_are_listed_and_ended_one_by_one(
    server: Server, ada: httpx2.AsyncClient, eve: httpx2.AsyncClient
) -> None:
    name = (await me(eve))["username"]
    async with server.client(name) as elsewhere:
        listed = (await eve.get("/api/v1/auth/sign-ins")).json()
        assert sorted(one["is_current"] for one in listed) == [False, True]
        assert {one["address"] for one in listed} == {"127.0.0.1"}
        (other,) = (one for one in listed if not one["is_current"])
        assert (await ada.delete(f"/api/v1/auth/sign-ins/{other['id']}")).status_code == 404
        assert (await eve.delete(f"/api/v1/auth/sign-ins/{other['id']}")).status_code == 204
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await elsewhere.get("/api/v1/auth/me")).status_code != 401:  # noqa: ASYNC110 - felt within a second
                await asyncio.sleep(0.05)
        assert (await eve.get("/api/v1/auth/me")).status_code == 200


async def test_changing_one_s_password_needs_the_old_one_and_keeps_only_this_client(
    server: Server, eve: httpx2.AsyncClient
) -> None:
    name = (await me(eve))["username"]
    async with server.client(name) as elsewhere:
        body = {"current_password": "not it", "new_password": "a better password", "client": "api"}
        refused = await eve.post("/api/v1/auth/password", json=body)
        assert (refused.status_code, refused.json()["code"]) == (401, "wrong_credentials")
        changed = await eve.post("/api/v1/auth/password", json={**body, "current_password": PASSWORD})
        assert changed.status_code == 200
        bearer = {"authorization": f"Bearer {changed.json()['access_token']}"}
        assert (await eve.get("/api/v1/auth/me", headers=bearer)).status_code == 200
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await elsewhere.get("/api/v1/auth/me")).status_code != 401:  # noqa: ASYNC110 - felt within a second
                await asyncio.sleep(0.05)


async def test_a_deleted_user_s_sessions_go_with_them(ada: httpx2.AsyncClient, eve: httpx2.AsyncClient) -> None:
    user_id = (await me(eve))["id"]
    session = (await eve.post("/api/v1/sessions", json={"title": "to be deleted"})).json()["id"]
    listed = (await ada.get("/api/v1/admin/sessions", params={"owner": user_id})).json()["items"]
    assert [(one["id"], one["title"]) for one in listed] == [(session, "to be deleted")]
    assert (await ada.delete(f"{USERS}/{user_id}")).status_code == 204
    assert (await ada.get(f"/api/v1/sessions/{session}")).status_code == 404
    assert (await ada.get(f"{USERS}/{user_id}")).json()["code"] == "user_not_found"


async def test_the_overview_shows_processes_and_costs(
    server: Server, ada: httpx2.AsyncClient, eve: httpx2.AsyncClient
) -> None:
    who = await me(eve)
    session = (await eve.post("/api/v1/sessions", json={})).json()["id"]
    async with server.chat(eve, f"?session_id={session}") as chat:
        await chat.until("hello")
        await chat.send(type="user_message", text="hello", client_id=str(uuid4()))
        await chat.until("result")
        found = (await ada.get("/api/v1/admin/processes")).json()
        (process,) = (one for one in found["items"] if one["session_id"] == session)
        assert process["owner_name"] == who["username"]
        assert process["rss_bytes"] > 0

    async def is_billed() -> bool:
        # A moment after its result.
        return (await eve.get(f"/api/v1/sessions/{session}")).json()["cost_usd"] > 0

    await eventually(is_billed)
    seen: dict[str, dict[str, Any]] = {}
    cursor = None
    while True:
        params: dict[str, Any] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await ada.get("/api/v1/admin/costs", params=params)).json()
        assert not seen.keys() & {one["user"] for one in page["items"]}
        seen |= {one["user"]: one for one in page["items"]}
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert (seen[who["id"]]["sessions"], seen[who["id"]]["username"]) == (1, who["username"])
    assert page["total_usd"] == pytest.approx(sum(one["cost_usd"] for one in seen.values()))

    async def is_in_the_ledger() -> bool:
        # Everybody sees their own, a moment after the answer.
        own = (await eve.get("/api/v1/auth/spending")).json()
        assert (own["hours"], own["budget_usd"]) == (24, None)
        costs = (await ada.get("/api/v1/admin/costs")).json()["items"]
        return own["spent_usd"] > 0 and own["spent_usd"] == next(
            one["cost_usd"] for one in costs if one["user"] == who["id"]
        )

    await eventually(is_in_the_ledger)
    assert (await ada.get("/api/v1/auth/spending")).json()["spent_usd"] == 0
