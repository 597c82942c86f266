"""Files: attached to messages, shown with them, and the long results of tools."""

import re
import struct
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, message_box, say, stop_button
from tests.support.server import Server, running_server

from claude_sdk_pattern.model_gateway.scripted import running_scripted_model
from claude_sdk_pattern.storage.schema import migrate

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

MAX_BYTES = 200_000
NATURAL_WIDTH = "image => image.naturalWidth"


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Server]:
    """In place of the server that the other tests share: one that takes small files and sends short results."""
    folder = tmp_path_factory.mktemp("files")
    url = f"sqlite+aiosqlite:///{folder / 'test.db'}"
    await migrate(url)
    settings = {"max_attachment_bytes": str(MAX_BYTES), "max_tool_result_bytes": "4096"}
    async with (
        running_scripted_model() as model,
        running_server(model.base_url, url, folder / "data", **settings) as running,
    ):
        yield running


def png(width: int = 40, height: int = 30) -> bytes:
    """Return a small picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(
        b"\0" + b"".join(bytes((x * 6 % 256, y * 8 % 256, 120)) for x in range(width)) for y in range(height)
    )
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "sketch.png"
    path.write_bytes(png())
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("some notes")
    return path


async def attach(page: Page, *files: Path) -> None:
    await page.locator("input[type=file]").set_input_files(files)


def chips(page: Page) -> Locator:
    """Return the files in the composer."""
    return page.locator("form").get_by_role("list", name="Attached files").get_by_role("listitem")


async def test_a_new_chat_begins_with_a_picture_and_a_text(sign_in: SignIn, picture: Path, notes: Path) -> None:
    page = await sign_in()
    await attach(page, picture, notes)
    await expect(chips(page)).to_have_count(2)
    await say(page, "what did I attach")
    await expect(conversation(page)).to_contain_text("With your message I got")
    await expect(conversation(page)).to_contain_text("image")
    await expect(chips(page)).to_have_count(0)
    for _ in range(2):
        shown = conversation(page).get_by_role("button", name="Show sketch.png").locator("img")
        await expect(shown).to_be_visible()
        assert await shown.evaluate(NATURAL_WIDTH) == 40
        async with page.expect_download() as download:
            await conversation(page).get_by_role("button", name="Download notes.txt").click()
        assert Path(await (await download.value).path()).read_text() == "some notes"
        # All of it comes back.
        await page.reload()
    await conversation(page).get_by_role("button", name="Show sketch.png").click()
    await expect(page.get_by_role("dialog").get_by_role("img", name="sketch.png")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_files_need_no_text_and_survive_a_reload_before_they_are_sent(sign_in: SignIn, picture: Path) -> None:
    page = await sign_in()
    await say(page, "say exactly: hello")
    await expect(conversation(page).get_by_text("hello", exact=True)).to_be_visible()
    await attach(page, picture)
    await expect(chips(page)).to_have_attribute("data-state", "ready")
    await page.reload()
    await expect(chips(page)).to_contain_text("sketch.png")
    await message_box(page).press("Enter")
    await expect(conversation(page)).to_contain_text("With your message I got")
    await expect(chips(page)).to_have_count(0)


async def test_a_file_that_is_too_large_is_explained_and_does_not_go_along(
    sign_in: SignIn, tmp_path: Path, notes: Path
) -> None:
    large = tmp_path / "large.bin"
    large.write_bytes(b"x" * (MAX_BYTES * 20))
    page = await sign_in()
    await say(page, "say exactly: hello")
    await expect(conversation(page).get_by_text("hello", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    await attach(page, large, notes)
    await expect(page.get_by_role("alert").filter(has_text="too large")).to_be_visible()
    await message_box(page).fill("what did I attach")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.get_by_role("button", name="Remove large.bin").click()
    await page.get_by_role("button", name="Send").click()
    await expect(conversation(page).get_by_role("button", name="Download notes.txt")).to_be_visible()
    assert "large.bin" not in await conversation(page).inner_text()


async def test_a_message_with_a_file_is_edited_and_keeps_it(sign_in: SignIn, picture: Path) -> None:
    page = await sign_in()
    await attach(page, picture)
    await say(page, "say exactly: before")
    await expect(conversation(page).get_by_text("before", exact=True)).to_be_visible()
    await expect(stop_button(page)).to_have_count(0)
    message = conversation(page).get_by_role("article")
    await message.hover()
    await message.get_by_role("button", name="Edit message").click()
    editor = conversation(page).get_by_role("form", name="Edit message")
    await expect(editor).to_contain_text("sketch.png")
    await editor.get_by_role("textbox").fill("what did I attach")
    await editor.get_by_role("button", name="Save & send").click()
    await expect(conversation(page)).to_contain_text("1 message taken back")
    await expect(conversation(page)).to_contain_text("With your message I got")
    await expect(conversation(page)).to_contain_text("image")


async def test_a_file_is_dropped_on_the_conversation(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "say exactly: hello")
    await expect(conversation(page).get_by_text("hello", exact=True)).to_be_visible()
    data = await page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'dropped.txt')); return data; }"
    )
    await conversation(page).dispatch_event("dragenter", {"dataTransfer": data})
    await expect(page.get_by_text("Drop files to attach them")).to_be_visible()
    await conversation(page).dispatch_event("drop", {"dataTransfer": data})
    await expect(chips(page)).to_contain_text("dropped.txt")
    await expect(chips(page)).to_have_attribute("data-state", "ready")


async def test_the_whole_of_a_long_result_is_there_on_demand(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, "run bash: python3 -c \"print('\\\\n'.join(f'line {n}' for n in range(2000)))\"")
    await page.get_by_role("button", name="Allow", exact=True).click()
    card = conversation(page).get_by_role("button", name=re.compile(r"Run.*python3"))
    await expect(card).to_contain_text("Done")
    await card.click()
    await conversation(page).get_by_role("button", name="Show all").click()
    whole = conversation(page).get_by_role("region", name="Whole result")
    await expect(whole).to_contain_text("line 1999")
    await whole.focus()
    await expect(whole).to_be_focused()


async def test_a_result_of_20_mb_is_shown_short_and_the_page_goes_on(sign_in: SignIn) -> None:
    page = await sign_in()
    await say(page, f"run bash: (echo '%PDF-1.4'; head -c {15_000_000} /dev/urandom) > big.pdf")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(stop_button(page)).to_have_count(0)
    await say(page, "read file big.pdf")
    card = conversation(page).get_by_role("button", name=re.compile(r"Read.*big\.pdf"))
    await expect(card).to_contain_text("Done", timeout=30_000)
    await expect(stop_button(page)).to_have_count(0, timeout=30_000)
    await card.click()
    await expect(conversation(page)).to_contain_text("application/pdf, 20.0 MB, is left out here")
    await say(page, "say exactly: after")
    await expect(conversation(page).get_by_text("after", exact=True)).to_be_visible()
