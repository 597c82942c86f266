"""Plugins over REST, as a page uses them: uploaded, looked at, configured, activated, updated, removed.

Real: the server process and its database. Nothing of the uploaded plugins would do anything but leave a mark.
"""

import hashlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.plugins import SKILL, manifest, zipped, zipped_plugin
from tests.support.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

PLUGINS = "/api/v1/plugins"

WITH_KEY: dict[str, Any] = {
    "permissions": {"hosts": ["api.example.org"], "secrets": ["API_KEY"]},
    "config_schema": {
        "type": "object",
        "properties": {"API_KEY": {"type": "string", "writeOnly": True}, "days": {"type": "integer"}},
        "required": ["API_KEY"],
    },
}


async def upload(
    client: httpx2.AsyncClient, archive: bytes, name: str = "plugin.zip", to: str = PLUGINS, **params: str
) -> httpx2.Response:
    """Upload an archive."""
    return await client.post(to, files={"file": (name, archive, "application/zip")}, params=params)


@pytest.fixture
async def admin(ada: httpx2.AsyncClient) -> AsyncGenerator[httpx2.AsyncClient]:
    """Ada; what she uploads is removed after each test."""
    yield ada
    for plugin in (await ada.get(PLUGINS)).json()["items"]:
        await ada.post(f"{PLUGINS}/{plugin['name']}/deactivate")
        await ada.delete(f"{PLUGINS}/{plugin['name']}")


async def test_plugin_goes_from_upload_to_removal(admin: httpx2.AsyncClient, alice: httpx2.AsyncClient) -> None:
    archive = zipped_plugin(**WITH_KEY)
    answer = await upload(admin, archive, sha256=hashlib.sha256(archive).hexdigest())
    assert answer.status_code == 201, answer.text
    shown = answer.json()
    assert (shown["name"], shown["status"], shown["source"], shown["origin"]) == (
        "weather",
        "registered",
        "upload",
        "plugin.zip",
    )
    assert shown["new_permissions"]["hosts"] == ["api.example.org"]
    assert shown["inventory"]["has_tools"] is True
    assert shown["manifest"]["name"] == "weather"
    assert (await alice.get(f"{PLUGINS}/weather")).json() == shown
    refused = await admin.post(f"{PLUGINS}/weather/activate")
    assert (refused.status_code, refused.json()["code"]) == (422, "plugin_config_invalid")
    assert refused.json()["errors"] == [{"where": "API_KEY in config", "what": "has to be set"}]
    config = await admin.put(f"{PLUGINS}/weather/config", json={"values": {"API_KEY": "canary-secret-1", "days": 3}})
    assert config.json()["secrets"] == {"API_KEY": "********"}
    assert config.json()["values"] == {"days": 3}
    assert "canary-secret-1" not in config.text
    active = await admin.post(f"{PLUGINS}/weather/activate", json={"digest": shown["digest"]})
    assert (active.json()["status"], active.json()["active_version"]) == ("active", "1.0.0")
    metrics = (await admin.get("/metrics")).text
    assert 'csp_plugins{status="active"} 1.0' in metrics
    more: dict[str, Any] = WITH_KEY | {
        "permissions": {"hosts": ["api.example.org", "more.example.org"], "secrets": ["API_KEY"]}
    }
    update = (await upload(admin, zipped_plugin(version="1.1.0", **more))).json()
    assert (update["active_version"], update["version"], update["has_update"]) == ("1.0.0", "1.1.0", True)
    assert update["new_permissions"]["hosts"] == ["more.example.org"]
    stale = await admin.post(f"{PLUGINS}/weather/activate", json={"digest": shown["digest"]})
    assert (stale.status_code, stale.json()["code"]) == (409, "plugin_changed")
    assert (await admin.post(f"{PLUGINS}/weather/activate")).json()["active_version"] == "1.1.0"
    assert (await admin.post(f"{PLUGINS}/weather/reload")).json()["status"] == "active"
    busy = await admin.delete(f"{PLUGINS}/weather")
    assert (busy.status_code, busy.json()["code"]) == (409, "plugin_refused")
    assert (await admin.post(f"{PLUGINS}/weather/deactivate")).json()["status"] == "disabled"
    assert (await admin.delete(f"{PLUGINS}/weather")).status_code == 204
    gone = await admin.get(f"{PLUGINS}/weather")
    assert (gone.status_code, gone.json()["code"]) == (404, "plugin_not_found")


