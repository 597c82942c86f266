"""Plugins as operators and people in a chat see them.

Real: Chromium, the built app, the server process, the CLI, the plugin's process, SQLite. Scripted: the model.
"""

import json
import re
from typing import Any

import pytest
from playwright.async_api import FilePayload, Locator, Page, expect
from tests.browser.conftest import SignIn
from tests.browser.steps import conversation, say
from tests.support.plugins import manifest, zipped, zipped_plugin
from tests.support.plugins_at_work import EXAMPLES
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.cli]

DICE = EXAMPLES / "dice"


def dice(**changes: Any) -> bytes:
    """Return an archive of the example with tools, with changes to its manifest."""
    files = {str(file.relative_to(DICE)): file.read_bytes() for file in DICE.rglob("*.py")}
    whole = json.loads((DICE / "plugin.json").read_text()) | changes
    return zipped(files | {"plugin.json": json.dumps(whole)})


def demanding_dice(**changes: Any) -> bytes:
    """Return an archive of one that needs a secret and can be configured in several ways."""
    properties = {
        "most": {"type": "integer", "title": "Most dice at once", "maximum": 1000, "default": 20},
        "lucky": {"type": "boolean", "title": "Lucky"},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 8}, "title": "Words"},
        "API_KEY": {"type": "string", "title": "Key", "writeOnly": True},
    }
    permissions = {"tools": ["mcp__dice__roll"], "hosts": ["dice.example.org"], "secrets": ["API_KEY"]}
    schema = {"type": "object", "properties": properties, "required": ["API_KEY"]}
    return dice(**({"permissions": permissions, "config_schema": schema} | changes))


def as_file(content: bytes, name: str = "plugin.zip") -> FilePayload:
    return {"name": name, "mimeType": "application/zip", "buffer": content}


async def upload(page: Page, form: str, content: bytes, name: str = "plugin.zip") -> Locator:
    """Choose an archive in a form of this name, send it, and return the form."""
    found = page.get_by_role("form", name=form)
    await found.get_by_label("Zip archive").set_input_files(as_file(content, name))
    await found.get_by_role("button", name=form).click()
    return found


async def open_tab(sign_in: SignIn, **options: Any) -> Page:
    page = await sign_in(username="ada", **options)
    await page.goto("/admin/plugins")
    return page


