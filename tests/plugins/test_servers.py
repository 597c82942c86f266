"""Plugins when servers end, start again, and work side by side on one database.

Real: both databases, and as many registries on them as a deployment has servers, each with a disk of its own.
"""

import asyncio
from pathlib import Path

import pytest
from tests.support.plugins import deployed, write_plugin, zipped_plugin

from claude_sdk_pattern.plugins.errors import DependencyError
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


async def test_restarted_server_starts_what_was_active_and_nothing_else(
    database: Database, folder: Path, tmp_path: Path
) -> None:
    for name in ("weather", "news", "maps"):
        write_plugin(folder, name)
    async with deployed(database, folder, tmp_path / "data") as first:
        for name in ("weather", "news"):
            await first.registry.activate(name, actor="ada")
        await first.registry.deactivate("news", actor="ada")
    assert first.activator.at_work == {}
    async with deployed(database, folder, tmp_path / "data") as second:
        assert await second.seen() == {"maps": "registered", "news": "disabled", "weather": "active"}
        assert list(second.activator.at_work) == ["weather"]


async def test_what_is_not_needed_any_more_is_swept_at_the_next_start(
    database: Database, folder: Path, tmp_path: Path
) -> None:
    write_plugin(folder)
    kept = tmp_path / "data" / "plugins" / "weather"
    async with deployed(database, folder, tmp_path / "data") as first:
        await first.registry.activate("weather", actor="ada")
        write_plugin(folder, version="2.0.0")
        await first.registry.reconcile()
        assert len(list(kept.iterdir())) == 2
    (tmp_path / "data" / "plugins" / ".incoming" / "half").mkdir()
    async with deployed(database, folder, tmp_path / "data") as second:
        (plugin,) = second.registry.active
        assert [path.name for path in kept.iterdir()] == [plugin.package.digest]
        assert list((tmp_path / "data" / "plugins" / ".incoming").iterdir()) == []


async def test_damaged_copy_is_replaced_from_the_database(database: Database, folder: Path, tmp_path: Path) -> None:
    write_plugin(folder)
    async with deployed(database, folder, tmp_path / "data") as first:
        await first.registry.activate("weather", actor="ada")
        (before,) = first.registry.active
    (before.package.root / "tools.py").write_text("half of i")
    async with deployed(database, folder, tmp_path / "data") as second:
        (after,) = second.registry.active
        assert (after.package.root / "tools.py").read_text() == "NAME = 'weather'\n"


async def test_server_follows_what_another_one_decided(database: Database, folder: Path, tmp_path: Path) -> None:
    async with (
        deployed(database, folder, tmp_path / "one") as one,
        deployed(database, folder, tmp_path / "two", poll_seconds=0.05) as two,
    ):
        changed: asyncio.Queue[PluginSet] = asyncio.Queue()
        two.registry.watch(changed.put_nowait)
        await one.registry.install(zipped_plugin(), actor="ada", origin="weather.zip")
        await one.registry.activate("weather", actor="ada")
        async with asyncio.timeout(30):
            (plugin,) = await changed.get()
        # Its files came through the database: the other server's disk may be another machine's.
        assert plugin.package.root.is_relative_to(tmp_path / "two")
        assert (plugin.package.root / "tools.py").is_file()


async def test_two_servers_that_do_opposite_things_at_once_end_in_one_state(
    database: Database, folder: Path, tmp_path: Path
) -> None:
    write_plugin(folder)
    write_plugin(folder, "news", dependencies={"weather": "^1.0"})
    async with (
        deployed(database, folder, tmp_path / "one") as one,
        deployed(database, folder, tmp_path / "two") as two,
    ):
        await one.registry.activate("weather", actor="ada")
        for _ in range(5):
            results = await asyncio.gather(
                one.registry.activate("news", actor="ada"),
                two.registry.deactivate("weather", actor="bob"),
                return_exceptions=True,
            )
            assert all(not isinstance(one, BaseException) or isinstance(one, DependencyError) for one in results)
            seen = await one.seen()
            assert not (seen["news"] == "active" and seen["weather"] != "active"), seen
            await one.registry.reconcile()
            if seen["news"] == "active":
                await one.registry.deactivate("news", actor="ada")
            await one.registry.activate("weather", actor="ada")
