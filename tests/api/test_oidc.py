"""Signing in through an identity provider: the routes in this process, and a real provider in one of its own.

The provider is certified and does not lie. What is done about one that does is tested with keys and tokens made here.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from tests.support.accounts import SECRET_KEY, cheap_passwords
from tests.support.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider, running_identity_provider

from claude_sdk_pattern.accounts.accounts import Accounts, OidcConfig
from claude_sdk_pattern.accounts.audit import AuditAction, AuditFilter, AuditLog
from claude_sdk_pattern.accounts.oidc_provider import Client
from claude_sdk_pattern.accounts.oidc_sign_in import OidcPolicy
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api import account, auth, oidc, problems
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio

OWN = "https://chat.example"
PEOPLE: dict[str, dict[str, Any]] = {
    "alice": {
        "preferred_username": "Alice",
        "email": "alice@corp.example",
        "email_verified": True,
        "groups": ["ops"],
    },
    "boss": {
        "preferred_username": "boss",
        "email": "boss@corp.example",
        "email_verified": True,
        "groups": ["platform"],
    },
    "mallory": {
        "preferred_username": "alice",
        "email": "alice@corp.example",
        "email_verified": False,
        "groups": [],
    },
}
BY_GROUP = OidcPolicy(role_claim="groups", roles={"platform": Role.ADMIN, "ops": Role.OPERATOR}, auto_create=True)
ANYBODY = OidcPolicy(roles={}, auto_create=True)


@dataclass(frozen=True, kw_only=True)
class SomeServices:
    """What these routes need of all services."""

    accounts: Accounts
    settings: Settings
    audit: AuditLog


@dataclass(frozen=True, kw_only=True)
class Site:
    """The application as a browser sees it, and what is behind it."""

    browser: httpx2.AsyncClient
    accounts: Accounts
    audit: AuditLog
    provider: IdentityProvider

    async def begin(self, next_path: str = "/") -> str:
        answer = await self.browser.get("/api/v1/auth/oidc/login", params={"next": next_path})
        assert answer.status_code == 303
        return answer.headers["location"]

    async def sign_in(self, name: str, next_path: str = "/") -> httpx2.Response:
        """Go the whole way; return what the callback answers."""
        return await self.browser.get(await self.provider.sign_in(await self.begin(next_path), name))

    async def me(self) -> dict[str, Any]:
        """Say who the browser's cookie signs in."""
        tokens = await self.browser.post("/api/v1/auth/refresh", json={}, headers={"origin": OWN})
        assert tokens.status_code == 200, tokens.text
        bearer = {"authorization": f"Bearer {tokens.json()['access_token']}"}
        return (await self.browser.get("/api/v1/auth/me", headers=bearer)).json()


type OpenSite = Callable[..., Awaitable[Site]]


@pytest.fixture(scope="module")
async def provider(anyio_backend: str) -> AsyncGenerator[IdentityProvider]:
    async with running_identity_provider(server_url=OWN, people=PEOPLE) as running:
        yield running


@pytest.fixture
async def open_site(database: Database, provider: IdentityProvider) -> AsyncGenerator[OpenSite]:
    """Return a function that makes the application with a policy; all of one test share a database."""
    browsers: list[httpx2.AsyncClient] = []

    async def opened(policy: OidcPolicy = ANYBODY, **changes: Any) -> Site:
        client = Client(client_id=CLIENT_ID, client_secret=changes.pop("client_secret", CLIENT_SECRET))
        config = replace(OidcConfig(issuer=provider.issuer, name="Corp", client=client, policy=policy), **changes)
        audit = AuditLog(database)
        accounts = Accounts(database, secret_key=SECRET_KEY, passwords=cheap_passwords(), audit=audit, oidc=config)
        app = FastAPI()
        problems.install(app)
        for module in (auth, account, oidc):
            app.include_router(module.router)
        settings = Settings(demo=True, secret_key=SECRET_KEY, public_url=OWN)  # pyright: ignore[reportArgumentType]
        app.state.services = SomeServices(accounts=accounts, settings=settings, audit=audit)
        browser = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=OWN)
        browsers.append(browser)
        return Site(browser=browser, accounts=accounts, audit=audit, provider=provider)

    yield opened
    for browser in browsers:
        await browser.aclose()


