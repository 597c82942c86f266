"""What the browser tests do again and again."""

from playwright.async_api import Locator, Page
from tests.support.server import Server


async def say(page: Page, text: str) -> None:
    """Type a message and send it."""
    box = message_box(page)
    await box.fill(text)
    await box.press("Enter")


def message_box(page: Page) -> Locator:
    """Return the composer's input."""
    return page.get_by_role("textbox", name="Message", exact=True)


def conversation(page: Page) -> Locator:
    """Return what was said."""
    return page.get_by_role("log")


def stop_button(page: Page) -> Locator:
    """Return the button that is there while a turn runs."""
    return page.get_by_role("button", name="Stop")


async def activate_plugin(server: Server, name: str, archive: bytes) -> None:
    """Upload a plugin and put it to work, as an operator."""
    async with server.client("ada") as ada:
        files = {"file": ("plugin.zip", archive, "application/zip")}
        (await ada.post("/api/v1/plugins", files=files)).raise_for_status()
        (await ada.post(f"/api/v1/plugins/{name}/activate")).raise_for_status()
