"""A browser, a server with the built web app, and people who sign in.

Real: Chromium, the built app, the server process, the CLI, SQLite. Scripted: the model.
"""

import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect
from tests.support.platform import PASSWORD
from tests.support.server import Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.runtime import CLI
from claude_sdk_pattern.storage.schema import migrate

# The first answer of a cold process on a busy machine; everything else is far quicker.
expect.set_options(timeout=30_000)

# Without these a browser tries to reach its maker's hosts at every start.
_CHROMIUM_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)

type SignIn = Callable[..., Awaitable[Page]]


@pytest.fixture(scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Server]:
    """One server for all tests; each signs in anew and uses a session of its own."""
    assert CLI.exists()
    folder: Path = tmp_path_factory.mktemp("browser")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    await migrate(url)
    async with running_scripted_model() as model, running_server(model.base_url, url, folder / "data") as running:
        yield running


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncGenerator[Browser]:
    """Chromium: the one that is installed, else the one Playwright brings."""
    installed = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    # Chromium's own sandbox refuses to run as root, as in a container.
    arguments = [*_CHROMIUM_ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=installed, args=arguments)
        yield running
        await running.close()


@pytest.fixture
async def sign_in(server: Server, browser: Browser) -> AsyncGenerator[SignIn]:
    """Return a function that opens a page of a new browser profile and signs in there.

    Whatever the page writes to the console as an error, or throws, fails the test at its end, unless the test expects
    an error with such a text.
    """
    complaints: list[str] = []
    expected: list[str] = []
    pages: list[Page] = []

    def note(message: ConsoleMessage) -> None:
        # A lost connection is what several tests are about; the browser reports each one.
        if message.type == "error" and "WebSocket" not in message.text and "ERR_CONNECTION" not in message.text:
            complaints.append(message.text)

    async def open_page(
        path: str = "/",
        *,
        page: Page | None = None,
        username: str = "alice",
        expected_errors: Sequence[str] = (),
        **options: object,
    ) -> Page:
        expected.extend(expected_errors)
        if page is not None:
            opened = await page.context.new_page()
        else:
            context = await browser.new_context(base_url=server.url, **options)  # type: ignore[arg-type]
            opened = await context.new_page()
        opened.on("console", note)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        pages.append(opened)
        await opened.goto(path)
        if page is None:
            await opened.get_by_label("Username").fill(username)
            await opened.get_by_label("Password").fill(PASSWORD)
            await opened.get_by_role("button", name="Sign in", exact=True).click()
        await expect(opened.get_by_role("textbox", name="Message")).to_be_visible()
        return opened

    yield open_page
    for page in pages:
        await page.context.close()
    # The answer to "am I signed in?" before anybody is, to a file that is too large, and to one that is not good.
    known = ("401", "413", "422", *expected)
    assert [text for text in complaints if not any(part in text for part in known)] == []


@pytest.fixture
async def without_plugins(server: Server) -> AsyncGenerator[None]:
    """The server is shared: what a test adds to it goes away, whatever becomes of the test."""
    yield
    async with server.client("ada") as ada:
        for plugin in (await ada.get("/api/v1/plugins")).json()["items"]:
            await ada.post(f"/api/v1/plugins/{plugin['name']}/deactivate")
            (await ada.delete(f"/api/v1/plugins/{plugin['name']}")).raise_for_status()
