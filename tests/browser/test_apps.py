"""Apps of plugins in the page: the example that holds polls, and pages that mean harm.

Real: Chromium, the built app, the server process, the CLI, the plugin's process, SQLite. Scripted: the model.
"""

import json
from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import FrameLocator, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say
from tests.support.plugins import zipped
from tests.support.plugins_at_work import EXAMPLES
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli, pytest.mark.usefixtures("without_plugins")]


def poll() -> bytes:
    """Return an archive of the example."""
    return zipped({file.name: file.read_bytes() for file in (EXAMPLES / "poll").iterdir() if file.is_file()})


@pytest.fixture
async def without_plugins(server: Server) -> AsyncGenerator[None]:
    """The server is shared: what a test adds to it goes away, whatever becomes of the test."""
    yield
    async with server.client("ada") as ada:
        for plugin in (await ada.get("/api/v1/plugins")).json()["items"]:
            await ada.post(f"/api/v1/plugins/{plugin['name']}/deactivate")
            (await ada.delete(f"/api/v1/plugins/{plugin['name']}")).raise_for_status()


async def activate(server: Server, name: str, archive: bytes) -> None:
    async with server.client("ada") as ada:
        files = {"file": ("plugin.zip", archive, "application/zip")}
        (await ada.post("/api/v1/plugins", files=files)).raise_for_status()
        (await ada.post(f"/api/v1/plugins/{name}/activate")).raise_for_status()


async def ask_poll(page: Page) -> FrameLocator:
    """Have the agent begin a poll, and return its page."""
    given = {"question": "Tea or coffee?", "options": ["Tea", "Coffee"]}
    await say(page, f"call tool mcp__poll__ask with {json.dumps(given)}")
    await page.get_by_role("button", name="Allow", exact=True).click()
    return conversation(page).frame_locator("iframe")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_poll_is_shown_and_a_vote_is_counted_when_the_person_agrees(
    server: Server, sign_in: SignIn, scheme: str
) -> None:
    await activate(server, "poll", poll())
    page = await sign_in(color_scheme=scheme)
    app = await ask_poll(page)
    await expect(app.get_by_role("heading")).to_have_text("Tea or coffee?")
    colour = await app.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert colour == await page.evaluate("() => getComputedStyle(document.querySelector('form')).backgroundColor")
    frame = page.locator("iframe")
    assert await frame.get_attribute("sandbox") == "allow-scripts"
    await app.get_by_role("button", name="Coffee").click()
    question = page.get_by_role("region", name="The app of poll wants to use vote")
    await expect(question).to_contain_text("Coffee")
    await question.get_by_role("button", name="Allow while this page is open").click()
    await expect(app.get_by_role("button", name="Coffee")).to_have_text("Coffee1")
    await expect(message_box(page)).to_have_value("I chose “Coffee”.")
    await app.get_by_role("button", name="Coffee").click()
    await expect(app.get_by_role("button", name="Coffee")).to_have_text("Coffee2")
    await expect(question).to_have_count(0)
    await page.reload()
    await expect(app.get_by_role("heading")).to_have_text("Tea or coffee?")
