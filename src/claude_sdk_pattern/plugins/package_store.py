"""Where packages are kept: packed in the database for all servers, unpacked on the disk of each that needs them.

A folder of the store is named by the digest of its files and never changes: sessions that began with a version keep it
when another takes its place. It is written aside and renamed, so it is whole or not there.
"""

import asyncio
import shutil
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import ColumnElement, Connection, delete, insert, select
from uuid_utils import uuid4

from claude_sdk_pattern.plugins.archives import ArchiveLimits, pack_folder, unpack_archive
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.folders import folder_digest
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.reading import read_package
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PluginArchiveRow

logger = structlog.get_logger(__name__)

_INCOMING: Final = ".incoming"

type PackageKey = tuple[str, str]
"""Name of the plugin and digest of its files."""

_SWEPT_AFTER: Final = timedelta(hours=1)


class PackageStore:
    """Keeps packages by plugin and digest. ``folder`` belongs to it alone; one server uses it at a time."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder.absolute()
        self._known: dict[PackageKey, PluginPackage] = {}
        self._unpacking = asyncio.Lock()

    def prepare(self) -> None:
        """Make the folder, and remove what an earlier server was writing when it was killed."""
        shutil.rmtree(self._folder / _INCOMING, ignore_errors=True)
        (self._folder / _INCOMING).mkdir(parents=True, mode=0o700)

    def new_folder(self) -> Path:
        """Return a path for a folder that is not there yet; what is left in it goes away at the next start."""
        return self._folder / _INCOMING / str(uuid4())

    async def kept(self) -> frozenset[PackageKey]:
        """Return what the database holds."""
        async with self._database.reading() as session:
            rows = await session.execute(select(PluginArchiveRow.plugin, PluginArchiveRow.digest))
            return frozenset((row.plugin, row.digest) for row in rows)

    async def add(self, package: PluginPackage, *, is_kept: bool = False) -> None:
        """Keep a package. Does nothing if it is there, as ``is_kept`` says if the caller just asked.

        Raises:
            InvalidPluginError: its files changed since it was read, or cannot be packed.
            OSError: they cannot be read.
        """
        if (package.name, package.digest) in self._known:
            return
        if not is_kept and not await self._has(package.name, package.digest):
            archive = await asyncio.to_thread(_packed, package)
            await self._database.write(lambda connection: _insert(connection, package, archive))
        await self.get(package.name, package.digest)

    async def get(self, name: str, digest: str) -> PluginPackage:
        """Return a package whose root is a folder of the store, unpacked if need be.

        Raises:
            InvalidPluginError: it is not kept any more.
            OSError: the disk is full.
        """
        known = self._known.get((name, digest))
        if known is not None:
            return known
        folder = self._folder / name / digest
        package = await asyncio.to_thread(_read_whole, folder, name, digest)
        if package is None:
            async with self._unpacking:
                # Another may have unpacked it meanwhile.
                package = await asyncio.to_thread(_read_whole, folder, name, digest)
                if package is None:
                    await self._unpack(folder, name, digest)
                    package = await asyncio.to_thread(read_package, folder, name=name)
        return self._known.setdefault((name, digest), replace(package, name=name, digest=digest))

    async def sweep(self, kept: Collection[str]) -> None:
        """Remove what is of none of these digests. For the start of a server: sessions may use what was replaced."""
        # Another server may be adding one whose record is not written yet.
        old = PluginArchiveRow.created_at < datetime.now(UTC) - _SWEPT_AFTER

        def in_database(connection: Connection) -> None:
            connection.execute(delete(PluginArchiveRow).where(PluginArchiveRow.digest.not_in(kept), old))

        await self._database.write(in_database)
        await asyncio.to_thread(self._sweep_folders, frozenset(kept))

    async def forget(self, name: str) -> None:
        """Remove a plugin's packages from the database; folders go away at the next start."""

        def in_database(connection: Connection) -> None:
            connection.execute(delete(PluginArchiveRow).where(PluginArchiveRow.plugin == name))

        await self._database.write(in_database)
        self._known = {key: package for key, package in self._known.items() if key[0] != name}

    async def _has(self, name: str, digest: str) -> bool:
        async with self._database.reading() as session:
            return await session.scalar(select(PluginArchiveRow.digest).where(*_is(name, digest))) is not None

    async def _unpack(self, folder: Path, name: str, digest: str) -> None:
        async with self._database.reading() as session:
            archive = await session.scalar(select(PluginArchiveRow.archive).where(*_is(name, digest)))
        if archive is None:
            raise InvalidPluginError([PluginProblem(file=".", message="its files are not kept any more")])
        await asyncio.to_thread(self._unpack_aside, archive, folder, digest)

    def _unpack_aside(self, archive: bytes, folder: Path, digest: str) -> None:
        aside = self.new_folder()
        try:
            unpack_archive(archive, aside, ArchiveLimits(may_link=True, max_ratio=10_000))
            if folder_digest(aside) != digest:
                raise InvalidPluginError([PluginProblem(file=".", message="its files were altered in the database")])
            folder.parent.mkdir(parents=True, exist_ok=True)
            # What is there is damaged, or it would have been taken.
            shutil.rmtree(folder, ignore_errors=True)
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _sweep_folders(self, kept: frozenset[str]) -> None:
        for plugin in self._folder.iterdir():
            if plugin.name == _INCOMING or not plugin.is_dir():
                continue
            for version in plugin.iterdir():
                if version.name not in kept:
                    shutil.rmtree(version, ignore_errors=True)
            if not any(plugin.iterdir()):
                plugin.rmdir()


def _packed(package: PluginPackage) -> bytes:
    archive = pack_folder(package.root)
    # Somebody may be writing there right now; what was judged has to be what is kept.
    if folder_digest(package.root) != package.digest:
        raise InvalidPluginError([PluginProblem(file=".", message="changed while it was read", hint="reload it")])
    return archive


def _insert(connection: Connection, package: PluginPackage, archive: bytes) -> None:
    known = select(PluginArchiveRow.digest).where(*_is(package.name, package.digest))
    if connection.scalar(known) is not None:
        return
    row = {"plugin": package.name, "digest": package.digest, "archive": archive, "created_at": datetime.now(UTC)}
    connection.execute(insert(PluginArchiveRow).values(**row))


def _is(name: str, digest: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return PluginArchiveRow.plugin == name, PluginArchiveRow.digest == digest


def _read_whole(folder: Path, name: str, digest: str) -> PluginPackage | None:
    """Return what is in a folder if it is what its name says: a machine that lost power may have left half of it."""
    try:
        package = read_package(folder, name=name)
    except (OSError, InvalidPluginError):
        return None
    return package if package.digest == digest else None