@pytest.mark.parametrize(
    ("archive", "params", "status", "code"),
    [
        (b"no zip", {}, 422, "archive_refused"),
        (zipped({"../evil": "x"}), {}, 422, "archive_refused"),
        (zipped({"a.txt": "x"}), {}, 422, "plugin_invalid"),
        (zipped_plugin(), {"sha256": "0" * 64}, 422, "package_not_trusted"),
        (zipped_plugin(), {"sha256": "abc"}, 422, "invalid_request"),
        (zipped({f"{number}": "" for number in range(20_001)}), {}, 413, "body_too_large"),
    ],
    ids=["no-zip", "evil", "no-plugin", "other-hash", "no-hash", "many-files"],
)
async def test_bad_upload_is_refused_with_its_reason(
    admin: httpx2.AsyncClient, archive: bytes, params: dict[str, str], status: int, code: str
) -> None:
    answer = await upload(admin, archive, **params)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await admin.get(PLUGINS)).json()["items"] == []


async def test_faults_of_a_manifest_are_told_with_file_place_and_remedy(admin: httpx2.AsyncClient) -> None:
    bad = zipped({"plugin.json": json.dumps(manifest(name="No Name", capabilites={}))})
    errors = (await upload(admin, bad)).json()["errors"]
    assert {error["where"] for error in errors} == {"name in plugin.json", "capabilites in plugin.json"}
    assert "did you mean `capabilities`" in str(errors)


