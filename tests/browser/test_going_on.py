"""What a person does with a conversation besides chatting: try again, fork it, go back, and change its settings."""

import re

import pytest
from playwright.async_api import Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say, stop_button

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

SLOW = "stream 400 tokens at 40 tokens per second with timestamps"
TAKEN_BACK = re.compile(r"messages? taken back")


async def ask(page: Page, text: str) -> None:
    """Have the model say something, and wait until its turn is over."""
    await say(page, f"say exactly: {text}")
    await expect(conversation(page).get_by_text(text, exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)


async def words(page: Page) -> list[str]:
    """Return what the conversation says, without how it is laid out."""
    return (await conversation(page).inner_text()).split()


async def answered(page: Page, turns: int) -> None:
    """Wait until there are so many turns to be seen and the last one is over."""
    # A message that is not on the tape yet is no article: what follows cannot be true too early.
    await expect(conversation(page).get_by_role("article")).to_have_count(turns)
    await expect(stop_button(page)).to_have_count(0)


async def edit(page: Page, old: str, new: str) -> None:
    """Edit the message ``old`` and send it again."""
    message = conversation(page).get_by_role("article").filter(has=page.get_by_text(old, exact=True))
    await message.hover()
    await message.get_by_role("button", name="Edit message").click()
    editor = conversation(page).get_by_role("form", name="Edit message")
    await editor.get_by_role("textbox").fill(new)
    await editor.get_by_role("button", name="Save & send").click()


async def test_a_failed_message_is_sent_again_by_one_click(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "this is answered")
    await say(page, "fail with status 400")
    retry = conversation(page).get_by_role("button", name="Try again")
    await retry.click()
    turns = conversation(page).get_by_role("article")
    await expect(turns).to_have_count(3)
    await expect(turns.last).to_contain_text("fail with status 400")
    # Refused twice in a row, it is no use to try once more; and only the last turn offers anything.
    await expect(retry).to_have_count(0)
    origin = page.url
    await turns.last.get_by_role("button", name="Go on in a copy").click()
    await expect(page).not_to_have_url(origin)
    await expect(conversation(page)).to_contain_text("A copy of")
    await expect(conversation(page).get_by_text("this is answered", exact=True)).to_be_visible()
    await expect(conversation(page).get_by_text("fail with status 400")).to_have_count(0)


async def test_a_conversation_that_is_too_long_is_summarised_by_one_click(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "this is answered")
    await say(page, "prompt too long")
    await expect(conversation(page)).to_contain_text("too long for the model")
    await conversation(page).get_by_role("button", name="Summarise and make room").click()
    await expect(conversation(page)).to_contain_text("The conversation is being summarised to make room.")
    await expect(stop_button(page)).to_have_count(0)
    await ask(page, "this goes on")


async def test_a_fork_opens_with_the_past_and_goes_its_own_way(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "one for all")
    await ask(page, "only in the first")
    origin = page.url
    answer = conversation(page).get_by_role("article").first
    await answer.hover()
    await answer.get_by_role("button", name="Fork from here").click()
    await expect(page).not_to_have_url(origin)
    await expect(conversation(page).get_by_text("one for all", exact=True)).to_be_visible()
    await expect(conversation(page)).to_contain_text("A copy of")
    await ask(page, "only in the second")
    assert "only in the first" not in await conversation(page).inner_text()
    await expect(page.get_by_role("navigation").get_by_role("link", name=re.compile("^Fork")).first).to_be_visible()
    await page.get_by_role("button", name="Fork conversation").click()
    await expect(conversation(page).get_by_text("only in the second", exact=True)).to_be_visible()


async def test_an_edited_message_replaces_what_came_after_it_also_after_a_reload(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "stays")
    await ask(page, "goes")
    await ask(page, "goes too")
    await edit(page, "say exactly: goes", "say exactly: comes instead")
    await expect(conversation(page).get_by_text("comes instead", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    live = await words(page)
    assert "messages taken back" in " ".join(live)
    assert "goes" not in live
    await page.reload()
    await expect(conversation(page).get_by_text("comes instead", exact=True)).to_be_visible()
    assert await words(page) == live
    # The agent has forgotten it too.
    await say(page, "what did I tell you earlier?")
    await answered(page, 3)
    told = await conversation(page).get_by_role("article").last.inner_text()
    assert "stays" in told
    assert "goes" not in told
    await conversation(page).get_by_text(TAKEN_BACK).click()
    await expect(conversation(page).get_by_text("goes too", exact=True)).to_be_visible()


async def test_several_rewinds_leave_what_was_said_between_them_in_its_place(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "first try")
    await edit(page, "say exactly: first try", "say exactly: second try")
    await expect(conversation(page).get_by_text("second try", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    await edit(page, "say exactly: second try", "say exactly: third try")
    await expect(conversation(page).get_by_text("third try", exact=True)).to_be_visible()
    await expect(conversation(page)).to_contain_text("2 messages taken back")
    article = conversation(page).get_by_role("article").filter(has_text="third try")
    await article.hover()
    await article.get_by_role("button", name="Rewind to here").click()
    await page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    await expect(conversation(page)).to_contain_text("3 messages taken back")
    await ask(page, "a new beginning")


async def test_a_rewind_puts_files_back(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "write file notes.txt with one")
    await answered(page, 1)
    await say(page, "edit file notes.txt: replace one with two")
    await answered(page, 2)
    await edit(page, "edit file notes.txt: replace one with two", "read file notes.txt")
    await expect(conversation(page)).to_contain_text("files put back")
    await answered(page, 2)
    await expect(conversation(page).get_by_role("article").last.get_by_role("figure")).to_contain_text("one")


async def test_a_message_of_a_running_turn_can_be_edited(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, SLOW)
    await expect(conversation(page)).to_contain_text("t=")
    await edit(page, SLOW, "say exactly: shorter")
    await expect(conversation(page).get_by_text("shorter", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)


async def test_model_and_permissions_are_changed_and_stay_so(sign_in: SignIn) -> None:
    page = await sign_in()
    await ask(page, "hello")
    await page.get_by_role("button", name="Model").click()
    await page.get_by_role("textbox", name="Another model’s name").fill("claude-other-9")
    await page.get_by_role("button", name="Use", exact=True).click()
    await expect(page.get_by_role("button", name="Model")).to_contain_text("claude-other-9")
    await page.get_by_role("button", name="Permissions").click()
    await page.get_by_role("button", name=re.compile("^Plan only")).click()
    await expect(page.get_by_role("button", name="Permissions")).to_contain_text("Plan only")
    await expect(page.get_by_role("button", name="Permissions")).to_be_focused()
    await page.reload()
    await expect(page.get_by_role("button", name="Model")).to_contain_text("claude-other-9")
    await expect(page.get_by_role("button", name="Permissions")).to_contain_text("Plan only")
    await say(page, "how many messages")
    await expect(conversation(page)).to_contain_text("claude-other-9")


async def test_a_new_chat_begins_with_the_chosen_permissions(sign_in: SignIn) -> None:
    page = await sign_in()
    await page.get_by_role("button", name="Permissions").click()
    await page.get_by_role("button", name=re.compile("^Ask first")).click()
    await say(page, "write file notes.txt with one")
    await expect(page.get_by_role("button", name="Permissions")).to_contain_text("Ask first")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(stop_button(page)).to_have_count(0)
    await message_box(page).press("ArrowUp")
    await expect(message_box(page)).to_have_value("write file notes.txt with one")
