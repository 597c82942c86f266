"""Who may do what: every REST route and every WebSocket frame, with every role, with none, and by whose session it is.

Real: the server, its users, its database. The tables below are the expectations; a route or a frame without an entry
fails. Requests carry no body where one is needed: whoever may use the route is then told about the body, and nothing
is changed.
"""

from collections.abc import AsyncGenerator
from enum import Enum, auto
from typing import Any, cast, get_args

import httpx2
import pytest
from pydantic import BaseModel
from tests.api.test_websocket import closing
from tests.support.platform import PASSWORD
from tests.support.server import Server

from claude_sdk_pattern.accounts.access import SessionAction
from claude_sdk_pattern.api import frames
from claude_sdk_pattern.api.schema import openapi_schema

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


class Needs(Enum):
    """What a route asks of whoever calls it."""

    NOTHING = auto()
    SIGN_IN = auto()
    OPERATOR = auto()
    ADMIN = auto()


# Routes of one session are open to its owner and to administrators, each by the action it is.
READ, WRITE, MANAGE = SessionAction.READ, SessionAction.WRITE, SessionAction.MANAGE

_SESSION = "/api/v1/sessions/{session_id}"
_USER = "/api/v1/admin/users/{user_id}"
_PLUGIN = "/api/v1/plugins/{name}"
_MARKETPLACE = "/api/v1/marketplaces/{name}"

ROUTES: dict[tuple[str, str], Needs | SessionAction] = {
    ("POST", "/api/v1/auth/login"): Needs.NOTHING,
    ("POST", "/api/v1/auth/refresh"): Needs.NOTHING,
    ("POST", "/api/v1/auth/logout"): Needs.SIGN_IN,
    ("GET", "/api/v1/auth/me"): Needs.SIGN_IN,
    ("POST", "/api/v1/auth/ticket"): Needs.SIGN_IN,
    ("GET", "/api/v1/auth/methods"): Needs.NOTHING,
    ("POST", "/api/v1/auth/setup"): Needs.NOTHING,
    ("POST", "/api/v1/auth/choose-password"): Needs.NOTHING,
    ("POST", "/api/v1/auth/password"): Needs.SIGN_IN,
    ("GET", "/api/v1/auth/spending"): Needs.SIGN_IN,
    ("GET", "/api/v1/auth/sign-ins"): Needs.SIGN_IN,
    ("DELETE", "/api/v1/auth/sign-ins"): Needs.SIGN_IN,
    ("DELETE", "/api/v1/auth/sign-ins/{sign_in_id}"): Needs.SIGN_IN,
    ("GET", "/api/v1/auth/oidc/login"): Needs.NOTHING,
    ("GET", "/api/v1/auth/oidc/callback"): Needs.NOTHING,
    ("GET", "/api/v1/sessions"): Needs.SIGN_IN,
    ("POST", "/api/v1/sessions"): Needs.SIGN_IN,
    ("GET", _SESSION): READ,
    ("PATCH", _SESSION): MANAGE,
    ("DELETE", _SESSION): MANAGE,
    ("GET", f"{_SESSION}/messages"): READ,
    ("GET", f"{_SESSION}/messages/{{seq}}"): READ,
    ("POST", f"{_SESSION}/messages"): WRITE,
    ("POST", f"{_SESSION}/interrupt"): WRITE,
    ("POST", f"{_SESSION}/fork"): READ,
    ("POST", f"{_SESSION}/rewind"): WRITE,
    ("GET", f"{_SESSION}/approvals"): READ,
    ("POST", f"{_SESSION}/approvals/{{request_id}}"): WRITE,
    ("POST", f"{_SESSION}/attachments"): WRITE,
    ("GET", f"{_SESSION}/attachments/{{attachment_id}}"): READ,
    ("GET", f"{_SESSION}/apps/{{seq}}"): READ,
    ("GET", f"{_SESSION}/apps/{{seq}}/page"): READ,
    ("GET", f"{_SESSION}/apps/{{seq}}/resource"): READ,
    ("POST", f"{_SESSION}/apps/{{seq}}/call"): WRITE,
    ("GET", f"{_SESSION}/events"): READ,
    ("GET", f"{_SESSION}/rules"): READ,
    ("DELETE", f"{_SESSION}/rules/{{rule_id}}"): MANAGE,
    ("GET", "/api/v1/policy"): Needs.OPERATOR,
    ("POST", "/api/v1/policy/explain"): Needs.SIGN_IN,
    ("POST", "/api/v1/policy/rules"): Needs.ADMIN,
    ("DELETE", "/api/v1/policy/rules/{rule_id}"): Needs.ADMIN,
    ("GET", "/api/v1/profiles"): Needs.SIGN_IN,
    ("GET", "/api/v1/plugins"): Needs.SIGN_IN,
    ("POST", "/api/v1/plugins"): Needs.ADMIN,
    ("GET", _PLUGIN): Needs.SIGN_IN,
    ("DELETE", _PLUGIN): Needs.ADMIN,
    ("GET", f"{_PLUGIN}/config"): Needs.OPERATOR,
    ("PUT", f"{_PLUGIN}/config"): Needs.OPERATOR,
    ("POST", f"{_PLUGIN}/activate"): Needs.OPERATOR,
    ("POST", f"{_PLUGIN}/deactivate"): Needs.OPERATOR,
    ("POST", f"{_PLUGIN}/reload"): Needs.OPERATOR,
    ("GET", "/api/v1/plugin-ui"): Needs.SIGN_IN,
    ("GET", "/api/v1/plugin-ui/{name}/{digest}/{path}"): Needs.SIGN_IN,
    ("GET", "/api/v1/marketplaces"): Needs.OPERATOR,
    ("POST", "/api/v1/marketplaces"): Needs.ADMIN,
    ("GET", _MARKETPLACE): Needs.OPERATOR,
    ("DELETE", _MARKETPLACE): Needs.ADMIN,
    ("POST", f"{_MARKETPLACE}/plugins/{{plugin}}/install"): Needs.ADMIN,
    ("GET", "/api/v1/admin/users"): Needs.ADMIN,
    ("POST", "/api/v1/admin/users"): Needs.ADMIN,
    ("GET", _USER): Needs.ADMIN,
    ("PATCH", _USER): Needs.ADMIN,
    ("DELETE", _USER): Needs.ADMIN,
    ("POST", f"{_USER}/password-reset"): Needs.ADMIN,
    ("GET", f"{_USER}/sign-ins"): Needs.ADMIN,
    ("DELETE", f"{_USER}/sign-ins"): Needs.ADMIN,
    ("GET", "/api/v1/admin/sessions"): Needs.ADMIN,
    ("GET", "/api/v1/admin/processes"): Needs.ADMIN,
    ("GET", "/api/v1/admin/costs"): Needs.ADMIN,
    ("GET", "/api/v1/admin/audit"): Needs.ADMIN,
    ("GET", "/api/v1/admin/audit/actions"): Needs.ADMIN,
    ("GET", "/api/v1/admin/audit/chain"): Needs.ADMIN,
    ("GET", "/api/v1/admin/audit/export"): Needs.ADMIN,
    ("GET", "/api/v1/health/live"): Needs.NOTHING,
    ("GET", "/api/v1/health/ready"): Needs.NOTHING,
    ("GET", "/api/v1/health/startup"): Needs.NOTHING,
    ("GET", "/metrics"): Needs.NOTHING,
}

