"""The audit log over REST and the command line, of a real server with real people in it."""

from pathlib import Path

import httpx2
import orjson
import pytest
from tests.support.server import Server

from claude_sdk_pattern.accounts.audit_chain import AuditEntry, ChainCheck

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

AUDIT = "/api/v1/admin/audit"


async def newest(ada: httpx2.AsyncClient, **wanted: str) -> dict[str, object]:
    answer = (await ada.get(AUDIT, params={"limit": 1, **wanted})).raise_for_status()
    return answer.json()["items"][0]


async def id_of(client: httpx2.AsyncClient) -> str:
    return (await client.get("/api/v1/auth/me")).json()["id"]


async def test_what_people_do_over_rest_and_websocket_is_recorded(
    server: Server, alice: httpx2.AsyncClient, ada: httpx2.AsyncClient
) -> None:
    me = await id_of(alice)
    session_id = (await alice.post("/api/v1/sessions", json={"title": "canary-title"})).json()["id"]
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await chat.until("hello")
        await chat.send(type="user_message", text="canary-question", client_id="1")
        await chat.until("result")
        await chat.send(type="session_command", command="set_permission_mode", permission_mode="plan")
        await chat.send(type="interrupt")
        await chat.send(type="session_command", command="fork")
        fork_id = (await chat.until("session_command_result", command="fork"))["session_id"]
    message = {"text": "canary-question"}
    named = {"X-Request-ID": "canary-of-a-proxy"}
    sent = await alice.post(f"/api/v1/sessions/{session_id}/messages", json=message, headers=named)
    await alice.patch(f"/api/v1/sessions/{session_id}", json={"title": "other"})
    await ada.get(f"/api/v1/sessions/{session_id}/messages")
    await alice.delete(f"/api/v1/sessions/{fork_id}")
    answer = (await ada.get(AUDIT, params={"limit": 200})).raise_for_status()
    assert "canary" not in answer.text.replace("canary-of-a-proxy", "")
    entries = [entry for entry in answer.json()["items"] if entry["target"] in {session_id, fork_id}]
    told = [(entry["action"], entry["actor"] == me) for entry in reversed(entries)]
    assert told == [
        ("session.created", True),
        ("session.opened", True),
        ("session.message", True),
        ("session.changed", True),
        ("session.interrupted", True),
        ("session.forked", True),
        ("session.message", True),
        ("session.changed", True),
        ("session.opened", False),
        ("session.deleted", True),
    ]
    # From the request's id to the turn's, which is on the tape and in each request at the model.
    (message_entry,) = [entry for entry in entries if entry["correlation_id"] == "canary-of-a-proxy"]
    assert message_entry["details"] == {"turn_id": sent.json()["turn_id"]}
    assert entries[0]["actor_name"] == "alice"
    assert entries[0]["details"] == {"owner": me}


async def test_signing_in_and_out_is_recorded_and_a_failure_names_no_password(
    server: Server, ada: httpx2.AsyncClient
) -> None:
    async with server.client("bob") as bob:
        me = await id_of(bob)
        assert (await newest(ada, action="auth.login"))["actor"] == me
        await bob.post("/api/v1/auth/logout")
    assert (await newest(ada, action="auth.logout"))["actor"] == me
    async with httpx2.AsyncClient(base_url=server.url) as nobody:
        for name, target in (("bob", me), ("canary-password-in-the-wrong-field", None)):
            await nobody.post("/api/v1/auth/login", json={"username": name, "password": "canary-wrong"})
            failed = await newest(ada, action="auth.login_failed")
            assert (failed["actor"], failed["target"]) == (None, target)
            assert failed["details"] == {"address": "127.0.0.1"}
            assert failed["correlation_id"]


async def test_entries_come_in_pages_and_by_filters(alice: httpx2.AsyncClient, ada: httpx2.AsyncClient) -> None:
    for _ in range(3):
        await alice.post("/api/v1/sessions", json={})
    me = await id_of(alice)
    first = (await ada.get(AUDIT, params={"limit": 2, "actor": me, "action": "session."})).json()
    rest = (await ada.get(AUDIT, params={"limit": 2, "actor": me, "cursor": first["next_cursor"]})).json()
    numbers = [entry["seq"] for entry in first["items"] + rest["items"]]
    assert numbers == sorted(numbers, reverse=True)
    assert {entry["actor"] for entry in first["items"] + rest["items"]} == {me}
    moment = first["items"][0]["at"]
    assert (await ada.get(AUDIT, params={"since": "2100-01-01T00:00:00Z"})).json() == {"items": [], "next_cursor": None}
    until = (await ada.get(AUDIT, params={"until": moment, "limit": 1})).json()["items"]
    assert until[0]["seq"] < numbers[0]
    assert "session.message" in (await ada.get(f"{AUDIT}/actions")).json()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("?cursor=x", "invalid_cursor"),
        ("?cursor=-1", "invalid_cursor"),
        ("?cursor=" + "9" * 40, "invalid_cursor"),
        ("?limit=0", "invalid_request"),
        ("?since=yesterday", "invalid_request"),
        ("?since=2026-01-01T00:00:00", "invalid_request"),
        ("?actor=%00", "invalid_request"),
        ("/chain?anchor=1", "invalid_anchor"),
    ],
)
async def test_what_cannot_be_asked_is_said(ada: httpx2.AsyncClient, path: str, code: str) -> None:
    answer = await ada.get(AUDIT + path)
    assert (answer.status_code, answer.json()["code"]) == (422, code)


@pytest.mark.parametrize("path", ["", "/actions", "/chain", "/export"])
async def test_only_administrators_read_it(alice: httpx2.AsyncClient, server: Server, path: str) -> None:
    assert (await alice.get(AUDIT + path)).status_code == 403
    async with httpx2.AsyncClient(base_url=server.url) as nobody:
        assert (await nobody.get(AUDIT + path)).status_code == 401


async def test_the_chain_is_looked_at_from_outside(ada: httpx2.AsyncClient) -> None:
    chain = (await ada.get(f"{AUDIT}/chain")).json()
    assert chain["is_intact"]
    assert chain["faults"] == []
    again = (await ada.get(f"{AUDIT}/chain", params={"anchor": chain["anchor"]})).json()
    assert again["is_intact"]
    forged = chain["anchor"][:-8] + "00000000"
    assert not (await ada.get(f"{AUDIT}/chain", params={"anchor": forged})).json()["is_intact"]


async def test_an_export_is_whole_and_says_so(ada: httpx2.AsyncClient, tmp_path: Path) -> None:
    answer = (await ada.get(f"{AUDIT}/export")).raise_for_status()
    assert answer.headers["cache-control"] == "no-store"
    *lines, closing = answer.content.splitlines()
    check = ChainCheck()
    for line in lines:
        check.see(AuditEntry.from_json(line))
    report = check.report()
    assert report.is_intact
    assert orjson.loads(closing) == {"anchor": str(report.head)}
    assert orjson.loads(lines[-1])["action"] == "audit.exported"