async def test_nothing_of_an_upload_is_executed(admin: httpx2.AsyncClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w').close()\n"
    run = f"touch {mark}"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": run}]}]}
    own = manifest(
        capabilities={
            "tools": {"module": "tools"},
            "mcp_servers": {"a": {"type": "stdio", "command": "sh", "args": ["-c", run]}},
        }
    )
    native = {
        ".claude-plugin/plugin.json": json.dumps({"name": "native", "version": "1.0.0"}),
        ".mcp.json": json.dumps({"mcpServers": {"a": {"command": "sh", "args": ["-c", run]}}}),
        "hooks/hooks.json": json.dumps({"hooks": hooks}),
        "skills/a/SKILL.md": SKILL + f"!`{run}`\n",
        "package.json": json.dumps({"scripts": {"preinstall": run, "postinstall": run}}),
    }
    python = {"tools.py": code, "__init__.py": code, "setup.py": code, "conftest.py": code, "sitecustomize.py": code}
    for archive in (zipped({"plugin.json": json.dumps(own), **python}), zipped(native)):
        assert (await upload(admin, archive)).status_code == 201
    listed = (await admin.get(PLUGINS)).json()["items"]
    assert [plugin["name"] for plugin in listed] == ["native", "weather"]
    assert not mark.exists()


async def test_marketplace_is_uploaded_browsed_and_installed_from(admin: httpx2.AsyncClient) -> None:
    catalogue = {
        "name": "shop",
        "owner": {"name": "Ada"},
        "plugins": [
            {"name": "weather", "source": "./weather", "description": "Weather"},
            {"name": "elsewhere", "source": {"source": "npm", "package": "x"}},
        ],
    }
    files = {
        ".claude-plugin/marketplace.json": json.dumps(catalogue),
        "weather/plugin.json": json.dumps(manifest()),
        "weather/tools.py": "",
    }
    added = await upload(admin, zipped(files), to="/api/v1/marketplaces")
    assert added.status_code == 201, added.text
    shown = (await admin.get("/api/v1/marketplaces/shop")).json()
    assert [(offer["name"], offer["obstacle"] is None) for offer in shown["plugins"]] == [
        ("weather", True),
        ("elsewhere", False),
    ]
    assert (await admin.get("/api/v1/marketplaces")).json()["items"] == [shown]
    installed = await admin.post("/api/v1/marketplaces/shop/plugins/weather/install")
    assert (installed.status_code, installed.json()["source"]) == (201, "marketplace")
    refused = await admin.post("/api/v1/marketplaces/shop/plugins/elsewhere/install")
    assert (refused.status_code, refused.json()["code"]) == (409, "marketplace_refused")
    assert (await admin.delete("/api/v1/marketplaces/shop")).status_code == 204
    assert (await admin.get("/api/v1/marketplaces/shop")).json()["code"] == "marketplace_not_found"


async def test_secret_is_in_no_answer_and_no_log(admin: httpx2.AsyncClient, server: Server) -> None:
    await upload(admin, zipped_plugin(**WITH_KEY))
    canary = "canary-plugin-secret-97531"
    answers = [
        await admin.put(f"{PLUGINS}/weather/config", json={"values": {"API_KEY": canary}}),
        await admin.put(f"{PLUGINS}/weather/config", json={"values": {"api_key": canary, "days": canary}}),
        await admin.get(f"{PLUGINS}/weather/config"),
        await admin.get(f"{PLUGINS}/weather"),
        await admin.get("/api/v1/admin/audit", params={"action": "plugin."}),
    ]
    assert [answer.status_code for answer in answers] == [200, 422, 200, 200, 200]
    assert canary not in "".join(answer.text for answer in answers)
    assert canary not in server.log.read_text()
    database = Path(server.database_url.partition("///")[2])
    # With SQLite's own files beside it.
    assert all(canary.encode() not in file.read_bytes() for file in database.parent.glob(f"{database.name}*"))


async def test_profiles_are_listed_and_a_session_is_made_with_one(
    admin: httpx2.AsyncClient, alice: httpx2.AsyncClient, server: Server
) -> None:
    profile: dict[str, Any] = {"display_name": "Sailor", "prompt": "You sail.", "model": "haiku", "plugins": []}
    await upload(admin, zipped_plugin(profiles={"sailor": profile}))
    assert (await alice.get("/api/v1/profiles")).json() == {"items": []}
    unknown = await alice.post("/api/v1/sessions", json={"profile": "weather:sailor"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "profile_not_found")
    assert (await admin.post(f"{PLUGINS}/weather/activate")).status_code == 200
    (shown,) = (await alice.get("/api/v1/profiles")).json()["items"]
    assert shown == {
        "name": "weather:sailor",
        "display_name": "Sailor",
        "description": None,
        "plugin": "weather",
        "model": "haiku",
        "permission_mode": None,
        "plugins": ["weather"],
    }
    made = await alice.post("/api/v1/sessions", json={"profile": "weather:sailor"})
    assert made.status_code == 201, made.text
    session = made.json()
    assert (session["profile"], session["profile_display_name"]) == ("weather:sailor", "Sailor")
    assert (session["model"], session["permission_mode"], session["plugins"]) == ("haiku", "acceptEdits", ["weather"])
    without = (await alice.post("/api/v1/sessions", json={"plugins": []})).json()
    assert (without["profile"], without["plugins"]) == (None, [])
    async with server.chat(alice, f"?session_id={session['id']}") as chat:
        await chat.receive()
    (hello, *_) = chat.frames
    assert (hello["plugins"], hello["profile"], hello["profile_display_name"]) == (
        ["weather"],
        "weather:sailor",
        "Sailor",
    )
    # Nobody has it any more; the session still says what it was made with.
    await admin.post(f"{PLUGINS}/weather/deactivate")
    kept = (await alice.get(f"/api/v1/sessions/{session['id']}")).json()
    assert (kept["profile"], kept["profile_display_name"], kept["plugins"]) == ("weather:sailor", None, [])