# These end the sign-in that calls them.
ENDING = {("POST", "/api/v1/auth/logout"), ("DELETE", "/api/v1/auth/sign-ins")}

FRAMES: dict[str, SessionAction] = {
    "user_message": WRITE,
    "interrupt": WRITE,
    "permission_response": WRITE,
    "sync": READ,
    "fork": READ,
    "resume": WRITE,
    "continue": READ,
    "set_model": WRITE,
    "set_permission_mode": WRITE,
    "rewind": WRITE,
    "plugin_config": WRITE,
    "presence": READ,
    "ping": READ,
}

PEOPLE = ("nobody", "owner", "stranger", "operator", "admin")


class People:
    """The people of :data:`PEOPLE`, who sign in when they have to."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._clients: dict[str, httpx2.AsyncClient] = {"nobody": httpx2.AsyncClient(base_url=server.url)}

    async def client(self, who: str) -> httpx2.AsyncClient:
        """Return a REST client of theirs that is signed in."""
        if who not in self._clients:
            async with self._server.client(f"matrix-{who}") as client:
                self._clients[who] = httpx2.AsyncClient(base_url=self._server.url, headers=client.headers)
        return self._clients[who]

    async def forget(self, who: str) -> None:
        """They have signed out."""
        await self._clients.pop(who).aclose()

    async def aclose(self) -> None:
        """Close their connections."""
        for who in list(self._clients):
            await self.forget(who)

    async def new_session(self) -> str:
        """Return the id of a new session of the owner's."""
        return (await (await self.client("owner")).post("/api/v1/sessions", json={})).json()["id"]