@pytest.mark.usefixtures("without_plugins")
async def test_a_plugin_goes_from_upload_to_removal(sign_in: SignIn) -> None:
    page = await open_tab(sign_in)
    await upload(page, "Upload plugin", demanding_dice())
    row = page.get_by_role("listitem", name="dice")
    await expect(row).to_contain_text("New")
    # What it asks for is shown before anybody agrees; without its key it cannot start.
    await row.get_by_role("button", name="Activate…").click()
    consent = page.get_by_role("dialog", name="Activate dice 1.0.0?")
    await expect(consent).to_contain_text("dice.example.org")
    await expect(consent).to_contain_text("mcp__dice__roll")
    await consent.get_by_role("button", name="Agree and activate").click()
    await expect(consent.get_by_role("alert")).to_contain_text("API_KEY in config has to be set")
    await consent.get_by_role("button", name="Cancel").click()
    # Each thing that is wrong is said at its field.
    await row.get_by_role("button", name="Configure…").click()
    form = page.get_by_role("dialog", name="Configuration of dice")
    await form.get_by_label("Most dice at once").fill("many")
    await form.get_by_label("Words").fill("six\nfar too long a word")
    await form.get_by_label("Key (required)").fill("canary-secret-of-dice")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_have_text("This is no number.")
    await form.get_by_label("Most dice at once").fill("5000")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_have_count(2)
    await expect(form.get_by_label("Words")).to_have_accessible_description(
        "One on each line. 1: does not fit: maxLength is 8"
    )
    await expect(form.get_by_label("Most dice at once")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Words").fill("six")
    await form.get_by_label("Most dice at once").fill("50")
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    # A secret that is set is never shown again, and the other values are.
    await row.get_by_role("button", name="Configure…").click()
    await expect(form.get_by_label("Key (required)")).to_have_value("")
    await expect(form).to_contain_text("It is set and never shown.")
    await expect(form.get_by_label("Most dice at once")).to_have_value("50")
    await expect(form.get_by_label("Words")).to_have_value("six")
    await page.keyboard.press("Escape")
    await row.get_by_role("button", name="Activate…").click()
    await consent.get_by_role("button", name="Agree and activate").click()
    await expect(row).to_contain_text("Active")
    # An update that asks for more waits, and says for what.
    more = {"tools": ["mcp__dice__roll"], "hosts": ["dice.example.org", "more.example.org"], "secrets": ["API_KEY"]}
    await upload(page, "Upload plugin", demanding_dice(version="1.1.0", permissions=more))
    await expect(row).to_contain_text("Update to 1.1.0")
    await row.get_by_role("button", name="Activate update…").click()
    update = page.get_by_role("dialog", name="Activate dice 1.1.0?")
    added = update.get_by_role("region", name="The update asks for, in addition")
    await expect(added).to_contain_text("more.example.org")
    await expect(added).not_to_contain_text("dice.example.org")
    await update.get_by_role("button", name="Agree and activate").click()
    await expect(row).not_to_contain_text("Update to 1.1.0")
    await row.get_by_role("button", name="Reload").click()
    await expect(row).to_contain_text("Active")
    await row.get_by_role("button", name="Deactivate").click()
    await expect(row).to_contain_text("Off")
    await row.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog", name="Remove dice?").get_by_role("button", name="Remove").click()
    await expect(row).to_have_count(0)
    await expect(page.get_by_text("There are no plugins yet.")).to_be_visible()


async def test_a_bad_archive_is_refused_with_the_place_and_what_to_write_instead(sign_in: SignIn) -> None:
    page = await open_tab(sign_in)
    bad = manifest(name="No Name", capabilites={})
    form = await upload(page, "Upload plugin", zipped({"plugin.json": json.dumps(bad)}))
    alert = form.get_by_role("alert")
    await expect(alert.get_by_role("listitem").filter(has_text="name in plugin.json")).to_be_visible()
    await expect(alert).to_contain_text("did you mean `capabilities`")
    await upload(page, "Upload plugin", b"no zip")
    await expect(alert).not_to_contain_text("plugin.json")
    await expect(alert).to_contain_text("zip")
    await form.get_by_text("Check hash or signature").click()
    await form.get_by_label("SHA-256 it must have").fill("0" * 64)
    await upload(page, "Upload plugin", zipped_plugin())
    await expect(alert).to_contain_text("SHA-256")
    await expect(page.get_by_text("There are no plugins yet.")).to_be_visible()


@pytest.mark.usefixtures("without_plugins")
async def test_a_marketplace_is_added_browsed_installed_from_and_removed(sign_in: SignIn) -> None:
    page = await open_tab(sign_in, viewport={"width": 390, "height": 844}, has_touch=True)
    offers = [
        {"name": "weather", "source": "./weather", "description": "Weather of tomorrow"},
        {"name": "elsewhere", "source": {"source": "npm", "package": "x"}},
    ]
    catalogue = {"name": "shop", "owner": {"name": "Ada"}, "plugins": offers}
    files = {
        ".claude-plugin/marketplace.json": json.dumps(catalogue),
        "weather/plugin.json": json.dumps(manifest()),
        "weather/tools.py": "",
    }
    await upload(page, "Add marketplace", zipped(files), "shop.zip")
    shop = page.get_by_role("region", name="shop")
    await expect(shop).to_contain_text("Weather of tomorrow")
    await expect(shop.get_by_role("listitem").filter(has_text="elsewhere").get_by_role("button")).to_have_count(0)
    await shop.get_by_role("button", name="Install weather").click()
    await expect(page.get_by_role("listitem", name="weather")).to_contain_text("From the marketplace")
    await expect(page.get_by_role("status").filter(has_text="weather 1.0.0 is here")).to_be_visible()
    await expect(shop.get_by_role("button", name="Install weather again")).to_be_visible()
    # Nothing is wider than a phone.
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await shop.get_by_role("button", name="Remove the marketplace shop").click()
    await page.get_by_role("dialog", name="Remove shop?").get_by_role("button", name="Remove").click()
    await expect(shop).to_have_count(0)


@pytest.mark.usefixtures("without_plugins")
async def test_a_conversation_names_the_plugin_of_a_tool_and_goes_on_without_it(
    server: Server, sign_in: SignIn
) -> None:
    async with server.client("ada") as ada:
        archive = {"file": ("dice.zip", dice(), "application/zip")}
        (await ada.post("/api/v1/plugins", files=archive)).raise_for_status()
        (await ada.post("/api/v1/plugins/dice/activate")).raise_for_status()
    page = await sign_in()
    await say(page, 'call tool mcp__dice__roll with {"count": 2, "sides": 6}')
    await page.get_by_role("button", name="Allow", exact=True).click()
    card = page.get_by_test_id("tool-card").first
    await expect(card).to_have_attribute("data-state", "done")
    await expect(card.get_by_role("button").first).to_have_accessible_name(re.compile("^roll Plugin dice "))
    await page.get_by_role("button", name="Plugins of this conversation").click()
    dialog = page.get_by_role("dialog", name="Plugins of this conversation")
    await dialog.get_by_role("switch", name="dice").click()
    await expect(dialog.get_by_role("switch", name="dice")).not_to_be_checked()
    await dialog.get_by_role("button", name="Close").click()
    await say(page, 'call tool mcp__dice__roll with {"count": 3, "sides": 6}')
    again = page.get_by_test_id("tool-card").nth(1)
    await expect(again).to_have_attribute("data-state", "failed")
    # It stays off for whoever comes back.
    await page.reload()
    await expect(conversation(page)).to_be_visible()
    await page.get_by_role("button", name="Plugins of this conversation").click()
    await expect(dialog.get_by_role("switch", name="dice")).not_to_be_checked()


def example(name: str, version: str) -> bytes:
    """Return an archive of a version of one of the examples."""
    root = EXAMPLES / name
    files = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    path = "plugin.json" if "plugin.json" in files else ".claude-plugin/plugin.json"
    files[path] = json.dumps(json.loads(files[path]) | {"version": version}).encode()
    return zipped(files)


@pytest.mark.usefixtures("without_plugins")
async def test_each_kind_of_plugin_is_added_configured_activated_updated_and_removed(sign_in: SignIn) -> None:
    page = await open_tab(sign_in)
    # An MCP server, a skill, endpoints, and a folder in Claude Code's own format, with what can be configured.
    kinds = {"notes": ("Title of the book", "Log"), "plain-english": None, "changelog": None}
    kinds["triage"] = ("Secret that senders of reports sign them with", "canary-webhook-secret")
    for name, setting in kinds.items():
        await upload(page, "Upload plugin", example(name, "1.0.0"))
        row = page.get_by_role("listitem", name=name, exact=True)
        await expect(row).to_contain_text("New")
        if setting is None:
            await expect(row.get_by_role("button", name="Configure…")).to_have_count(0)
        else:
            await row.get_by_role("button", name="Configure…").click()
            form = page.get_by_role("dialog", name=f"Configuration of {name}")
            await form.get_by_label(setting[0]).fill(setting[1])
            await form.get_by_role("button", name="Save").click()
            await expect(form).to_have_count(0)
        await row.get_by_role("button", name="Activate…").click()
        await page.get_by_role("dialog").get_by_role("button", name="Agree and activate").click()
        await expect(row).to_contain_text("Active")
        # It asks for nothing more, so it takes the old one's place without anybody's consent.
        await upload(page, "Upload plugin", example(name, "1.1.0"))
        await expect(row).to_contain_text("1.1.0")
        await expect(row).to_contain_text("Active")
        await expect(row).not_to_contain_text("Update to")
        await row.get_by_role("button", name="Deactivate").click()
        await expect(row).to_contain_text("Off")
        await row.get_by_role("button", name="Remove").click()
        await page.get_by_role("dialog", name=f"Remove {name}?").get_by_role("button", name="Remove").click()
        await expect(row).to_have_count(0)


@pytest.mark.usefixtures("without_plugins")
async def test_the_list_shows_what_others_do_without_a_reload(server: Server, sign_in: SignIn) -> None:
    page = await open_tab(sign_in)
    await expect(page.get_by_text("There are no plugins yet.")).to_be_visible()
    async with server.client("ada") as ada:
        (await ada.post("/api/v1/plugins", files={"file": ("a.zip", dice(), "application/zip")})).raise_for_status()
        row = page.get_by_role("listitem", name="dice")
        await expect(row).to_contain_text("New")
        # What somebody is reading does not change under their eyes, and they learn that it did.
        await row.get_by_role("button", name=re.compile("^dice")).click()
        await row.get_by_role("button", name="Activate…").click()
        consent = page.get_by_role("dialog", name="Activate dice 1.0.0?")
        await expect(consent).to_be_visible()
        more = dice(version="1.1.0", permissions={"tools": ["mcp__dice__roll"], "hosts": ["more.example.org"]})
        (await ada.post("/api/v1/plugins", files={"file": ("a.zip", more, "application/zip")})).raise_for_status()
        await expect(consent.get_by_role("status")).to_contain_text("has changed since you opened this")
        await expect(consent).not_to_contain_text("more.example.org")
        await consent.get_by_role("button", name="Show what it asks for now").click()
        again = page.get_by_role("dialog", name="Activate dice 1.1.0?")
        await expect(again).to_contain_text("more.example.org")
        await again.get_by_role("button", name="Agree and activate").click()
        await expect(row).to_contain_text("Active")
        (await ada.post("/api/v1/plugins/dice/deactivate")).raise_for_status()
        await expect(row).to_contain_text("Off")


async def test_the_open_tab_is_in_sight_on_a_phone(sign_in: SignIn) -> None:
    page = await sign_in(username="ada", viewport={"width": 390, "height": 844}, has_touch=True)
    tabs = page.get_by_role("navigation", name="Administration").get_by_role("link")
    await page.goto("/admin/plugins")
    await expect(tabs.first).to_be_visible()
    for path in [await tab.get_attribute("href") for tab in await tabs.all()]:
        await page.goto(str(path))
        # Wholly but for the line below it, or the rest of its name is behind the edge.
        await expect(tabs.and_(page.locator("[aria-current=page]"))).to_be_in_viewport(ratio=0.95)


@pytest.mark.usefixtures("without_plugins")
async def test_a_new_chat_has_a_profile_and_its_switches_tell_what_is_on(server: Server, sign_in: SignIn) -> None:
    async with server.client("ada") as ada, server.client("alice") as alice:
        archives = {"dice": dice(), "plain-english": example("plain-english", "1.0.0")}
        for name, archive in archives.items():
            form = {"file": ("plugin.zip", archive, "application/zip")}
            (await ada.post("/api/v1/plugins", files=form)).raise_for_status()
            (await ada.post(f"/api/v1/plugins/{name}/activate")).raise_for_status()
        page = await sign_in()
        await page.get_by_role("button", name="Profile").click()
        await page.get_by_role("dialog", name="Profile").get_by_role("button", name="Plain writer").click()
        await say(page, "hello")
        await expect(page.get_by_test_id("session-profile")).to_have_text("Plain writer")
        await page.reload()
        await expect(page.get_by_test_id("session-profile")).to_have_text("Plain writer")
        # One that was made with some plugins has the others off.
        made = (await alice.post("/api/v1/sessions", json={"title": "some", "plugins": ["dice"]})).json()
        await page.goto(f"/s/{made['id']}")
        await page.get_by_role("button", name="Plugins of this conversation").click()
        dialog = page.get_by_role("dialog", name="Plugins of this conversation")
        await expect(dialog.get_by_role("switch", name="plain-english")).not_to_be_checked()
        await expect(dialog.get_by_role("switch", name="dice")).to_be_checked()
        await dialog.get_by_role("switch", name="plain-english").click()
        await expect(dialog.get_by_role("switch", name="plain-english")).to_be_checked()
        await expect(dialog.get_by_role("switch", name="dice")).to_be_checked()
