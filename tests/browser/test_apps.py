"""Apps of plugins in the page: the example that holds polls, and pages that mean harm.

Real: Chromium, the built app, the server process, the CLI, the plugin's process, SQLite. Scripted: the model.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import FrameLocator, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import activate_plugin, conversation, message_box, say
from tests.support.plugins import manifest, zipped
from tests.support.plugins_at_work import EXAMPLES
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli, pytest.mark.usefixtures("without_plugins")]


PAGES = Path(__file__).parent / "apps"

TOOLS = """
from claude_agent_sdk import tool
from claude_sdk_pattern.plugins.author import app

@app("page.html")
@tool("forecast", "Say what the weather will be.", {})
async def forecast(arguments):
    return {"content": [{"type": "text", "text": "rain"}]}
"""


def weather(page: str) -> bytes:
    """Return an archive of a plugin whose tool shows this page."""
    whole = manifest(permissions={"tools": ["mcp__weather__*"], "apps": True})
    return zipped({"plugin.json": json.dumps(whole), "tools.py": TOOLS, "page.html": page})


def poll() -> bytes:
    """Return an archive of the example."""
    return zipped({file.name: file.read_bytes() for file in (EXAMPLES / "poll").iterdir() if file.is_file()})


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
    await activate_plugin(server, "poll", poll())
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


class Outside:
    """Stands for the rest of the world: remembers who came."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Remember a connection and what it asked for."""
        self.visits.append((await reader.readline()).decode().strip() or "connection")
        writer.write(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\n\r\n")
        writer.close()


@contextlib.asynccontextmanager
async def outside() -> AsyncGenerator[Outside]:
    """Yield it, listening on loopback."""
    world = Outside()
    async with await asyncio.start_server(world.answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        world.url = f"http://127.0.0.1:{port}"
        yield world


async def show_forecast(page: Page) -> FrameLocator:
    """Have the agent call the tool of the plugin, and return its page."""
    await say(page, "call tool mcp__weather__forecast with {}")
    await page.get_by_role("button", name="Allow", exact=True).click()
    return conversation(page).frame_locator("iframe")


# What the browser says of each attempt that it holds back.
HELD = ["Content Security Policy", "sandboxed", "Blocked", "denied", "frame", "Unsafe attempt"]


async def test_a_hostile_page_reaches_nothing(server: Server, sign_in: SignIn) -> None:
    async with outside() as world:
        await activate_plugin(
            server, "weather", weather((PAGES / "hostile.html").read_text().replace("{{outside}}", world.url))
        )
        page = await sign_in(expected_errors=HELD)
        opened: list[object] = []

        def note(what: object) -> None:
            opened.append(what)

        page.context.on("page", note)
        page.on("dialog", note)
        app = await show_forecast(page)
        out = app.locator("#out")
        await expect(out).not_to_be_empty()
        found = json.loads(await out.inner_text())
        assert found.pop("origin") == "null"
        assert {name for name, came in found.items() if came == "reached"} == set()
        # It may leave its frame for nowhere either.
        await page.evaluate("document.querySelector('iframe').contentWindow.postMessage('leave', '*')")
        await say(page, "say exactly: still here")
        await expect(conversation(page)).to_contain_text("still here")
        assert world.visits == []
        assert opened == []
        assert page.url.startswith(f"{server.url}/s/")


# Speaks as an app has to before anything else.
HELLO = """
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const answers = [];
addEventListener("message", ({ data }) => {
  if (data.id !== undefined && data.method === undefined) answers.push(data);
});
const params = { protocolVersion: "2026-01-26", appInfo: { name: "x", version: "1" }, appCapabilities: {} };
post({ id: 0, method: "ui/initialize", params });
"""

FLOODS = {
    "messages": "setInterval(() => { for (let i = 0; i < 200; i += 1) post({ method: 'x' }); });",
    "one that is too long": "post({ method: 'x', params: { text: 'x'.repeat(300_000) } });",
}


@pytest.mark.parametrize("code", FLOODS.values(), ids=FLOODS)
async def test_an_app_that_sends_too_much_is_closed_and_the_page_goes_on(
    server: Server, sign_in: SignIn, code: str
) -> None:
    await activate_plugin(server, "weather", weather(f"<script>{HELLO}{code}</script>"))
    page = await sign_in()
    await show_forecast(page)
    await expect(conversation(page).get_by_role("note")).to_have_text(
        "The app of weather was closed: it sent more than this page takes."
    )
    await expect(page.locator("iframe")).to_have_count(0)
    await say(page, "say exactly: still here")
    await expect(conversation(page)).to_contain_text("still here")


async def test_an_app_that_never_ends_keeps_nobody_waiting(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "weather", weather(f"<script>{HELLO} for (;;) {{}}</script>"))
    page = await sign_in()
    await show_forecast(page)
    await expect(page.locator("iframe")).to_have_count(1)
    await say(page, "say exactly: still here")
    await expect(conversation(page)).to_contain_text("still here")


ODD = """
const asked = [
  ["tools/call", { name: "forecast", arguments: {} }],
  ["tools/call", { name: "no-such-tool", arguments: {} }],
  ["tools/call", { name: 7 }],
  ["tools/list", {}],
  ["resources/read", { uri: "file:///etc/passwd" }],
  ["resources/read", { uri: "ui://weather/page.html" }],
  ["ui/open-link", { url: "javascript:alert(1)" }],
  ["ui/update-model-context", { content: [] }],
  ["ui/download-file", { contents: [] }],
  ["ui/no-such-method", {}],
  ["sampling/createMessage", { messages: [], maxTokens: 1 }],
];
for (const [id, [method, params]] of asked.entries()) post({ id: id + 1, method, params });
for (const odd of [null, 1, "x", [], new Map(), { jsonrpc: "2.0" }, { jsonrpc: "2.0", id: {}, method: "ping" }])
  parent.postMessage(odd, "*");
post({ method: "ui/notifications/size-changed", params: { height: 1e9 } });
const show = () => {
  const told = answers.map(({ id, error }) => [id, error === undefined ? "answered" : error.code]);
  document.body.textContent = JSON.stringify(Object.fromEntries(told));
};
setInterval(show);
"""


async def test_what_an_app_may_not_have_is_refused_and_it_grows_no_higher_than_it_may(
    server: Server, sign_in: SignIn
) -> None:
    await activate_plugin(server, "weather", weather(f"<body></body><script>{HELLO}{ODD}</script>"))
    page = await sign_in(expected_errors=["404"])
    app = await show_forecast(page)
    question = page.get_by_role("region", name="The app of weather wants to use forecast")
    await question.get_by_role("button", name="Deny").click()
    body = app.locator("body")
    await expect(body).to_contain_text('"11":')
    await expect(body).to_contain_text('"1":')
    told = json.loads(await body.inner_text())
    answered = {number for number, outcome in told.items() if outcome == "answered"}
    assert answered == {"0", "6"}, "the greeting, and a page of its own server"
    assert set(told) == {str(number) for number in range(12)}
    assert {told[number] for number in ("4", "8", "9", "10", "11")} == {-32601}, "methods that are not there"
    box = await page.locator("iframe").bounding_box()
    assert box is not None
    assert box["height"] <= 602


async def test_a_link_is_opened_when_the_person_agrees(server: Server, sign_in: SignIn) -> None:
    async with outside() as world:
        link = f"post({{ id: 1, method: 'ui/open-link', params: {{ url: '{world.url}/docs' }} }});"
        await activate_plugin(server, "weather", weather(f"<script>{HELLO}{link}</script>"))
        page = await sign_in()
        await show_forecast(page)
        question = page.get_by_role("region", name="The app of weather wants to open a page elsewhere")
        await expect(question).to_contain_text(f"{world.url}/docs")
        assert world.visits == []
        async with page.context.expect_page() as opening:
            await question.get_by_role("button", name="Open").click()
        opened = await opening.value
        assert opened.url == f"{world.url}/docs"
        assert await opened.evaluate("opener") is None


async def test_an_app_fits_a_phone(server: Server, sign_in: SignIn) -> None:
    await activate_plugin(server, "poll", poll())
    page = await sign_in(viewport={"width": 390, "height": 844}, has_touch=True)
    app = await ask_poll(page)
    await app.get_by_role("button", name="Tea").click()
    await expect(page.get_by_role("region", name="The app of poll wants to use vote")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