@pytest.fixture(scope="module")
async def people(server: Server, anyio_backend: str) -> AsyncGenerator[People]:
    """The owner and the stranger have the role ``user``, the others the one they are named after."""
    roles = {"owner": "user", "stranger": "user", "operator": "operator", "admin": "admin"}
    async with server.client("ada") as ada:
        made = [
            await ada.post(
                "/api/v1/admin/users", json={"username": f"matrix-{who}", "password": PASSWORD, "role": role}
            )
            for who, role in roles.items()
        ]
        found = People(server)
        yield found
        await found.aclose()
        for answer in made:
            await ada.delete(f"/api/v1/admin/users/{answer.json()['user']['id']}")


def outcome(response: httpx2.Response) -> str:
    """Return whether somebody was let in, and if not, how they were told."""
    is_problem = response.headers.get("content-type") == "application/problem+json"
    code = response.json()["code"] if is_problem else ""
    return code if code in {"not_authenticated", "not_allowed", "session_not_found"} else "let in"


def expected(needs: Needs | SessionAction, who: str) -> str:
    if needs is Needs.NOTHING:
        return "let in"
    if who == "nobody":
        return "not_authenticated"
    if needs is Needs.OPERATOR:
        return "let in" if who in {"operator", "admin"} else "not_allowed"
    if needs is Needs.ADMIN:
        return "let in" if who == "admin" else "not_allowed"
    if isinstance(needs, SessionAction):
        return "let in" if who in {"owner", "admin"} else "session_not_found"
    return "let in"


def test_every_route_has_its_expectation() -> None:
    routes = {(method.upper(), path) for path, methods in openapi_schema()["paths"].items() for method in methods}
    assert set(ROUTES) == routes


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=" ".join)
async def test_a_route_lets_in_exactly_those_it_is_for(server: Server, people: People, method: str, path: str) -> None:
    needs = ROUTES[method, path]
    told: dict[str, str] = {}
    ids = {
        "user_id": "no-such-user",
        "sign_in_id": "none",
        "seq": 1,
        "request_id": "none",
        "attachment_id": "none",
        "name": "none",
        "plugin": "none",
        "digest": "none",
        "path": "none",
        "rule_id": "none",
    }
    for who in PEOPLE:
        url = path.format(session_id=await people.new_session(), **ids)
        told[who] = outcome(await (await people.client(who)).request(method, url))
        if (method, path) in ENDING and who != "nobody":
            await people.forget(who)
    assert told == {who: expected(needs, who) for who in PEOPLE}


def test_every_frame_has_its_expectation() -> None:
    found: set[str] = set()
    waiting: list[Any] = [frames.ClientFrame]
    while waiting:
        part = waiting.pop()
        if isinstance(part, type):
            fields = cast("type[BaseModel]", part).model_fields
            found.add(get_args(fields["command" if "command" in fields else "type"].annotation)[0])
        else:
            waiting += get_args(getattr(part, "__value__", part))
    assert set(FRAMES) == found


@pytest.mark.parametrize("who", PEOPLE)
async def test_frames_reach_a_session_from_its_owner_and_administrators_only(
    server: Server, people: People, who: str
) -> None:
    query = f"?session_id={await people.new_session()}"
    if who == "nobody":
        async with httpx2.AsyncClient(headers={"authorization": "Bearer nonsense"}) as nobody:
            async with server.chat(nobody, query) as chat:
                assert (await closing(chat))[0] == 4401
        return
    async with server.chat(await people.client(who), query) as chat:
        if who not in {"owner", "admin"}:
            # Not even told whether there is such a session; no frame gets that far.
            assert (await closing(chat))[0] == 4404
            return
        await chat.until("hello")
        for command in ("set_model", "rewind", "fork", "continue", "resume"):
            extra: dict[str, Any] = {"set_model": {"model": "m"}, "rewind": {"before_seq": 1}}.get(command, {})
            await chat.send(type="session_command", command=command, **extra)
        await chat.send(type="plugin_config", plugin="none", enabled=False)
        await chat.send(type="interrupt")
        await chat.send(type="permission_response", request_id="none", decision="deny")
        await chat.send(type="ping")
        await chat.until("pong")
        refused = [frame for frame in chat.frames if frame["type"] == "error" and frame["code"] == "not_allowed"]
        assert refused == []