def problem_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 303, answer.text
    where = urlsplit(answer.headers["location"])
    assert where.path == "/login"
    return parse_qs(where.query)["problem"][0]


async def test_somebody_new_becomes_a_user_and_is_signed_in_where_they_wanted_to_go(open_site: OpenSite) -> None:
    site = await open_site()
    assert (await site.browser.get("/api/v1/auth/methods")).json() == {"provider": "Corp"}
    answer = await site.sign_in("alice", next_path="/s/some-session")
    assert (answer.status_code, answer.headers["location"]) == (303, "/s/some-session")
    me = await site.me()
    assert (me["username"], me["role"], me["has_password"]) == ("alice", "user", False)
    assert me["end_session_url"].startswith(f"{site.provider.issuer}/session/end?")
    created, login = reversed(await site.audit.page(AuditFilter(), limit=10))
    assert (created.entry.action, login.entry.action) == (AuditAction.USER_CREATED, AuditAction.LOGIN)
    assert login.entry.details["method"] == "oidc"


async def test_the_same_person_is_the_same_user_the_next_time(open_site: OpenSite) -> None:
    site = await open_site()
    await site.sign_in("alice")
    first = await site.me()
    await site.sign_in("alice")
    assert (await site.me())["id"] == first["id"]


async def test_the_request_carries_proof_key_state_and_nonce_and_they_differ_each_time(open_site: OpenSite) -> None:
    site = await open_site()
    asked = [parse_qs(urlsplit(await site.begin()).query) for _ in range(2)]
    for query in asked:
        assert query["code_challenge_method"] == ["S256"]
        assert query["redirect_uri"] == [f"{OWN}/api/v1/auth/oidc/callback"]
    for name in ("code_challenge", "state", "nonce"):
        assert asked[0][name] != asked[1][name]


async def test_a_mail_address_or_a_name_gives_nobody_the_account_of_another(open_site: OpenSite) -> None:
    site = await open_site()
    await site.sign_in("alice")
    alice = await site.me()
    await site.sign_in("mallory")
    mallory = await site.me()
    assert mallory["id"] != alice["id"]
    assert mallory["username"] == "alice-2"


async def test_groups_give_roles_at_every_sign_in(open_site: OpenSite) -> None:
    site = await open_site(BY_GROUP)
    await site.sign_in("boss")
    assert (await site.me())["role"] == "admin"
    await site.sign_in("alice")
    assert (await site.me())["role"] == "operator"
    await site.accounts.users.set_role("alice", Role.USER)
    await site.sign_in("alice")
    assert (await site.me())["role"] == "operator"
    assert problem_of(await site.sign_in("mallory")) == "oidc_not_allowed"


async def test_the_last_administrator_stays_one_whatever_their_groups(open_site: OpenSite) -> None:
    site = await open_site(BY_GROUP)
    await site.sign_in("alice")
    await site.accounts.users.set_role("alice", Role.ADMIN)
    await site.sign_in("alice")
    assert (await site.me())["role"] == "admin"


async def test_only_verified_addresses_that_are_allowed_may_sign_in(open_site: OpenSite) -> None:
    site = await open_site(replace(ANYBODY, allowed_domains=("corp.example",)))
    assert problem_of(await site.sign_in("mallory")) == "oidc_not_allowed"
    assert (await site.sign_in("alice")).headers["location"] == "/"
    site = await open_site(replace(ANYBODY, allowed_emails=("boss@corp.example",)))
    assert problem_of(await site.sign_in("alice")) == "oidc_not_allowed"
    assert (await site.sign_in("boss")).headers["location"] == "/"


