"""A server that has room for one agent: what those see who wait for it, and those whose agent was put to sleep."""

from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Locator, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say, stop_button
from tests.support.server import Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.storage.schema import migrate

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Server]:
    """In place of the server that the other tests share."""
    folder = tmp_path_factory.mktemp("full")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    await migrate(url)
    settings = {"max_sessions": "1", "prewarm_pool_size": "0"}
    async with (
        running_scripted_model() as model,
        running_server(model.base_url, url, folder / "data", **settings) as running,
    ):
        yield running


def quiet_line(page: Page) -> Locator:
    return page.get_by_test_id("quiet-line")


async def put_to_sleep(first: Page, second: Page, *, word: str) -> None:
    """Have one agent told a word, and another one take its place."""
    await say(first, f"remember that the word is {word}")
    await expect(conversation(first)).to_contain_text("I will remember")
    await expect(stop_button(first)).to_have_count(0)
    await say(second, "say exactly: my turn")
    await expect(quiet_line(first)).to_contain_text("Asleep. The next message wakes it.")
    await expect(conversation(second).get_by_text("my turn", exact=True)).to_be_visible()


async def test_whoever_waits_for_an_agent_sees_the_place_in_line(sign_in: SignIn) -> None:
    first, second = await sign_in(), await sign_in()
    await say(first, "stream 2000 tokens at 20 tokens per second")
    await expect(stop_button(first)).to_be_visible()
    await expect(first.get_by_test_id("text-block")).to_be_visible()
    await say(second, "say exactly: my turn")
    await expect(conversation(second)).to_contain_text("All agents are at work. You are number 1 in the queue.")
    await stop_button(first).click()
    await expect(conversation(second).get_by_text("my turn", exact=True)).to_be_visible()


async def test_a_session_that_was_put_to_sleep_says_so_and_is_woken(sign_in: SignIn) -> None:
    first, second = await sign_in(), await sign_in()
    await put_to_sleep(first, second, word="heron")
    await expect(stop_button(second)).to_have_count(0)
    await first.get_by_role("button", name="Wake").click()
    await expect(quiet_line(first)).to_have_count(0)
    await expect(quiet_line(second)).to_contain_text("Asleep")
    await say(first, "what did I tell you earlier?")
    await expect(conversation(first).get_by_text("remember that the word is heron").nth(1)).to_be_visible()


async def test_a_sleeping_agent_is_there_when_its_message_is_written(sign_in: SignIn, server: Server) -> None:
    first, second = await sign_in(), await sign_in()
    await put_to_sleep(first, second, word="egret")
    async with server.client() as alice:
        # Its slot is free then.
        (await alice.delete(f"/api/v1/sessions/{second.url.rsplit('/', 1)[-1]}")).raise_for_status()
    await message_box(first).press_sequentially("what did I")
    await expect(quiet_line(first)).to_have_count(0)
    await message_box(first).press_sequentially(" tell you earlier?")
    await message_box(first).press("Enter")
    await expect(conversation(first).get_by_text("remember that the word is egret").nth(1)).to_be_visible()
