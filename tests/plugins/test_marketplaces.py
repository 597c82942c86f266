"""Marketplaces from folders and archives, in the shapes of Anthropic's own two. Real: the files, an SQLite database."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.support.plugins import SKILL, Deployment, deployed, manifest, write_files, zipped

from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.plugins.errors import (
    MarketplaceError,
    PackageNotTrustedError,
    UnknownMarketplaceError,
    UploadRefusedError,
)
from claude_sdk_pattern.plugins.marketplaces import Marketplaces
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One database is enough here."""
    return sqlite_url


# As in the repository of Claude Code: a folder for each plugin.
TOOLS: dict[str, str] = {
    ".claude-plugin/marketplace.json": json.dumps(
        {
            "name": "some-tools",
            "owner": {"name": "Ada"},
            "metadata": {"description": "Tools of all kinds", "pluginRoot": "./plugins"},
            "plugins": [
                {"name": "committer", "source": "committer", "category": "git", "description": "Commits"},
                {"name": "weather", "source": "./weather", "version": "1.0.0"},
                {"name": "far-away", "source": {"source": "github", "repo": "a/b"}},
                {"name": "sneaky", "source": "../../../etc"},
                {"name": "lost", "source": "./nowhere"},
                {"name": "without a source"},
                "nonsense",
            ],
        }
    ),
    "plugins/committer/commands/commit.md": "---\ndescription: Commit\n---\nCommit.\n",
    "plugins/weather/plugin.json": json.dumps(manifest()),
    "plugins/weather/tools.py": "",
}

# As in the repository of skills: one folder that all plugins share, and entries that are the whole definition.
SKILLS: dict[str, str] = {
    ".claude-plugin/marketplace.json": json.dumps(
        {
            "name": "some-skills",
            "owner": {"name": "Ada"},
            "plugins": [
                {"name": "office", "source": "./", "strict": False, "skills": ["./skills/docx", "./skills/pdf"]},
                {"name": "arts", "description": "Arts", "source": "./", "strict": False, "skills": ["./skills/art"]},
            ],
        }
    ),
    **{f"skills/{name}/SKILL.md": SKILL.replace("greeting", name) for name in ("docx", "pdf", "art")},
    "README.md": "# Skills\n",
}


@pytest.fixture
async def server(database: Database, folder: Path, tmp_path: Path) -> AsyncGenerator[Deployment]:
    """The plugins of a running server."""
    async with deployed(database, folder, tmp_path / "data") as deployment:
        yield deployment


def made(server: Deployment, database: Database, tmp_path: Path, *paths: Path, **options: Any) -> Marketplaces:
    return Marketplaces(
        database,
        server.registry,
        AuditLog(database),
        paths=paths,
        folder=tmp_path / "data" / "marketplaces",
        **options,
    )


async def test_folder_of_the_settings_is_browsed_and_installed_from(
    server: Deployment, database: Database, tmp_path: Path
) -> None:
    marketplaces = made(server, database, tmp_path, write_files(tmp_path / "market", TOOLS))
    (found,) = await marketplaces.list()
    assert (found.name, found.owner, found.description) == ("some-tools", "Ada", "Tools of all kinds")
    obstacles = {offer.name: offer.obstacle for offer in found.offers}
    assert obstacles["committer"] is obstacles["weather"] is None
    assert "github" in (obstacles["far-away"] or "")
    assert "outside" in (obstacles["sneaky"] or "")
    assert "not in the marketplace" in (obstacles["lost"] or "")
    assert len(obstacles) == 5
    own = await marketplaces.install("some-tools", "weather", actor="ada")
    assert (own.record.status, own.record.source, own.record.origin) == ("registered", "marketplace", "some-tools")
    native = await marketplaces.install("some-tools", "committer", actor="ada")
    assert native.package is not None
    assert (native.package.format, native.package.inventory.commands) == ("claude-code", ("commit",))
    assert native.package.description == "Commits"
    for name in ("far-away", "sneaky", "lost", "never heard of"):
        with pytest.raises(MarketplaceError, match=name):
            await marketplaces.install("some-tools", name, actor="ada")
    assert await server.seen() == {"committer": "registered", "weather": "registered"}


