"""Components of plugins in the page: the example that draws charts, and plugins that misbehave.

Real: Chromium, the built app, the server process, the CLI, the plugin's process, SQLite. Scripted: the model.
"""

import json
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import activate_plugin, conversation, message_box, say
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


async def ask_for_forecast(page: Page) -> None:
    await say(page, "call tool mcp__weather__forecast with {}")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.get_by_test_id("tool-card").first).to_have_attribute("data-state", "done")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_chart_is_drawn_in_the_conversation_and_obeys_its_settings(
    server: Server, sign_in: SignIn, scheme: str
) -> None:
    await activate_plugin(server, "chart", chart())
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
    await page.get_by_role("link", name="Signed in as alice").click()
    settings = page.get_by_role("region", name="Charts")
    await settings.get_by_label("Show numbers as").select_option("line")
    await page.go_back()
    await expect(drawing.locator("circle")).to_have_count(6)
    await page.reload()
    await expect(drawing.locator("polyline")).to_have_count(1)
    await expect(controls.get_by_role("combobox")).to_have_value("line")


async def test_what_plugins_show_fits_a_phone(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "chart", chart())
    page = await sign_in(viewport={"width": 390, "height": 844}, has_touch=True)
    await page.get_by_role("button", name="Draw a chart").click()
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(conversation(page).get_by_role("figure")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


BROKEN = """
export function Part() { throw new Error("broken on purpose"); }
"""

EVERYWHERE = """
import { createElement as h, useState } from "react";
import { createPortal } from "react-dom";
import { jsx } from "react/jsx-runtime";
import { usePluginContext } from "@claude-sdk-pattern/plugin-sdk";

export function Part() {
  const { user, session, theme, language, insertText } = usePluginContext();
  const [count, setCount] = useState(0);
  const about = `${user.name} ${user.role} ${theme} ${language} ${session === null ? "nowhere" : "somewhere"}`;
  return h("div", { className: "part" },
    h("button", { onClick: () => setCount(count + 1) }, `weather ${count}`),
    h("button", { onClick: () => insertText("how is the weather?") }, "ask"),
    jsx("output", { children: about }),
    createPortal(h("i", { className: "portal" }), document.body));
}
"""


async def test_a_renderer_that_throws_leaves_the_conversation_alive(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "weather", weather(BROKEN, *SLOTS))
    page = await sign_in(expected_errors=["broken on purpose"])
    await ask_for_forecast(page)
    card = page.get_by_test_id("tool-card").first
    note = "The plugin weather could not show something here."
    await expect(card.get_by_role("note")).to_have_text(note)
    # The result itself is still to be had, and so is everything else.
    await card.get_by_role("button").first.click()
    await expect(card).to_contain_text("rain")
    await say(page, "say exactly: still here")
    await expect(conversation(page)).to_contain_text("still here")
    await expect(page.locator("main > header").get_by_role("note")).to_have_text(note)
    await page.get_by_role("button", name="Open the side panel").click()
    await expect(page.get_by_role("complementary", name="Side panel").get_by_role("note")).to_have_text(note)


@pytest.mark.parametrize(
    ("code", "failing"),
    [("export const Other = 1;", "has no component"), ("nonsense(", "SyntaxError"), ("throw 1;", "1")],
    ids=["no-such-export", "syntax", "throws"],
)
async def test_a_module_that_is_no_good_is_a_note_in_its_place(
    server: Server, sign_in: SignIn, code: str, failing: str
) -> None:
    await activate_plugin(server, "weather", weather(code, "input-extension"))
    page = await sign_in(expected_errors=[failing])
    await expect(page.get_by_role("group", name="Of plugins").get_by_role("note")).to_be_visible()
    await say(page, "say exactly: still here")
    await expect(conversation(page)).to_contain_text("still here")


async def test_components_share_react_and_know_the_page_in_every_slot(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "weather", weather(EVERYWHERE, *SLOTS))
    page = await sign_in(color_scheme="dark")
    controls = page.get_by_role("group", name="Of plugins")
    await controls.get_by_role("button", name="weather 0").click()
    await expect(controls.get_by_role("button", name="weather 1")).to_be_visible()
    await expect(controls.get_by_role("status")).to_have_text("alice user dark en nowhere")
    await controls.get_by_role("button", name="ask").click()
    await expect(message_box(page)).to_have_value("how is the weather?")
    await ask_for_forecast(page)
    await expect(controls.get_by_role("status")).to_have_text("alice user dark en somewhere")
    await page.get_by_role("button", name="Open the side panel").click()
    for place in (
        page.get_by_test_id("tool-card"),
        page.locator("main > header"),
        page.get_by_role("complementary", name="Side panel").get_by_role("region", name="Weather"),
    ):
        await expect(place.get_by_role("button", name="weather 0")).to_be_visible()
    await page.get_by_role("link", name="Signed in as alice").click()
    await expect(page.get_by_role("region", name="Weather").get_by_role("button", name="weather 0")).to_be_visible()


async def test_components_come_and_go_with_their_plugin_while_the_page_is_open(server: Server, sign_in: SignIn) -> None:
    page = await sign_in(username="ada")
    controls = page.get_by_role("group", name="Of plugins")
    await expect(controls).to_have_count(0)
    await activate_plugin(server, "weather", weather(EVERYWHERE, "input-extension"))
    await page.get_by_role("link", name="Administration").click()
    await page.get_by_role("link", name="Plugins").click()
    row = page.get_by_role("listitem", name="weather")
    await row.get_by_role("button").first.click()
    await row.get_by_role("button", name="Reload").click()
    await page.go_back()
    await page.go_back()
    await expect(controls.get_by_role("button", name="weather 0")).to_be_visible()
    await page.go_forward()
    await page.go_forward()
    await row.get_by_role("button").first.click()
    await row.get_by_role("button", name="Deactivate").click()
    await expect(row).to_contain_text("Off")
    await page.go_back()
    await page.go_back()
    await expect(message_box(page)).to_be_visible()
    await expect(controls).to_have_count(0)


async def test_a_file_that_was_altered_on_its_way_is_not_run(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "weather", weather(EVERYWHERE, "input-extension"))
    page = await sign_in(expected_errors=["integrity", "cannot be loaded"])

    async def alter(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=await answer.text() + "\nwindow.wasRun = true;")

    await page.context.route("**/plugin-ui/weather/**", alter)
    await page.reload()
    await expect(page.get_by_role("group", name="Of plugins").get_by_role("note")).to_be_visible()
    assert await page.evaluate("window.wasRun") is None


async def test_a_style_sheet_holds_inside_its_plugin_alone(server: Server, sign_in: SignIn) -> None:
    # The second rule would be one for the whole page, were the sheet put between braces as it is.
    style = "button { letter-spacing: 3px } } button { letter-spacing: 7px }"
    await activate_plugin(server, "weather", weather(EVERYWHERE, "input-extension", style=style))
    page = await sign_in()
    spacing = "element => getComputedStyle(element).letterSpacing"
    inside = page.get_by_role("group", name="Of plugins").get_by_role("button", name="weather 0")
    assert await inside.evaluate(spacing) in {"3px", "7px"}
    assert await page.get_by_role("button", name="Send").evaluate(spacing) == "normal"
