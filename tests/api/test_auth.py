"""The auth routes over real HTTP messages, with real accounts in a real SQLite file and a real PostgreSQL.

Only the socket is missing, and of the server's parts all but the accounts.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import Morsel, SimpleCookie
from typing import Annotated, Any

import anyio
import httpx2
import pytest
from fastapi import Depends, FastAPI
from tests.support.accounts import PASSWORD, SECRET_KEY, SettableClock, make_accounts

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.accounts.refresh_tokens import GRACE
from claude_sdk_pattern.accounts.throttle import PAIR
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.api import auth, problems
from claude_sdk_pattern.api.dependencies import AdminUser, OperatorUser, StreamUser, require_role
from claude_sdk_pattern.api.token_answers import COOKIE, COOKIE_PATH
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio

OWN = "https://chat.example"
ALLOWED = "https://friend.example"
LOGIN = {"username": "alice", "password": PASSWORD}


@dataclass(frozen=True, kw_only=True)
class SomeServices:
    """What the auth routes need of all services."""

    accounts: Accounts
    settings: Settings
    audit: AuditLog


@dataclass(frozen=True, kw_only=True)
class Api:
    """A client of the application, and the accounts behind it."""

    client: httpx2.AsyncClient
    accounts: Accounts
    clock: SettableClock

    async def login(self, **fields: str) -> httpx2.Response:
        """Sign in, by default as Alice."""
        return await self.client.post("/api/v1/auth/login", json=LOGIN | fields)

    async def post(self, path: str, **how: Any) -> httpx2.Response:
        """Post to one of the auth routes."""
        return await self.client.post(f"/api/v1/auth/{path}", **how)

    async def me(self, access_token: str) -> httpx2.Response:
        """Ask who carries a token."""
        return await self.client.get("/api/v1/auth/me", headers=bearer(access_token))


def make_app(services: SomeServices) -> FastAPI:
    app = FastAPI()
    problems.install(app)
    app.include_router(auth.router)
    app.state.services = services

    @app.get("/for/user")
    async def for_user(  # pyright: ignore[reportUnusedFunction]
        user: Annotated[User, Depends(require_role(Role.USER))],
    ) -> str:
        return user.role

    @app.get("/for/operator")
    async def for_operator(user: OperatorUser) -> str:  # pyright: ignore[reportUnusedFunction]
        return user.role

    @app.get("/for/admin")
    async def for_admin(user: AdminUser) -> str:  # pyright: ignore[reportUnusedFunction]
        return user.role

    @app.get("/stream")
    async def stream(user: StreamUser) -> str:  # pyright: ignore[reportUnusedFunction]
        return user.username

    return app


@pytest.fixture
async def api(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Api]:
    """The API with one user, Alice, reached over https as ``chat.example``."""
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_ALLOWED_ORIGINS", ALLOWED)
    settings = Settings(demo=True, secret_key=SECRET_KEY)  # pyright: ignore[reportArgumentType]
    clock = SettableClock()
    accounts = make_accounts(database, clock)
    await accounts.users.add("alice", PASSWORD, Role.USER)
    transport = httpx2.ASGITransport(
        app=make_app(SomeServices(accounts=accounts, settings=settings, audit=AuditLog(database)))
    )
    async with httpx2.AsyncClient(transport=transport, base_url=OWN) as client:
        yield Api(client=client, accounts=accounts, clock=clock)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refresh_cookie(response: httpx2.Response) -> Morsel[str]:
    return SimpleCookie(response.headers["set-cookie"])[COOKIE]


def attributes(cookie: Morsel[str]) -> dict[str, object]:
    """Everything about a cookie by which a browser decides whether a new one replaces it."""
    return {name: cookie[name] for name in ("path", "domain", "secure", "httponly", "samesite")}


def code(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


async def test_a_browser_gets_the_refresh_token_where_no_script_can_read_it(api: Api) -> None:
    response = await api.login()
    assert response.status_code == 200
    assert response.json().keys() == {"access_token", "token_type", "expires_in"}
    assert (response.json()["token_type"], response.json()["expires_in"]) == ("bearer", 900)
    cookie = refresh_cookie(response)
    assert attributes(cookie) == {
        "path": COOKIE_PATH,
        "domain": "",
        "secure": True,
        "httponly": True,
        "samesite": "strict",
    }
    assert cookie["max-age"] == str(7 * 24 * 3600)
    assert response.headers["cache-control"] == "no-store"


async def test_without_https_the_cookie_is_still_set(api: Api) -> None:
    response = await api.client.post("http://chat.example/api/v1/auth/login", json=LOGIN)
    assert not refresh_cookie(response)["secure"]


async def test_the_access_token_says_who_one_is(api: Api) -> None:
    response = await api.me((await api.login()).json()["access_token"])
    assert response.status_code == 200
    assert response.json() == {
        "id": (await api.accounts.users.find("alice")).user.id,
        "username": "alice",
        "role": "user",
        "has_password": True,
        "end_session_url": None,
    }


async def test_a_program_keeps_its_refresh_token_itself(api: Api) -> None:
    token = (await api.login(client="api")).json()["refresh_token"]
    api.client.cookies.clear()
    response = await api.post("refresh", json={"refresh_token": token})
    assert response.status_code == 200
    assert response.json()["refresh_token"] not in {None, token}


@pytest.mark.parametrize("how", [{}, {"json": {}}, {"json": {"refresh_token": None}}], ids=str)
async def test_a_browser_stays_signed_in_with_its_cookie(api: Api, how: dict[str, Any]) -> None:
    first = refresh_cookie(await api.login()).value
    response = await api.post("refresh", **how)
    assert response.status_code == 200
    assert "refresh_token" not in response.json()
    assert refresh_cookie(response).value != first
    assert (await api.me(response.json()["access_token"])).status_code == 200


async def test_twenty_tabs_that_refresh_at_once_all_stay_signed_in(api: Api) -> None:
    token = (await api.login(client="api")).json()["refresh_token"]
    answers: list[httpx2.Response] = []

    async def refresh() -> None:
        answers.append(await api.post("refresh", json={"refresh_token": token}))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(refresh)
    assert [answer.status_code for answer in answers] == [200] * 20
    assert len({answer.json()["refresh_token"] for answer in answers}) == 1


async def test_a_refresh_token_used_again_later_signs_everybody_out_who_has_it(api: Api) -> None:
    stolen = (await api.login(client="api")).json()["refresh_token"]
    current = (await api.post("refresh", json={"refresh_token": stolen})).json()
    api.clock.advance(GRACE + timedelta(seconds=1))
    assert code(await api.post("refresh", json={"refresh_token": stolen})) == (401, "sign_in_ended")
    assert code(await api.post("refresh", json={"refresh_token": current["refresh_token"]})) == (401, "sign_in_ended")
    assert code(await api.me(current["access_token"])) == (401, "not_authenticated")


async def test_without_a_refresh_token_there_is_nothing_to_refresh(api: Api) -> None:
    assert code(await api.post("refresh")) == (401, "sign_in_ended")


async def test_unknown_wrong_and_disabled_get_the_same_answer(api: Api) -> None:
    answers = [await api.login(username="nobody"), await api.login(password="wrong password")]
    await api.accounts.users.disable("alice")
    answers.append(await api.login())
    assert {code(answer) for answer in answers} == {(401, "wrong_credentials")}
    assert len({answer.content for answer in answers}) == 1
    assert not any("set-cookie" in answer.headers for answer in answers)


async def test_guessing_is_answered_with_the_time_to_wait(api: Api) -> None:
    for _ in range(PAIR.burst):
        await api.login(password="wrong password")
    response = await api.login()
    assert code(response) == (429, "too_many_attempts")
    assert 0 < int(response.headers["retry-after"]) <= 30


@pytest.mark.parametrize(
    "body",
    [
        {"username": "alice"},
        {"username": "alice", "password": 7},
        {"username": "alice", "password": "planted-secret", "client": "toaster"},
        {"username": "alice", "password": "planted-secret" * 100},
        {"username": "a" * 65, "password": "planted-secret"},
        {"username": "alice", "password": "planted-secret", "admin": True},
        ["planted-secret"],
    ],
    ids=lambda body: str(body)[:50],
)
async def test_a_wrong_body_is_explained_without_repeating_the_password(api: Api, body: object) -> None:
    response = await api.post("login", json=body)
    assert code(response) == (422, "invalid_request")
    assert "planted-secret" not in response.text


@pytest.mark.parametrize("presented", ["access token", "cookie", "refresh token", "both"])
async def test_signing_out_ends_all_tokens_and_takes_the_cookie_away(api: Api, presented: str) -> None:
    signed_in = await api.login(client="api")
    tokens = signed_in.json()
    if presented not in {"cookie", "both"}:
        api.client.cookies.clear()
    how: dict[str, Any] = {}
    if presented in {"access token", "both"}:
        how["headers"] = bearer(tokens["access_token"])
    if presented == "refresh token":
        how["json"] = {"refresh_token": tokens["refresh_token"]}
    response = await api.post("logout", **how)
    assert response.status_code == 204
    assert refresh_cookie(response)["max-age"] == "0"
    assert attributes(refresh_cookie(response)) == attributes(refresh_cookie(signed_in))
    assert not api.client.cookies
    assert code(await api.me(tokens["access_token"])) == (401, "not_authenticated")
    refused = await api.post("refresh", json={"refresh_token": tokens["refresh_token"]})
    assert code(refused) == (401, "sign_in_ended")


async def test_one_can_sign_out_when_the_access_token_has_expired(api: Api) -> None:
    await api.login()
    assert (await api.post("logout", headers=bearer("an expired token"))).status_code == 204


async def test_nobody_cannot_sign_out(api: Api) -> None:
    assert code(await api.post("logout")) == (401, "not_authenticated")


@pytest.mark.parametrize(
    "authorization", [None, b"", b"Bearer", b"Bearer ", b"Bearer x.y.z", b"Basic YTpi", b"Bearer \xe9"]
)
@pytest.mark.parametrize("path", ["/api/v1/auth/me", "/for/user", "/for/operator", "/for/admin", "/stream"])
async def test_without_a_valid_token_nothing_is_shown(api: Api, path: str, authorization: bytes | None) -> None:
    headers = [] if authorization is None else [(b"Authorization", authorization)]
    response = await api.client.get(path, headers=headers)
    assert code(response) == (401, "not_authenticated")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("role", Role)
async def test_each_role_gets_where_it_may_and_no_further(api: Api, role: Role) -> None:
    earlier = (await api.login()).json()["access_token"]
    await api.accounts.users.set_role("alice", role)
    if role is not Role.USER:
        assert code(await api.me(earlier)) == (401, "not_authenticated"), "another role ends the login"
    token = (await api.login()).json()["access_token"]
    allowed = {Role.USER: ["user"], Role.OPERATOR: ["user", "operator"], Role.ADMIN: ["user", "operator", "admin"]}
    for place in ("user", "operator", "admin"):
        response = await api.client.get(f"/for/{place}", headers=bearer(token))
        if place in allowed[role]:
            assert response.json() == role.value
        else:
            assert code(response) == (403, "not_allowed")


async def test_a_ticket_opens_one_stream(api: Api) -> None:
    headers = bearer((await api.login()).json()["access_token"])
    issued = (await api.post("ticket", headers=headers)).json()
    assert issued["expires_in"] == 30
    assert (await api.client.get("/stream", params={"ticket": issued["ticket"]})).json() == "alice"
    again = await api.client.get("/stream", params={"ticket": issued["ticket"]})
    assert code(again) == (401, "not_authenticated")
    assert (await api.client.get("/stream", headers=headers)).json() == "alice"


async def test_a_ticket_is_no_access_token(api: Api) -> None:
    headers = bearer((await api.login()).json()["access_token"])
    ticket = (await api.post("ticket", headers=headers)).json()["ticket"]
    assert code(await api.me(ticket)) == (401, "not_authenticated")


@pytest.mark.parametrize("path", ["login", "refresh", "logout", "ticket"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://chat.example", "https://chat.example:444"])
async def test_pages_of_other_origins_can_do_nothing_with_the_cookie(api: Api, path: str, origin: str) -> None:
    signed_in = (await api.login()).json()
    body = LOGIN if path == "login" else {}
    response = await api.post(path, json=body, headers=bearer(signed_in["access_token"]) | {"Origin": origin})
    assert code(response) == (403, "origin_not_allowed")
    assert "set-cookie" not in response.headers
    assert (await api.me(signed_in["access_token"])).status_code == 200


@pytest.mark.parametrize("origin", [OWN, "https://CHAT.example:443", ALLOWED, None])
async def test_own_and_allowed_pages_and_programs_may_refresh(api: Api, origin: str | None) -> None:
    await api.login()
    headers = {} if origin is None else {"Origin": origin}
    assert (await api.post("refresh", json={}, headers=headers)).status_code == 200