async def test_entries_that_share_a_folder_bring_only_what_they_name(
    server: Deployment, database: Database, tmp_path: Path
) -> None:
    marketplaces = made(server, database, tmp_path)
    added = await marketplaces.add(zipped(SKILLS), actor="ada")
    assert (added.name, added.source) == ("some-skills", "upload")
    office = await marketplaces.install("some-skills", "office", actor="ada")
    arts = await marketplaces.install("some-skills", "arts", actor="ada")
    assert office.package is not None
    assert arts.package is not None
    assert office.package.inventory.skills == ("docx", "pdf")
    assert arts.package.inventory.skills == ("art",)
    assert (arts.package.root / "README.md").is_file()


async def test_uploaded_marketplace_is_replaced_and_removed_and_what_came_from_it_stays(
    server: Deployment, database: Database, tmp_path: Path
) -> None:
    marketplaces = made(server, database, tmp_path)
    await marketplaces.add(zipped(TOOLS), actor="ada")
    await marketplaces.install("some-tools", "weather", actor="ada")
    fewer = TOOLS | {".claude-plugin/marketplace.json": json.dumps({"name": "some-tools", "plugins": []})}
    await marketplaces.add(zipped(fewer), actor="ada")
    assert (await marketplaces.find("some-tools")).offers == ()
    await marketplaces.remove("some-tools", actor="ada")
    with pytest.raises(UnknownMarketplaceError):
        await marketplaces.find("some-tools")
    with pytest.raises(UnknownMarketplaceError):
        await marketplaces.remove("some-tools", actor="ada")
    assert await server.seen() == {"weather": "registered"}


async def test_another_server_unpacks_it_from_the_database(
    server: Deployment, database: Database, tmp_path: Path
) -> None:
    await made(server, database, tmp_path).add(zipped(SKILLS), actor="ada")
    other = made(server, database, tmp_path / "other")
    assert [offer.name for offer in (await other.find("some-skills")).offers] == ["office", "arts"]


async def test_marketplace_of_the_settings_that_cannot_be_read_is_shown_with_the_reason(
    server: Deployment, database: Database, tmp_path: Path
) -> None:
    archive = tmp_path / "packed.zip"
    archive.write_bytes(zipped(SKILLS))
    broken = write_files(tmp_path / "broken", {"marketplace.json": "{"})
    nameless = write_files(tmp_path / "nameless", {"marketplace.json": '{"name": "../x", "plugins": []}'})
    marketplaces = made(server, database, tmp_path, tmp_path / "gone", broken, nameless, archive)
    found = await marketplaces.list()
    assert [one.name for one in found] == ["gone", "broken", "nameless", "some-skills"]
    assert "no .claude-plugin/marketplace.json" in (found[0].problem or "")
    assert "is no JSON" in (found[1].problem or "")
    assert "name is missing" in (found[2].problem or "")
    assert found[3].problem is None
    with pytest.raises(MarketplaceError, match="settings of the server have"):
        await marketplaces.add(zipped(SKILLS), actor="ada")


async def test_upload_that_is_no_marketplace_is_refused(server: Deployment, database: Database, tmp_path: Path) -> None:
    marketplaces = made(server, database, tmp_path)
    with pytest.raises(UploadRefusedError):
        await marketplaces.add(b"no zip", actor="ada")
    with pytest.raises(MarketplaceError):
        await marketplaces.add(zipped({"a.txt": ""}), actor="ada")
    with pytest.raises(PackageNotTrustedError):
        await marketplaces.add(zipped(SKILLS), actor="ada", sha256="0" * 64)
    assert await marketplaces.list() == []
