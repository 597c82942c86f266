"""Apps of plugins over REST: who may see one, with which policy, and what it may call.

Real: the server process, its database, the CLI, the plugins' processes. Scripted: the model.
"""

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from tests.support.plugins import manifest, zipped
from tests.support.plugins_at_work import EXAMPLES
from tests.support.server import Server
from tests.support.talking import SESSIONS, new_session, whole_tape

from claude_sdk_pattern.api.apps import MAX_ARGUMENT_BYTES

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

PLUGINS = "/api/v1/plugins"

GUARD = """
def look(data):
    if data["tool_input"].get("option") == "Milk":
        return {"decision": "deny", "reason": "No milk today."}
"""


@pytest.fixture
async def poll(ada: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """The example, active."""
    root = EXAMPLES / "poll"
    await activate(ada, "poll", zipped({file.name: file.read_bytes() for file in root.iterdir() if file.is_file()}))
    yield
    for plugin in (await ada.get(PLUGINS)).json()["items"]:
        await ada.post(f"{PLUGINS}/{plugin['name']}/deactivate")
        await ada.delete(f"{PLUGINS}/{plugin['name']}")


async def activate(ada: httpx2.AsyncClient, name: str, archive: bytes) -> None:
    answer = await ada.post(PLUGINS, files={"file": ("plugin.zip", archive, "application/zip")})
    assert answer.status_code == 201, answer.text
    (await ada.post(f"{PLUGINS}/{name}/activate")).raise_for_status()


class Asked:
    """A session in which the agent has begun a poll."""

    def __init__(self, client: httpx2.AsyncClient, session_id: str, use: dict[str, Any], poll_id: str) -> None:
        self.client = client
        self.session_id = session_id
        self.use = use
        self.poll_id = poll_id
        self.url = f"{SESSIONS}/{session_id}/apps/{use['seq']}"

    async def vote(self, option: str, *, tool: str = "vote", **body: Any) -> httpx2.Response:
        """Have the app call the tool."""
        arguments = {"id": self.poll_id, "option": option}
        return await self.client.post(f"{self.url}/call", json={"tool": tool, "arguments": arguments, **body})


@pytest.fixture
async def asked(poll: None, server: Server, alice: httpx2.AsyncClient) -> Asked:
    """What that is, of Alice's."""
    session_id = await new_session(alice)
    given = {"question": "What?", "options": ["Tea", "Milk"]}
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        await chat.until("hello")
        await chat.send(type="user_message", text=f"call tool mcp__poll__ask with {json.dumps(given)}", client_id="1")
        request = await chat.until("permission_request")
        await chat.send(type="permission_response", request_id=request["request_id"], decision="allow")
        await chat.until("result")
    tape = await whole_tape(alice, session_id)
    [use] = [frame for frame in tape if frame["type"] == "tool_use"]
    [result] = [frame for frame in tape if frame["type"] == "tool_result"]
    content = result["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return Asked(alice, session_id, use, json.loads(text)["id"])


async def test_the_tape_says_which_page_a_call_has_and_who_may_read_the_session_gets_it(
    asked: Asked, server: Server, bob: httpx2.AsyncClient
) -> None:
    assert asked.use["ui_resource"] == "ui://poll/poll.html"
    described = (await asked.client.get(asked.url)).json()
    assert (described["plugin"], described["ui_resource"]) == ("poll", "ui://poll/poll.html")
    assert described["tool"]["name"] == "ask"
    page = await asked.client.get(f"{asked.url}/page")
    assert page.content == (EXAMPLES / "poll" / "poll.html").read_bytes()
    policy = page.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline';")
    assert "allow-same-origin" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert (await bob.get(f"{asked.url}/page")).status_code == 404
    ticket = (await asked.client.post("/api/v1/auth/ticket")).json()["ticket"]
    async with httpx2.AsyncClient(base_url=server.url) as browser:
        assert (await browser.get(f"{asked.url}/page")).status_code == 401
        assert (await browser.get(f"{asked.url}/page?ticket={ticket}")).status_code == 200
        assert (await browser.get(f"{asked.url}/page?ticket={ticket}")).status_code == 401


async def test_other_events_and_plugins_that_are_gone_have_no_app(asked: Asked, ada: httpx2.AsyncClient) -> None:
    for seq in (1, 10**9):
        answer = await asked.client.get(f"{SESSIONS}/{asked.session_id}/apps/{seq}")
        assert (answer.status_code, answer.json()["code"]) == (404, "app_not_found")
    (await ada.post(f"{PLUGINS}/poll/deactivate")).raise_for_status()
    for answer in (await asked.client.get(asked.url), await asked.vote("Tea", consent=True)):
        assert (answer.status_code, answer.json()["code"]) == (404, "app_not_found")


async def test_a_call_needs_a_person_who_agrees_and_is_recorded(asked: Asked, ada: httpx2.AsyncClient) -> None:
    first = (await asked.vote("Tea")).json()
    assert first["result"] is None
    assert first["consent_needed"]
    counted = (await asked.vote("Tea", consent=True)).json()["result"]
    assert json.loads(counted["content"][0]["text"])["votes"] == {"Tea": 1, "Milk": 0}
    [entry] = (await ada.get("/api/v1/admin/audit", params={"action": "app.called_tool", "limit": 1})).json()["items"]
    assert entry["target"] == asked.session_id
    assert entry["details"] == {"plugin": "poll", "tool": "mcp__poll__vote", "outcome": "success"}


async def test_a_rule_that_allows_spares_the_question_and_one_that_denies_ends_it(
    asked: Asked, ada: httpx2.AsyncClient
) -> None:
    for decision, expected in (("allow", 200), ("deny", 403)):
        rule = {"scope": "everyone", "decision": decision, "tools": ["mcp__poll__vote"], "reason": "As tried here."}
        added = await ada.post("/api/v1/policy/rules", json=rule)
        assert added.status_code == 201, added.text
        answer = await asked.vote("Tea", consent=decision == "deny")
        await ada.delete(f"/api/v1/policy/rules/{added.json()['id']}")
        assert answer.status_code == expected
        if decision == "allow":
            assert answer.json()["result"] is not None
        else:
            assert answer.json()["code"] == "app_call_denied"
            assert "As tried here." in answer.json()["detail"]
    [entry] = (await ada.get("/api/v1/admin/audit", params={"action": "app.called_tool", "limit": 1})).json()["items"]
    assert entry["details"]["outcome"] == "denied"


async def test_hooks_that_guard_and_a_session_that_asks_nobody_deny(asked: Asked, ada: httpx2.AsyncClient) -> None:
    guard = manifest(
        "guard",
        type="skill",
        capabilities={"skills": ["skills"]},
        permissions={"events": ["PreToolUse"]},
        hooks=[{"event": "PreToolUse", "function": "guard:look", "kind": "security"}],
    )
    files = {"plugin.json": json.dumps(guard), "guard.py": GUARD}
    skill = {"skills/one/SKILL.md": "---\nname: one\ndescription: Says one.\n---\nSay one.\n"}
    await activate(ada, "guard", zipped(files | skill))
    denied = await asked.vote("Milk", consent=True)
    assert (denied.status_code, denied.json()["code"]) == (403, "app_call_denied")
    assert "No milk today." in denied.json()["detail"]
    assert (await asked.vote("Tea", consent=True)).status_code == 200
    await asked.client.patch(f"{SESSIONS}/{asked.session_id}", json={"permission_mode": "dontAsk"})
    silent = await asked.vote("Tea", consent=True)
    assert (silent.status_code, silent.json()["code"]) == (403, "app_call_denied")


async def test_an_app_gets_no_other_tools_no_other_resources_and_sends_no_more_than_it_may(asked: Asked) -> None:
    unknown = await asked.vote("Tea", tool="mcp__poll__vote", consent=True)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "app_not_found")
    long = await asked.vote("x" * MAX_ARGUMENT_BYTES, consent=True)
    assert (long.status_code, long.json()["code"]) == (413, "body_too_large")
    for uri in ("file:///etc/passwd", "ui://poll/other.html"):
        answer = await asked.client.get(f"{asked.url}/resource", params={"uri": uri})
        assert answer.status_code in {404, 502}
    own = await asked.client.get(f"{asked.url}/resource", params={"uri": "ui://poll/poll.html"})
    assert own.json()["contents"][0]["mimeType"] == "text/html;profile=mcp-app"
    for _ in range(60):
        answer = await asked.vote("Tea")
        if answer.status_code == 429:
            break
    assert answer.json()["code"] == "rate_limited"
