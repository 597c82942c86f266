"""Managing users, links, the identity provider, and losing access, as people see them.

Real: Chromium, the built app, the server process, SQLite, the identity provider. Scripted: the model.
"""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say
from tests.support.identity_provider import CLIENT_ID, CLIENT_SECRET, running_identity_provider
from tests.support.platform import PASSWORD, SECRET_KEY
from tests.support.server import Server, free_port, store_people

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.schema import migrate

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

PEOPLE: dict[str, dict[str, Any]] = {"claire": {"preferred_username": "claire"}}


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Server]:
    """A server with an identity provider, in place of the one that the other tests share."""
    folder = tmp_path_factory.mktemp("accounts")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    await migrate(url)
    await store_people(url)
    port = free_port()
    async with (
        running_scripted_model() as model,
        running_identity_provider(server_url=f"http://127.0.0.1:{port}", people=PEOPLE) as provider,
    ):
        settings = {
            "oidc_issuer": provider.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": CLIENT_SECRET,
            "oidc_name": "Corp",
            "oidc_auto_create": "true",
        }
        running = Server(
            model_url=model.base_url, database_url=url, data_dir=folder / "data", port=port, settings=settings
        )
        try:
            await running.start()
            yield running
        finally:
            await running.kill()


@contextlib.asynccontextmanager
async def opened(browser: Browser, server: Server, path: str) -> AsyncGenerator[Page]:
    """Open a page of a new browser profile, where nobody is signed in."""
    context = await browser.new_context(base_url=server.url)
    page = await context.new_page()
    await page.goto(path)
    yield page
    await context.close()


async def fill_in(page: Page, name: str) -> None:
    await page.get_by_label("Username").fill(name)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def test_an_administrator_adds_somebody_who_chooses_a_password(browser: Browser, server: Server) -> None:
    async with opened(browser, server, "/admin/users") as admin:
        await fill_in(admin, "ada")
        await admin.get_by_label("Name of the new user").fill("grace")
        await admin.get_by_label("Role of the new user").select_option("operator")
        await admin.get_by_role("button", name="Add user").click()
        link = urlsplit(await admin.get_by_test_id("password-link").inner_text())
        await admin.get_by_role("button", name="Done").click()
        await expect(admin.get_by_label("Role of grace")).to_have_value("operator")
        await expect(admin.get_by_role("row", name="grace")).to_contain_text("Without a password")
        async with opened(browser, server, f"{link.path}#{link.fragment}") as theirs:
            await theirs.get_by_label("New password", exact=True).fill("a long password")
            await theirs.get_by_label("New password, again").fill("another one")
            await theirs.get_by_role("button", name="Save and sign in").click()
            await expect(theirs.get_by_role("alert").filter(has_text="not the same")).to_be_visible()
            # The secret is not left standing in the address.
            assert urlsplit(theirs.url).fragment == ""
            await theirs.get_by_label("New password, again").fill("a long password")
            await theirs.get_by_role("button", name="Save and sign in").click()
            await expect(message_box(theirs)).to_be_visible()
            # Of the administration, an operator has the plugins, and adds none.
            await theirs.get_by_role("link", name="Administration").click()
            await expect(theirs.get_by_role("heading", name="Plugins")).to_be_visible()
            await expect(theirs.get_by_role("navigation", name="Administration").get_by_role("link")).to_have_count(1)
            await expect(theirs.get_by_role("button", name="Upload plugin")).to_have_count(0)
        async with opened(browser, server, f"{link.path}#{link.fragment}") as again:
            for label in ("New password", "New password, again"):
                await again.get_by_label(label, exact=True).fill("a long password")
            await again.get_by_role("button", name="Save and sign in").click()
            await expect(again.get_by_role("alert").filter(has_text="expired or was used before")).to_be_visible()


