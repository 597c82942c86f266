"""Components of plugins in the page: the example that draws charts, and plugins that misbehave.

Real: Chromium, the built app, the server process, the CLI, the plugin's process, SQLite. Scripted: the model.
"""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say
from tests.support.plugins import manifest, zipped
from tests.support.plugins_at_work import EXAMPLES
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli, pytest.mark.usefixtures("without_plugins")]

TOOL = """
from claude_agent_sdk import tool

@tool("forecast", "Say what the weather will be.", {})
async def forecast(arguments):
    return {"content": [{"type": "text", "text": "rain"}]}
"""

SLOTS = ["message-renderer", "input-extension", "settings-section", "side-panel", "header-action"]


def chart() -> bytes:
    """Return an archive of the example."""
    root = EXAMPLES / "chart"
    files = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    return zipped({path: content for path, content in files.items() if "__pycache__" not in path})


def weather(code: str, *slots: str, style: str | None = None) -> bytes:
    """Return an archive of a plugin with one component, ``Part``, in some slots."""
    part: dict[str, Any] = {"bundle": "ui/part.js", "export": "Part"}
    if style is not None:
        part["style"] = "ui/part.css"
    needed = {
        "message-renderer": {"tools": ["mcp__weather__*"]},
        "side-panel": {"title": "Weather"},
        "settings-section": {"title": "Weather"},
    }
    whole = manifest(
        permissions={"tools": ["mcp__weather__forecast"], "slots": list(slots)},
        ui=[{"slot": slot, **part, **needed.get(slot, {})} for slot in slots],
    )
    files = {"plugin.json": json.dumps(whole), "tools.py": TOOL, "ui/part.js": code}
    return zipped(files | ({} if style is None else {"ui/part.css": style}))


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


async def ask_for_forecast(page: Page) -> None:
    await say(page, "call tool mcp__weather__forecast with {}")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.get_by_test_id("tool-card").first).to_have_attribute("data-state", "done")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_chart_is_drawn_in_the_conversation_and_obeys_its_settings(
    server: Server, sign_in: SignIn, scheme: str
) -> None:
    await activate(server, "chart", chart())
    page = await sign_in(color_scheme=scheme)
    controls = page.get_by_role("group", name="Of plugins")
    await controls.get_by_role("button", name="Draw a chart").click()
    await page.get_by_role("button", name="Allow", exact=True).click()
    figure = conversation(page).get_by_role("figure", name="Hours of daylight in Oslo")
    drawing = figure.get_by_role("img", name="Jan: 6, Mar: 12")
    await expect(drawing.locator("rect")).to_have_count(6)
    # The component's style sheet has the page's own colours, in either theme.
    colour = await figure.evaluate("element => getComputedStyle(element).backgroundColor")
    assert colour == await page.evaluate("() => getComputedStyle(document.querySelector('form')).backgroundColor")
    await page.get_by_role("link", name="Account").or_(page.get_by_role("button", name="Account")).first.click()
    settings = page.get_by_role("region", name="Charts")
    await settings.get_by_label("Show numbers as").select_option("line")
    await page.go_back()
    await expect(drawing.locator("circle")).to_have_count(6)
    await page.reload()
    await expect(drawing.locator("polyline")).to_have_count(1)
    # Another person has settings of their own; and what was drawn is on no other tape.
    await expect(controls.get_by_role("combobox")).to_have_value("line")


async def test_what_plugins_show_fits_a_phone(server: Server, sign_in: SignIn) -> None:
    await activate(server, "chart", chart())
    page = await sign_in(viewport={"width": 390, "height": 844}, has_touch=True)
    await page.get_by_role("button", name="Draw a chart").click()
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(conversation(page).get_by_role("figure")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
