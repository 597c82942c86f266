"""What becomes of plugins that operators put into the folder, upload, configure, activate and remove.

Real: folders, archives, an SQLite database, the audit log; ``test_servers.py`` has what depends on the database. The
activator is a recorder: what it would start is not the registry's business.
"""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.plugins import (
    SKILL,
    Deployment,
    TellingActivator,
    deployed,
    manifest,
    write_files,
    write_plugin,
    zipped,
    zipped_plugin,
)

from claude_sdk_pattern.accounts.audit import AuditFilter, AuditLog
from claude_sdk_pattern.plugins.errors import (
    ActivationError,
    DependencyError,
    InvalidConfigError,
    InvalidPluginError,
    PluginChangedError,
    PluginStateError,
    UnknownPluginError,
)
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One database is enough here."""
    return sqlite_url


WITH_KEY: dict[str, Any] = {
    "permissions": {"tools": ["mcp__weather__*"], "secrets": ["API_KEY"]},
    "config_schema": {
        "type": "object",
        "properties": {
            "API_KEY": {"type": "string", "writeOnly": True},
            "city": {"type": "string", "default": "Oslo"},
            "days": {"type": "integer", "minimum": 1},
        },
        "required": ["API_KEY", "city"],
    },
}


async def actions(database: Database) -> list[str]:
    """Return the audit log's entries about plugins, the oldest first."""
    page = await AuditLog(database).page(AuditFilter(action="plugin."), limit=100)
    return [f"{one.entry.action} {one.entry.target} by {one.entry.actor}" for one in reversed(page)]


# --- folders ----------------------------------------------------------------------------------------------------


async def test_plugin_in_the_folder_is_registered_and_works_after_activation(
    server: Deployment, database: Database
) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    assert await server.seen() == {"weather": "registered"}
    assert len(server.registry.active) == 0
    await server.registry.activate("weather", actor="ada")
    assert await server.seen() == {"weather": "active"}
    (plugin,) = server.registry.active
    assert (plugin.name, plugin.package.version) == ("weather", "1.0.0")
    assert (plugin.package.root / "tools.py").read_text() == "NAME = 'weather'\n"
    assert server.activator.told == ["check weather 1.0.0", "start weather 1.0.0"]
    assert await actions(database) == ["plugin.activated weather by ada"]


async def test_activating_twice_is_activating_once(server: Deployment, database: Database) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    await asyncio.gather(*(server.registry.activate("weather", actor="ada") for _ in range(3)))
    assert server.activator.told.count("start weather 1.0.0") == 1
    assert await actions(database) == ["plugin.activated weather by ada"]