async def test_the_last_administrator_is_told_why_they_stay_one(browser: Browser, server: Server) -> None:
    async with opened(browser, server, "/admin/users") as admin:
        await fill_in(admin, "ada")
        await admin.get_by_label("Role of ada").select_option("user")
        await expect(admin.get_by_role("alert").filter(has_text="This is the last administrator")).to_be_visible()
        await expect(admin.get_by_label("Role of ada")).to_have_value("admin")


async def test_a_disabled_user_is_signed_out_at_once_and_their_turn_ends(
    browser: Browser, server: Server, sign_in: SignIn
) -> None:
    alice = await sign_in()
    await say(alice, "stream 5000 tokens at 20 tokens per second")
    await expect(alice.get_by_test_id("text-block")).to_be_visible()
    session = urlsplit(alice.url).path
    async with opened(browser, server, "/admin/users") as admin:
        await fill_in(admin, "ada")
        await admin.get_by_role("button", name="Disable alice").click()
        await expect(
            alice.get_by_role("alert").filter(has_text="Your access changed. Please sign in again.")
        ).to_be_visible()
        await fill_in(alice, "alice")
        await expect(alice.get_by_role("alert").filter(has_text="do not match")).to_be_visible()
        await admin.goto(session)
        await expect(conversation(admin)).to_contain_text("Stopped")
        await admin.goto("/admin/users")
        await admin.get_by_role("button", name="Enable alice").click()
        await expect(admin.get_by_role("button", name="Disable alice")).to_be_visible()


async def test_somebody_signs_in_and_out_through_the_identity_provider(browser: Browser, server: Server) -> None:
    async with opened(browser, server, "/account") as page:
        await page.get_by_role("button", name="Sign in with Corp").click()
        await page.get_by_placeholder("Enter any login").fill("claire")
        await page.get_by_placeholder("and password").fill("any")
        await page.get_by_role("button", name="Sign-in").click()
        await page.get_by_role("button", name="Continue").click()
        # Back where they wanted to go.
        await expect(page.get_by_text("Signed in as claire, role: User.")).to_be_visible()
        await expect(page.get_by_text("have no password here")).to_be_visible()
        await page.get_by_role("button", name="Sign out", exact=True).click()
        await expect(page.get_by_role("button", name="Yes, sign me out")).to_be_visible()
        await page.get_by_role("button", name="Yes, sign me out").click()
        await expect(page.get_by_role("button", name="Sign in with Corp")).to_be_visible()


async def test_one_changes_one_s_password_and_ends_another_sign_in(browser: Browser, server: Server) -> None:
    async with opened(browser, server, "/account") as page, opened(browser, server, "/") as elsewhere:
        for one in (page, elsewhere):
            await fill_in(one, "bob")
        await expect(message_box(elsewhere)).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("row")).to_have_count(3)
        await page.get_by_role("row").get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("row")).to_have_count(2)
        await page.get_by_label("Current password").fill("not it")
        await page.get_by_label("New password").fill("a better password")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("alert").filter(has_text="current password is wrong")).to_be_visible()
        await page.get_by_label("Current password").fill(PASSWORD)
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("status").filter(has_text="Your password is changed.")).to_be_visible()


async def test_the_first_administrator_is_made_with_the_setup_link(
    browser: Browser, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("setup")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    await migrate(url)
    async with Database(url) as database:
        link = await Accounts(database, secret_key=SECRET_KEY).setup_link()
    assert link is not None
    empty = Server(model_url=server.model_url, database_url=url, data_dir=folder / "data", port=free_port())
    try:
        await empty.start()
        async with opened(browser, empty, link.path) as page:
            await page.get_by_label("Username").fill("root")
            for label in ("New password", "New password, again"):
                await page.get_by_label(label, exact=True).fill("a long password")
            await page.get_by_role("button", name="Create and sign in").click()
            await page.get_by_role("link", name="Administration").click()
            await expect(page.get_by_label("Role of root")).to_have_value("admin")
    finally:
        await empty.kill()
    async with Database(url) as database:
        users = await Accounts(database, secret_key=SECRET_KEY).users.list()
    assert [(account.user.username, account.user.role) for account in users] == [("root", Role.ADMIN)]
