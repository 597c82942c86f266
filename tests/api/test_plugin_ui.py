"""What plugins put into the page, over REST: which components there are, and which files a browser gets.

Real: the server process, its database, the plugins' processes.
"""

import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from tests.support.plugins import manifest, zipped
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

PLUGINS = "/api/v1/plugins"
UI = "/api/v1/plugin-ui"

MODULE = "export const Part = () => null;\n"

WITH_UI: dict[str, Any] = {
    "type": "skill",
    "capabilities": {"skills": ["skills"]},
    "permissions": {"slots": ["message-renderer", "side-panel"]},
    "ui": [
        {
            "slot": "message-renderer",
            "bundle": "ui/part.js",
            "export": "Part",
            "style": "ui/part.css",
            "tools": ["mcp__weather__*"],
        },
        {"slot": "side-panel", "bundle": "ui/panel.mjs", "title": "Panel"},
    ],
}

FILES = {
    "skills/one/SKILL.md": "---\nname: one\ndescription: Says one.\n---\nSay one.\n",
    "secret.py": "KEY = 1\n",
    "ui/part.js": MODULE,
    "ui/panel.mjs": "export default () => null;\n",
    "ui/part.css": "p { color: red }\n",
    "ui/picture.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "ui/page.html": "<script>alert(1)</script>",
    "ui/tool.py": "KEY = 1\n",
    "ui/deep/font.woff2": b"wOF2",
}


def archive(version: str = "1.0.0") -> bytes:
    """Return an archive of a plugin with components."""
    return zipped({"plugin.json": json.dumps(manifest(version=version, **WITH_UI)), **FILES})


@pytest.fixture
async def weather(ada: httpx2.AsyncClient) -> AsyncGenerator[dict[str, Any]]:
    """An active plugin with components, as it is shown."""
    await _upload(ada, archive())
    (await ada.post(f"{PLUGINS}/weather/activate")).raise_for_status()
    yield (await ada.get(f"{PLUGINS}/weather")).json()
    await ada.post(f"{PLUGINS}/weather/deactivate")
    await ada.delete(f"{PLUGINS}/weather")


async def _upload(client: httpx2.AsyncClient, packed: bytes) -> None:
    answer = await client.post(PLUGINS, files={"file": ("plugin.zip", packed, "application/zip")})
    assert answer.status_code == 201, answer.text


async def test_components_of_active_plugins_are_listed_with_the_hashes_of_their_files(
    weather: dict[str, Any], alice: httpx2.AsyncClient
) -> None:
    renderer, panel = (await alice.get(UI)).json()["items"]
    base = f"{UI}/weather/{weather['digest']}"
    assert renderer == {
        "plugin": "weather",
        "version": "1.0.0",
        "slot": "message-renderer",
        "module": {"url": f"{base}/ui/part.js", "integrity": _integrity(MODULE)},
        "export": "Part",
        "style": {"url": f"{base}/ui/part.css", "integrity": _integrity("p { color: red }\n")},
        "title": None,
        "tools": ["mcp__weather__*"],
    }
    assert (panel["slot"], panel["title"], panel["export"], panel["style"]) == ("side-panel", "Panel", "default", None)
    assert weather["permissions"]["slots"] == ["message-renderer", "side-panel"]


def _integrity(text: str) -> str:
    return f"sha384-{base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()}"


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("ui/part.js", "text/javascript"),
        ("ui/panel.mjs", "text/javascript"),
        ("ui/part.css", "text/css"),
        ("ui/picture.svg", "image/svg+xml"),
        ("ui/deep/font.woff2", "font/woff2"),
    ],
)
async def test_files_have_their_type_are_kept_for_ever_and_are_no_page(
    weather: dict[str, Any], alice: httpx2.AsyncClient, path: str, media_type: str
) -> None:
    answer = await alice.get(f"{UI}/weather/{weather['digest']}/{path}")
    assert answer.status_code == 200
    content = FILES[path]
    assert answer.content == (content if isinstance(content, bytes) else content.encode())
    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox;")


@pytest.mark.parametrize(
    "path",
    [
        "secret.py",
        "plugin.json",
        "ui/tool.py",
        "ui/page.html",
        "ui",
        "ui/",
        "ui/gone.js",
        "ui/../plugin.json",
        "ui/%2e%2e/plugin.json",
        "ui/..%2fplugin.json",
        "%2fetc%2fhosts.js",
        "ui/part.js%00.css",
        "ui\\part.js",
        "",
    ],
)
async def test_nothing_else_of_a_plugin_is_served(
    weather: dict[str, Any], alice: httpx2.AsyncClient, path: str
) -> None:
    answer = await alice.get(f"{UI}/weather/{weather['digest']}/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_another_digest_another_plugin_and_a_disabled_one_have_no_files(
    weather: dict[str, Any], ada: httpx2.AsyncClient, alice: httpx2.AsyncClient
) -> None:
    url = f"{UI}/weather/{weather['digest']}/ui/part.js"
    assert (await alice.get(url)).status_code == 200
    assert (await alice.get(url.replace(weather["digest"], "0" * 64))).status_code == 404
    assert (await alice.get(url.replace("/weather/", "/wether/"))).status_code == 404
    (await ada.post(f"{PLUGINS}/weather/deactivate")).raise_for_status()
    assert (await alice.get(url)).status_code == 404
    assert (await alice.get(UI)).json()["items"] == []


async def test_an_update_has_other_addresses(
    weather: dict[str, Any], ada: httpx2.AsyncClient, alice: httpx2.AsyncClient
) -> None:
    before = (await alice.get(UI)).json()["items"][0]["module"]
    await _upload(ada, archive("1.0.1"))
    after = (await alice.get(UI)).json()["items"][0]
    assert after["version"] == "1.0.1"
    assert after["module"]["url"] != before["url"]
    assert after["module"]["integrity"] == before["integrity"]
    assert (await alice.get(before["url"])).status_code == 404
    assert (await alice.get(after["module"]["url"])).status_code == 200


async def test_files_are_for_who_is_signed_in_and_a_browser_shows_that_with_a_cookie(
    weather: dict[str, Any], server: Server
) -> None:
    url = f"{UI}/weather/{weather['digest']}/ui/part.js"
    async with server.client("alice") as signed_in:
        listed = await signed_in.get(UI)
        cookie = listed.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", f"Path={UI}/"} <= set(cookie.split("; "))
        async with httpx2.AsyncClient(base_url=server.url) as browser:
            assert (await browser.get(url)).status_code == 401
            given = {"Cookie": cookie.partition(";")[0]}
            assert (await browser.get(url, headers=given)).status_code == 200
            # The cookie is good for nothing else, and for no longer than the sign-in.
            assert (await browser.get("/api/v1/auth/me", headers=given)).status_code == 401
            assert (await browser.get(UI, headers=given)).status_code == 401
            await signed_in.post("/api/v1/auth/logout")
            assert (await browser.get(url, headers=given)).status_code == 401
            assert (await browser.get(url, headers={"Cookie": "csp_plugin_ui=nonsense"})).status_code == 401