async def test_without_auto_create_only_those_who_were_linked_may_sign_in(open_site: OpenSite) -> None:
    site = await open_site(replace(ANYBODY, auto_create=False))
    assert problem_of(await site.sign_in("alice")) == "oidc_unknown_user"
    user = await site.accounts.users.add("ada", None, Role.OPERATOR)
    await site.accounts.administration.link("ada", site.provider.issuer, "alice", actor="cli")
    assert (await site.sign_in("alice")).headers["location"] == "/"
    assert (await site.me())["id"] == user.id


async def test_a_disabled_user_stays_out(open_site: OpenSite) -> None:
    site = await open_site()
    await site.sign_in("alice")
    await site.accounts.users.disable("alice")
    assert problem_of(await site.sign_in("alice")) == "oidc_disabled"


async def test_a_code_brought_by_another_browser_signs_nobody_in(open_site: OpenSite) -> None:
    """Somebody sends a victim the address with which their own sign-in would end."""
    attacker, victim = await open_site(), await open_site()
    prepared = await attacker.provider.sign_in(await attacker.begin(), "alice")
    assert problem_of(await victim.browser.get(prepared)) == "oidc_expired"
    await victim.begin()
    answer = await victim.browser.get(prepared)
    assert problem_of(answer) == "oidc_expired"
    assert "csp_refresh" not in SimpleCookie(answer.headers.get("set-cookie", ""))


async def test_an_answer_works_once(open_site: OpenSite) -> None:
    site = await open_site()
    address = await site.provider.sign_in(await site.begin(), "alice")
    cookie = site.browser.cookies.get("csp_oidc", path="/api/v1/auth/oidc")
    assert (await site.browser.get(address)).headers["location"] == "/"
    assert problem_of(await site.browser.get(address)) == "oidc_expired"
    answer = await site.browser.get(address, headers={"cookie": f"csp_oidc={cookie}"})
    assert problem_of(answer) == "oidc_rejected"


async def test_a_provider_that_says_no_is_understood(open_site: OpenSite) -> None:
    site = await open_site()
    state = parse_qs(urlsplit(await site.begin()).query)["state"][0]
    answer = await site.browser.get("/api/v1/auth/oidc/callback", params={"error": "access_denied", "state": state})
    assert problem_of(answer) == "oidc_denied"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"issuer": "http://127.0.0.1:9"}, "oidc_unreachable"),
        ({"issuer": "OTHER_NAME"}, "oidc_misconfigured"),
    ],
)
async def test_a_provider_that_cannot_be_used_is_said_on_the_sign_in_page(
    open_site: OpenSite, provider: IdentityProvider, changes: dict[str, str], code: str
) -> None:
    # The same provider under another name than it has for itself.
    changes = {"issuer": changes["issuer"].replace("OTHER_NAME", provider.issuer.replace("127.0.0.1", "localhost"))}
    site = await open_site(**changes)
    assert problem_of(await site.browser.get("/api/v1/auth/oidc/login")) == code


async def test_a_wrong_client_secret_is_refused_by_the_provider_and_said(open_site: OpenSite) -> None:
    site = await open_site(client_secret="another secret")
    assert problem_of(await site.sign_in("alice")) == "oidc_rejected"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "\t//evil.example"]
)
async def test_the_way_back_never_leads_to_another_site(open_site: OpenSite, elsewhere: str) -> None:
    site = await open_site()
    assert (await site.sign_in("alice", next_path=elsewhere)).headers["location"] == "/"


async def test_without_a_provider_there_is_no_way_to_one(database: Database) -> None:
    app = FastAPI()
    problems.install(app)
    app.include_router(oidc.router)
    settings = Settings(demo=True, secret_key=SECRET_KEY)  # pyright: ignore[reportArgumentType]
    app.state.services = SomeServices(
        accounts=Accounts(database, secret_key=SECRET_KEY), settings=settings, audit=AuditLog(database)
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=OWN) as browser:
        for path in ("login", "callback"):
            answer = await browser.get(f"/api/v1/auth/oidc/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "no_identity_provider")
