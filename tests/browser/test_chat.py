"""What a person does in a browser: sign in, chat, watch tools, stop, reload, and come back after a restart."""

import asyncio
import re

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, say, stop_button
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

# Each token is the moment it was sent, so no two are alike and none can go missing unseen.
SLOW = "stream 400 tokens at 40 tokens per second with timestamps"
STAMP = re.compile(r"\bt=(\d+)")


async def shown(page: Page) -> str:
    return await conversation(page).inner_text()


async def stamps(page: Page) -> list[int]:
    return [int(stamp) for stamp in STAMP.findall(await shown(page))]


async def test_a_wrong_password_is_explained(server: Server, browser: Browser) -> None:
    context = await browser.new_context(base_url=server.url)
    page = await context.new_page()
    await page.goto("/")
    await page.get_by_label("Username").fill("alice")
    await page.get_by_label("Password").fill("not the password")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("do not match")).to_be_visible()
    await context.close()


async def test_an_answer_streams_and_stands_after_a_reload(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "show me some writing")
    await expect(conversation(page).get_by_role("table")).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    await expect(page).to_have_url(re.compile(r"/s/[0-9a-f-]{36}$"))
    before = await shown(page)
    await page.reload()
    await expect(conversation(page).get_by_role("table")).to_be_visible()
    assert await shown(page) == before


async def test_a_signed_in_person_stays_so_over_a_reload(sign_in: SignIn) -> None:
    page = await sign_in()
    await page.reload()
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Password")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Password")).to_be_visible()


async def test_a_tool_waits_for_permission_runs_and_shows_its_result(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "run bash: python3 -c \"print('forty' + '-two')\"")
    await page.get_by_role("button", name="Allow", exact=True).click()
    card = conversation(page).get_by_role("button", name=re.compile(r"Run.*python3"))
    await expect(card).to_contain_text("Done")
    await card.click()
    await expect(conversation(page).get_by_text("forty-two").first).to_be_visible()


async def test_a_denied_tool_does_not_run(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "run bash: python3 -c \"print('forty' + '-two')\"")
    await page.get_by_role("button", name="Deny", exact=True).click()
    await expect(stop_button(page)).to_have_count(0)
    await expect(conversation(page)).to_contain_text("Denied")
    await expect(conversation(page)).not_to_contain_text("forty-two")


async def test_a_question_with_choices_is_answered_in_its_form(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "ask me a question")
    option = conversation(page).get_by_role("radio").nth(1)
    await expect(option).to_be_attached()
    await option.check(force=True)
    await conversation(page).get_by_role("button", name=re.compile("answer", re.IGNORECASE)).click()
    await expect(stop_button(page)).to_have_count(0)
    await expect(option).to_have_count(0)


async def test_stop_ends_an_answer_and_keeps_what_was_said(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, SLOW)
    await expect(conversation(page)).to_contain_text(STAMP)
    await stop_button(page).click()
    await expect(stop_button(page)).to_have_count(0)
    assert 0 < len(await stamps(page)) < 400
    await say(page, "say exactly: going on")
    await expect(conversation(page).get_by_text("going on", exact=True)).to_be_visible()


async def test_a_message_sent_meanwhile_is_shown_as_queued_and_answered_next(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, SLOW)
    await expect(conversation(page)).to_contain_text(STAMP)
    await say(page, "say exactly: now you")
    await expect(conversation(page)).to_contain_text("Queued")
    await stop_button(page).click()
    await expect(conversation(page).get_by_text("now you", exact=True)).to_be_visible()


async def test_a_reload_in_mid_stream_loses_no_word_and_doubles_none(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "stream 120 tokens at 40 tokens per second with timestamps")
    await expect(conversation(page)).to_contain_text(STAMP)
    await page.reload()
    await expect(page.get_by_test_id("session-cost")).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    told = await stamps(page)
    assert len(told) == 120
    assert told == sorted(set(told))


async def test_two_tabs_see_the_same(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "say exactly: first words")
    await expect(conversation(page).get_by_text("first words", exact=True)).to_be_visible()
    other = await sign_in(page.url, page=page)
    await say(other, "say exactly: second words")
    for tab in (page, other):
        await expect(conversation(tab).get_by_text("second words", exact=True)).to_be_visible()
        await expect(stop_button(tab)).to_have_count(0)
    assert await shown(page) == await shown(other)


async def test_an_overloaded_model_is_explained_with_a_way_on(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "fail with status 400")
    await expect(stop_button(page)).to_have_count(0)
    await expect(
        conversation(page).get_by_role("button", name=re.compile("again|retry", re.IGNORECASE))
    ).to_be_visible()


async def test_a_restart_in_mid_stream_keeps_every_word_and_the_chat_goes_on(server: Server, sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "remember that the word is heron")
    await expect(conversation(page)).to_contain_text("I will remember")
    await say(page, SLOW)
    await expect(conversation(page)).to_contain_text(STAMP)
    await server.kill()
    await expect(page.get_by_text(re.compile("Reconnecting|Connection lost"))).to_be_visible()
    before = await stamps(page)
    assert before
    await server.start()
    await expect(stop_button(page)).to_have_count(0)
    after = await stamps(page)
    assert after[: len(before)] == before
    assert len(after) == len(set(after))
    await say(page, "what did I tell you earlier?")
    await expect(conversation(page).get_by_text("remember that the word is heron").nth(1)).to_be_visible()


async def test_a_page_comes_back_by_itself_after_a_stop_and_sends_what_was_written_meanwhile(
    server: Server, sign_in: SignIn
) -> None:
    page = await sign_in()
    await say(page, "run bash: python3 -c \"open('proof.txt', 'w').write('ran')\"")
    await expect(page.get_by_role("button", name="Allow", exact=True)).to_be_visible()
    stopped = asyncio.create_task(server.stop())
    await expect(page.get_by_text(re.compile("Reconnecting|Connection lost|restart"))).to_be_visible()
    await stopped
    await say(page, "say exactly: Written while nobody listened.")
    await server.start()
    await expect(conversation(page).get_by_text("Written while nobody listened.", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
async def test_the_page_fits_its_screen(sign_in: SignIn, scheme: str, width: int, height: int) -> None:
    page = await sign_in(viewport={"width": width, "height": height}, color_scheme=scheme)
    await say(page, "show me some writing")
    await expect(conversation(page).get_by_role("table")).to_be_visible()
    overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    light, *_ = (int(part) for part in re.findall(r"\d+", background))
    assert (light > 128) == (scheme == "light")