async def test_deactivating_takes_the_plugin_away_and_stops_it(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    await server.registry.deactivate("weather", actor="ada")
    await server.registry.deactivate("weather", actor="ada")
    assert await server.seen() == {"weather": "disabled"}
    assert (len(server.registry.active), server.activator.at_work) == (0, {})


async def test_session_keeps_the_files_it_began_with_when_the_folder_changes(server: Deployment) -> None:
    folder = write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    (before,) = server.registry.active
    (folder / "tools.py").write_text("NAME = 'changed'\n")
    await server.registry.reconcile()
    (after,) = server.registry.active
    assert (before.package.root / "tools.py").read_text() == "NAME = 'weather'\n"
    assert (after.package.root / "tools.py").read_text() == "NAME = 'changed'\n"
    assert PluginSet((before,)).key != PluginSet((after,)).key


async def test_vanished_folder_makes_the_plugin_inactive_and_its_return_active_again(server: Deployment) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    await server.registry.configure("weather", {"API_KEY": "k-1234567", "city": "Rome"}, actor="ada")
    await server.registry.activate("weather", actor="ada")
    (server.folder / "weather").rename(server.folder.parent / "elsewhere")
    await server.registry.reconcile()
    assert await server.seen() == {"weather": "inactive"}
    assert server.activator.at_work == {}
    with pytest.raises(PluginStateError, match="is gone"):
        await server.registry.activate("weather", actor="ada")
    (server.folder.parent / "elsewhere").rename(server.folder / "weather")
    await server.registry.reconcile()
    assert await server.seen() == {"weather": "active"}
    assert server.activator.at_work["weather"].config == {"city": "Rome"}


async def test_broken_edit_leaves_the_working_version_at_work(server: Deployment) -> None:
    folder = write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    (folder / "plugin.json").write_text("{ not json")
    await server.registry.reconcile()
    overview = await server.registry.find("weather")
    assert overview.record.status == "active"
    assert "no JSON" in str(overview.record.problems[0])
    assert server.activator.at_work["weather"].package.version == "1.0.0"


async def test_folder_that_is_no_plugin_is_errored_and_says_what_is_missing(server: Deployment) -> None:
    (server.folder / "notes").mkdir()
    await server.registry.reconcile()
    overview = await server.registry.find("notes")
    assert overview.record.status == "errored"
    assert "plugin.json" in (overview.record.last_error or "")
    with pytest.raises(InvalidPluginError):
        await server.registry.activate("notes", actor="ada")
    (server.folder / "notes").rmdir()
    await server.registry.reconcile()
    assert await server.seen() == {}


async def test_two_folders_of_one_name_are_one_plugin_and_one_error(server: Deployment) -> None:
    write_plugin(server.folder)
    shutil.copytree(server.folder / "weather", server.folder / "a-copy")
    await server.registry.reconcile()
    assert await server.seen() == {"a-copy": "errored", "weather": "registered"}


async def test_changed_folder_is_noticed_without_being_told(server: Deployment) -> None:
    folder = write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    changed: asyncio.Queue[PluginSet] = asyncio.Queue()
    server.registry.watch(changed.put_nowait)
    (folder / "plugin.json").write_text(json.dumps(manifest(version="1.1.0")))
    async with asyncio.timeout(30):
        fresh = await changed.get()
    assert [plugin.package.version for plugin in fresh] == ["1.1.0"]


async def test_plugin_for_a_newer_server_is_refused_with_both_versions(server: Deployment) -> None:
    write_plugin(server.folder, platform_version=">=99.0")
    await server.registry.reconcile()
    assert "needs >=99.0; this server is 0.1.0" in ((await server.registry.find("weather")).record.last_error or "")


# --- starting ---------------------------------------------------------------------------------------------------


async def test_check_that_fails_leaves_the_plugin_errored_with_the_reason(
    server: Deployment, database: Database
) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    server.activator.fails_check["weather"] = "the server does not answer"
    with pytest.raises(ActivationError, match="does not answer"):
        await server.registry.activate("weather", actor="ada")
    overview = await server.registry.find("weather")
    assert (overview.record.status, overview.record.last_error) == ("errored", "the server does not answer")
    assert await actions(database) == ["plugin.failed weather by ada"]
    server.activator.fails_check.clear()
    await server.registry.activate("weather", actor="ada")
    assert await server.seen() == {"weather": "active"}


async def test_start_that_fails_is_stopped_again_and_not_tried_forever(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    server.activator.fails_start["weather"] = "out of luck"
    with pytest.raises(ActivationError, match="out of luck"):
        await server.registry.activate("weather", actor="ada")
    assert await server.seen() == {"weather": "errored"}
    await server.registry.reconcile()
    assert server.activator.told == ["check weather 1.0.0", "start weather 1.0.0", "stop weather"]
    server.activator.fails_start.clear()
    await server.registry.reload("weather", actor="ada")
    assert await server.seen() == {"weather": "active"}


async def test_check_that_hangs_is_given_up(database: Database, folder: Path, tmp_path: Path) -> None:
    async def hang(plugin: object) -> None:
        await asyncio.Event().wait()

    write_plugin(folder)
    activator = TellingActivator(on_check=hang)
    options: dict[str, Any] = {"activator": activator, "activation_timeout_seconds": 0.05}
    async with deployed(database, folder, tmp_path / "data", **options) as server:
        with pytest.raises(ActivationError, match=r"longer than 0\.05 seconds"):
            await server.registry.activate("weather", actor="ada")


async def test_activator_with_a_bug_costs_its_plugin_only(server: Deployment) -> None:
    async def fall_over(plugin: Any) -> None:
        if plugin.name == "weather":
            raise ZeroDivisionError("a bug")

    server.activator.on_check = fall_over
    write_plugin(server.folder)
    write_plugin(server.folder, "news")
    await server.registry.reconcile()
    with pytest.raises(ActivationError, match="ZeroDivisionError"):
        await server.registry.activate("weather", actor="ada")
    await server.registry.activate("news", actor="ada")
    assert await server.seen() == {"news": "active", "weather": "errored"}


async def test_trouble_makes_an_active_plugin_degraded_until_it_is_over(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.report_trouble("weather", "was never active")
    assert await server.seen() == {"weather": "registered"}
    await server.registry.activate("weather", actor="ada")
    await server.registry.report_trouble("weather", "its server crashed")
    overview = await server.registry.find("weather")
    assert (overview.record.status, overview.record.last_error) == ("degraded", "its server crashed")
    await server.registry.report_trouble("weather", None)
    assert await server.seen() == {"weather": "active"}


async def test_activation_that_is_overtaken_by_an_update_activates_what_was_tried(server: Deployment) -> None:
    async def update_meanwhile(plugin: Any) -> None:
        server.activator.on_check = None
        write_plugin(server.folder, version="2.0.0")
        # As another server would: the command that is under way holds this one's turn.
        await server.registry._folder.reconcile()  # pyright: ignore[reportPrivateUsage]

    write_plugin(server.folder)
    await server.registry.reconcile()
    server.activator.on_check = update_meanwhile
    await server.registry.activate("weather", actor="ada")
    assert server.activator.told == ["check weather 1.0.0", "check weather 2.0.0", "start weather 2.0.0"]


# --- permissions ------------------------------------------------------------------------------------------------


async def test_update_that_asks_for_more_waits_for_consent_while_the_old_one_works(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    more = {"tools": ["mcp__weather__*"], "hosts": ["api.example.org"]}
    write_plugin(server.folder, version="1.1.0", permissions=more)
    await server.registry.reconcile()
    overview = await server.registry.find("weather")
    assert (overview.record.status, overview.record.has_update) == ("active", True)
    assert (overview.record.version, overview.record.running_version) == ("1.1.0", "1.0.0")
    assert overview.new_permissions.hosts == ("api.example.org",)
    assert overview.new_permissions.tools == ()
    assert server.activator.at_work["weather"].package.version == "1.0.0"
    await server.registry.activate("weather", actor="ada")
    assert server.activator.at_work["weather"].package.version == "1.1.0"
    assert (await server.registry.find("weather")).new_permissions.hosts == ()


async def test_consent_is_to_what_was_looked_at(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    looked_at = (await server.registry.find("weather")).record.digest
    write_plugin(server.folder, permissions={"hosts": ["evil.example"]})
    await server.registry.reconcile()
    with pytest.raises(PluginChangedError):
        await server.registry.activate("weather", actor="ada", digest=looked_at)
    assert await server.seen() == {"weather": "registered"}


async def test_update_that_does_not_work_leaves_the_old_one_at_work(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    server.activator.fails_check["weather"] = "cannot be imported"
    write_plugin(server.folder, version="1.1.0")
    await server.registry.reconcile()
    assert server.activator.at_work["weather"].package.version == "1.0.0"
    with pytest.raises(ActivationError):
        await server.registry.activate("weather", actor="ada")
    overview = await server.registry.find("weather")
    assert overview.record.status == "active"
    assert "cannot be imported" in str(overview.record.problems[0])


# --- dependencies -----------------------------------------------------------------------------------------------


async def test_plugin_is_not_activated_without_those_it_needs(server: Deployment) -> None:
    write_plugin(server.folder, "news", dependencies={"weather": "^1.0"})
    await server.registry.reconcile()
    with pytest.raises(DependencyError, match="needs the plugin weather"):
        await server.registry.activate("news", actor="ada")
    write_plugin(server.folder, version="2.0.0")
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    with pytest.raises(DependencyError, match=r"weather \^1\.0; active is 2\.0\.0"):
        await server.registry.activate("news", actor="ada")


async def test_plugin_that_others_need_is_neither_taken_away_nor_updated_beyond_them(server: Deployment) -> None:
    write_plugin(server.folder)
    write_plugin(server.folder, "news", dependencies={"weather": "^1.0"})
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    await server.registry.activate("news", actor="ada")
    with pytest.raises(DependencyError, match="news needs it"):
        await server.registry.deactivate("weather", actor="ada")
    write_plugin(server.folder, version="2.0.0")
    await server.registry.reconcile()
    assert server.activator.at_work["weather"].package.version == "1.0.0"
    with pytest.raises(DependencyError, match=r"news needs it as \^1\.0"):
        await server.registry.activate("weather", actor="ada")


async def test_plugin_whose_dependency_vanished_stops_and_comes_back_with_it(server: Deployment) -> None:
    write_plugin(server.folder)
    write_plugin(server.folder, "news", dependencies={"weather": "*"})
    await server.registry.reconcile()
    await server.registry.activate("weather", actor="ada")
    await server.registry.activate("news", actor="ada")
    shutil.rmtree(server.folder / "weather")
    await server.registry.reconcile()
    assert await server.seen() == {"news": "errored", "weather": "inactive"}
    assert server.activator.at_work == {}
    write_plugin(server.folder)
    await server.registry.reconcile()
    assert await server.seen() == {"news": "active", "weather": "active"}


async def test_plugins_start_side_by_side_at_the_servers_start_but_after_those_they_need(
    database: Database, folder: Path, tmp_path: Path
) -> None:
    needs = {"maps": {}, "news": {"weather": "*"}, "travel": {"news": "*", "maps": "*"}, "weather": {}}
    for name, needed in needs.items():
        write_plugin(folder, name, dependencies=needed)
    async with deployed(database, folder, tmp_path / "data") as server:
        for name in ("maps", "weather", "news", "travel"):
            await server.registry.activate(name, actor="ada")
    meeting = asyncio.Barrier(2)

    async def meet(plugin: Any) -> None:
        # Neither of them is started alone.
        if plugin.name in {"maps", "weather"}:
            await meeting.wait()

    async with deployed(database, folder, tmp_path / "data", activator=TellingActivator(on_start=meet)) as server:
        assert set((await server.seen()).values()) == {"active"}
        begun = [told.split()[1] for told in server.activator.told]
    assert set(begun[:2]) == {"maps", "weather"}
    assert begun[2:] == ["news", "travel"]


# --- configuration ----------------------------------------------------------------------------------------------


async def test_plugin_is_not_activated_before_it_is_configured(server: Deployment) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    with pytest.raises(InvalidConfigError, match="API_KEY: has to be set"):
        await server.registry.activate("weather", actor="ada")
    await server.registry.configure("weather", {"API_KEY": "k-1234567"}, actor="ada")
    await server.registry.activate("weather", actor="ada")
    assert server.activator.at_work["weather"].config == {"city": "Oslo"}
    assert await server.registry.secrets.reveal("weather", "API_KEY") == "k-1234567"


async def test_secret_is_never_read_back_and_a_mask_changes_nothing(server: Deployment) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    await server.registry.configure("weather", {"API_KEY": "k-1234567", "days": 3}, actor="ada")
    config = await server.registry.read_config("weather")
    assert (config.values, config.secrets) == ({"city": "Oslo", "days": 3}, {"API_KEY": "********"})
    await server.registry.configure("weather", {"API_KEY": "********", "city": "Rome"}, actor="ada")
    assert await server.registry.secrets.reveal("weather", "API_KEY") == "k-1234567"
    assert (await server.registry.read_config("weather")).values == {"city": "Rome"}
    await server.registry.configure("weather", {"API_KEY": None}, actor="ada")
    assert (await server.registry.read_config("weather")).secrets == {"API_KEY": None}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"days": "three"}, "days: has to be of the type integer"),
        ({"days": 0}, "days: does not fit: minimum is 1"),
        ({"town": "Rome"}, r"has a key that is not one of \['API_KEY', 'city', 'days'\]"),
        ({"API_KEY": 17}, "API_KEY: has to be of the type string"),
    ],
    ids=["type", "range", "unknown", "secret"],
)
async def test_value_that_does_not_fit_is_refused_and_changes_nothing(
    server: Deployment, values: dict[str, Any], said: str
) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    with pytest.raises(InvalidConfigError, match=said):
        await server.registry.configure("weather", {"city": "Rome", **values}, actor="ada")
    assert (await server.registry.read_config("weather")).values == {"city": "Oslo"}


async def test_refused_value_is_not_repeated_in_the_message(server: Deployment) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    with pytest.raises(InvalidConfigError) as caught:
        await server.registry.configure("weather", {"days": "hunter2secret", "api_key": "hunter2secret"}, actor="ada")
    assert "hunter2secret" not in str(caught.value)


async def test_new_configuration_restarts_an_active_plugin_and_changes_the_set(server: Deployment) -> None:
    write_plugin(server.folder, **WITH_KEY)
    await server.registry.reconcile()
    await server.registry.configure("weather", {"API_KEY": "k-1234567"}, actor="ada")
    await server.registry.activate("weather", actor="ada")
    key = server.registry.active.key
    with pytest.raises(InvalidConfigError, match="API_KEY: has to be set"):
        await server.registry.configure("weather", {"API_KEY": None}, actor="ada")
    await server.registry.configure("weather", {"API_KEY": "k-7654321"}, actor="ada")
    assert server.registry.active.key != key
    assert server.activator.told[-1] == "start weather 1.0.0"
    told = len(server.activator.told)
    await server.registry.configure("weather", {"API_KEY": "********"}, actor="ada")
    assert len(server.activator.told) == told


# --- uploads ----------------------------------------------------------------------------------------------------


async def test_uploaded_plugin_is_registered_updated_and_removed(server: Deployment, database: Database) -> None:
    await server.registry.install(zipped_plugin(), actor="ada", origin="weather.zip")
    await server.registry.activate("weather", actor="ada")
    await server.registry.install(zipped_plugin(version="1.1.0"), actor="ada", origin="weather.zip")
    assert server.activator.at_work["weather"].package.version == "1.1.0"
    with pytest.raises(PluginStateError, match="Deactivate it first"):
        await server.registry.remove("weather", actor="ada")
    await server.registry.deactivate("weather", actor="ada")
    await server.registry.remove("weather", actor="ada")
    with pytest.raises(UnknownPluginError):
        await server.registry.find("weather")
    assert await actions(database) == [
        "plugin.installed weather by ada",
        "plugin.activated weather by ada",
        "plugin.installed weather by ada",
        "plugin.updated weather by system",
        "plugin.deactivated weather by ada",
        "plugin.removed weather by ada",
    ]


async def test_removing_forgets_configuration_and_secrets(server: Deployment) -> None:
    await server.registry.install(zipped_plugin(**WITH_KEY), actor="ada", origin="weather.zip")
    await server.registry.configure("weather", {"API_KEY": "k-1234567", "city": "Rome"}, actor="ada")
    await server.registry.remove("weather", actor="ada")
    await server.registry.install(zipped_plugin(**WITH_KEY), actor="ada", origin="weather.zip")
    config = await server.registry.read_config("weather")
    assert (config.values, config.secrets) == ({"city": "Oslo"}, {"API_KEY": None})


async def test_upload_does_not_replace_what_lies_in_the_folder(server: Deployment) -> None:
    write_plugin(server.folder)
    await server.registry.reconcile()
    with pytest.raises(PluginStateError, match="lies in the plugins folder"):
        await server.registry.install(zipped_plugin(version="2.0.0"), actor="ada", origin="weather.zip")
    with pytest.raises(PluginStateError, match="Remove the folder"):
        await server.registry.remove("weather", actor="ada")
    assert (await server.registry.find("weather")).record.version == "1.0.0"


async def test_upload_that_is_no_plugin_leaves_nothing(server: Deployment, tmp_path: Path) -> None:
    for archive in (zipped({"readme.txt": "hello"}), zipped({"plugin.json": "{}"}), b"no zip"):
        with pytest.raises(Exception, match=r"plugin|manifest_version|zip"):
            await server.registry.install(archive, actor="ada", origin="x.zip")
    assert await server.seen() == {}
    assert [path.name for path in (tmp_path / "data" / "plugins").iterdir()] == [".incoming"]
    assert list((tmp_path / "data" / "plugins" / ".incoming").iterdir()) == []


async def test_skill_is_named_after_its_archive_or_folder(server: Deployment) -> None:
    write_files(server.folder / "hello", {"SKILL.md": SKILL})
    await server.registry.install(zipped({"SKILL.md": SKILL}), actor="ada", origin="greeting.zip")
    await server.registry.reconcile()
    for name in ("hello", "greeting"):
        overview = await server.registry.activate(name, actor="ada")
        assert overview.package is not None
        assert (overview.package.format, overview.package.inventory.skills) == ("skills", (name,))
