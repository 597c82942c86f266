"""Marketplaces: catalogues of plugins (``marketplace.json``), read from a folder or an archive, to install from.

Nothing is fetched from anywhere: a plugin that a catalogue only points to is shown, with the reason why it cannot be
installed.
"""

import asyncio
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, delete, insert, select

from claude_sdk_pattern.accounts.audit import AuditAction, AuditLog
from claude_sdk_pattern.plugins.archives import ArchiveLimits, unpack_archive
from claude_sdk_pattern.plugins.errors import (
    InvalidPluginError,
    MarketplaceError,
    UnknownMarketplaceError,
    UploadRefusedError,
)
from claude_sdk_pattern.plugins.folders import IGNORED_FOLDERS
from claude_sdk_pattern.plugins.manifest_reading import read_json
from claude_sdk_pattern.plugins.registry import PluginOverview, PluginRegistry
from claude_sdk_pattern.plugins.signatures import check_archive
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import MarketplaceRow

_FILES: Final = (".claude-plugin/marketplace.json", "marketplace.json")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_PLUGIN_FIELDS: Final = (
    *("version", "description", "author", "homepage", "repository", "license", "keywords"),
    *("commands", "agents", "skills", "hooks", "mcpServers", "lspServers", "outputStyles"),
)
"""What an entry may say in a plugin's place."""

_COMPONENT_FIELDS: Final = ("commands", "agents", "skills", "hooks", "mcpServers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A plugin in a marketplace. ``obstacle`` says why it cannot be installed; None: it can."""

    name: str
    description: str
    version: str | None
    category: str | None
    obstacle: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marketplace:
    """A catalogue. ``problem`` says why it cannot be read; then there are no offers."""

    name: str
    source: Literal["settings", "upload"]
    description: str = ""
    owner: str = ""
    offers: tuple[Offer, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    root: Path
    data: dict[str, Any]
    source: Literal["settings", "upload"]

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def entries(self) -> list[dict[str, Any]]:
        found: list[Any] = self.data["plugins"]
        return [cast("dict[str, Any]", entry) for entry in found if _is_entry(entry)]


class Marketplaces:
    """The marketplaces of a deployment: those that the settings name, and those that were uploaded.

    Args:
        paths: folders and archives of the settings. They are read anew each time.
        folder: for unpacked archives; it belongs to this object alone.
        signing_keys: if there are any, uploads have to be signed by one of them.
    """

    def __init__(
        self,
        database: Database,
        registry: PluginRegistry,
        audit: AuditLog,
        *,
        paths: Sequence[Path],
        folder: Path,
        limits: ArchiveLimits | None = None,
        signing_keys: Sequence[Ed25519PublicKey] = (),
    ) -> None:
        self._database = database
        self._registry = registry
        self._audit = audit
        self._paths = [path.absolute() for path in paths]
        self._folder = folder.absolute()
        self._limits = limits or ArchiveLimits()
        self._signing_keys = tuple(signing_keys)
        self._unpacking = asyncio.Lock()

    async def prepare(self) -> None:
        """Remove what an earlier server unpacked: archives may have been replaced since."""
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def list(self) -> Sequence[Marketplace]:
        """Return all marketplaces with what they offer, those of the settings first."""
        found: list[Marketplace] = []
        for path in self._paths:
            try:
                found.append(_shown(await self._open_path(path)))
            except (MarketplaceError, UploadRefusedError) as error:
                found.append(Marketplace(name=path.name, source="settings", problem=str(error)))
        for name in await self._uploaded_names():
            try:
                found.append(_shown(await self._open_uploaded(name)))
            except (MarketplaceError, UploadRefusedError) as error:
                found.append(Marketplace(name=name, source="upload", problem=str(error)))
        return found

    async def find(self, name: str) -> Marketplace:
        """Return one marketplace.

        Raises:
            UnknownMarketplaceError: there is none of this name.
            MarketplaceError: it cannot be read.
        """
        return _shown(await self._open(name))

    async def add(
        self, archive: bytes, *, actor: str, sha256: str | None = None, signature: str | None = None
    ) -> Marketplace:
        """Keep an uploaded marketplace, in the place of one of the same name.

        Raises:
            UploadRefusedError: the archive breaks a rule, or is not what it should be.
            MarketplaceError: it holds no valid ``marketplace.json``, or the settings have one of this name.
        """
        check_archive(archive, sha256=sha256, signature=signature, keys=self._signing_keys)
        digest = hashlib.sha256(archive).hexdigest()
        opened = await asyncio.to_thread(_read, await self._unpacked(digest, archive), "upload")
        if opened.name in [known.name for known in await self.list() if known.source == "settings"]:
            raise MarketplaceError(f"The settings of the server have a marketplace {opened.name} already.")

        def store(connection: Connection) -> None:
            row = {"name": opened.name, "digest": digest, "archive": archive, "created_at": datetime.now(UTC)}
            connection.execute(delete(MarketplaceRow).where(MarketplaceRow.name == opened.name))
            connection.execute(insert(MarketplaceRow).values(**row))

        await self._database.write(store)
        await self._audit.record(
            AuditAction.MARKETPLACE_ADDED, actor=actor, target=opened.name, details={"sha256": digest}
        )
        return _shown(opened)

    async def remove(self, name: str, *, actor: str) -> None:
        """Forget an uploaded marketplace. What was installed from it stays.

        Raises:
            UnknownMarketplaceError: none of this name was uploaded.
        """

        def forget(connection: Connection) -> int:
            return connection.execute(delete(MarketplaceRow).where(MarketplaceRow.name == name)).rowcount

        if await self._database.write(forget) == 0:
            raise UnknownMarketplaceError(name)
        await self._audit.record(AuditAction.MARKETPLACE_REMOVED, actor=actor, target=name)

    async def install(self, name: str, plugin: str, *, actor: str) -> PluginOverview:
        """Install a plugin, or its update. It is not activated by that.

        Raises:
            UnknownMarketplaceError: there is none of this name.
            MarketplaceError: it does not offer this plugin, or only points to where it is.
            InvalidPluginError, PluginStateError: as :meth:`PluginRegistry.install`.
        """
        opened = await self._open(name)
        entry = next((entry for entry in opened.entries if entry["name"] == plugin), None)
        if entry is None:
            raise MarketplaceError(f"The marketplace {name} has no plugin {plugin}.")
        obstacle = _obstacle(opened, entry)
        if obstacle is not None:
            raise MarketplaceError(f"The plugin {plugin} cannot be installed: {obstacle}")
        async with self._registry.new_folder() as folder:
            await asyncio.to_thread(_compose, opened, entry, folder)
            return await self._registry.install_folder(
                folder, actor=actor, source="marketplace", origin=name, name=plugin
            )

    async def _open(self, name: str) -> _Opened:
        for path in self._paths:
            try:
                opened = await self._open_path(path)
            except (MarketplaceError, UploadRefusedError):
                if path.name == name:
                    raise
                continue
            if opened.name == name:
                return opened
        return await self._open_uploaded(name)

    async def _open_path(self, path: Path) -> _Opened:
        try:
            if await asyncio.to_thread(path.is_file) and path.suffix == ".zip":
                archive = await asyncio.to_thread(path.read_bytes)
                root = await self._unpacked(hashlib.sha256(archive).hexdigest(), archive)
            else:
                # The file itself may be named, too.
                root = path.parent.parent if path.match(_FILES[0]) else path.parent if path.name == _FILES[1] else path
            return await asyncio.to_thread(_read, root, "settings")
        except OSError as error:
            raise MarketplaceError(f"It cannot be read: {error.strerror or error}") from error

    async def _open_uploaded(self, name: str) -> _Opened:
        async with self._database.reading() as session:
            digest = await session.scalar(select(MarketplaceRow.digest).where(MarketplaceRow.name == name))
            if digest is None:
                raise UnknownMarketplaceError(name)
            folder = self._folder / digest
            archive = b""
            if not await asyncio.to_thread(folder.is_dir):
                kept = await session.scalar(select(MarketplaceRow.archive).where(MarketplaceRow.name == name))
                archive = kept or b""
        return await asyncio.to_thread(_read, await self._unpacked(digest, archive), "upload")

    async def _uploaded_names(self) -> Sequence[str]:
        async with self._database.reading() as session:
            return (await session.scalars(select(MarketplaceRow.name).order_by(MarketplaceRow.name))).all()

    async def _unpacked(self, digest: str, archive: bytes) -> Path:
        """Return the folder of an archive, unpacked aside and renamed if it is not there yet."""
        folder = self._folder / digest
        async with self._unpacking:
            if await asyncio.to_thread(folder.is_dir):
                return folder
            async with self._registry.new_folder() as aside:
                await asyncio.to_thread(unpack_archive, archive, aside, self._limits)
                folder.parent.mkdir(parents=True, exist_ok=True)
                aside.rename(folder)
        return folder


def _read(root: Path, source: Literal["settings", "upload"]) -> _Opened:
    file = next((root / name for name in _FILES if (root / name).is_file()), None)
    if file is None:
        raise MarketplaceError(f"There is no {_FILES[0]} in it.")
    try:
        found = read_json(file.read_bytes(), file=file.name)
    except InvalidPluginError as error:
        raise MarketplaceError(str(error)) from error
    data: dict[str, Any] = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if not isinstance(data.get("name"), str) or not _NAME.fullmatch(data["name"]):
        raise MarketplaceError(f"{file.name}: name is missing, or has letters that a name cannot have")
    if not isinstance(data.get("plugins"), list):
        raise MarketplaceError(f"{file.name}: plugins has to be a list")
    return _Opened(root=root.resolve(), data=data, source=source)


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(cast("dict[str, Any]", entry).get("name"), str) and "source" in entry


def _shown(opened: _Opened) -> Marketplace:
    owner: Any = opened.data.get("owner")
    metadata: Any = opened.data.get("metadata")
    described = opened.data.get("description") or (metadata.get("description") if isinstance(metadata, dict) else "")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return Marketplace(
        name=opened.name,
        source=opened.source,
        description=_text(described) or "",
        owner=_text(cast("dict[str, Any]", owner).get("name")) or "" if isinstance(owner, dict) else "",
        offers=tuple(
            Offer(
                name=entry["name"],
                description=_text(entry.get("description")) or "",
                version=_text(entry.get("version")),
                category=_text(entry.get("category")),
                obstacle=_obstacle(opened, entry),
            )
            for entry in opened.entries
        ),
    )


def _obstacle(opened: _Opened, entry: dict[str, Any]) -> str | None:
    """Return why a plugin cannot be installed from here."""
    source: Any = entry["source"]
    if isinstance(source, dict):
        kind = _text(cast("dict[str, Any]", source).get("source")) or "elsewhere"
        return f"it has to be fetched ({kind}), which this server does not do; upload it instead"
    if not isinstance(source, str):
        return "its source cannot be read"
    folder = _folder(opened, source)
    if not folder.is_relative_to(opened.root):
        return "its folder is outside of the marketplace"
    return None if folder.is_dir() else "its folder is not in the marketplace"


def _folder(opened: _Opened, source: str) -> Path:
    metadata: Any = opened.data.get("metadata")
    base = _text(cast("dict[str, Any]", metadata).get("pluginRoot")) if isinstance(metadata, dict) else None
    return (opened.root / (base or ".") / source).resolve()


def _compose(opened: _Opened, entry: dict[str, Any], target: Path) -> None:
    """Write the plugin that an entry means into a new folder."""
    folder = _folder(opened, entry["source"])
    ignored = shutil.ignore_patterns(*IGNORED_FOLDERS)
    if folder == opened.root:
        # Several plugins share the marketplace's own folder: each is the parts that its entry names.
        target.mkdir()
        for part in _named_parts(opened, entry):
            copied = target / part.relative_to(opened.root)
            copied.parent.mkdir(parents=True, exist_ok=True)
            if part.is_dir():
                shutil.copytree(part, copied, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy2(part, copied)
    else:
        shutil.copytree(folder, target, symlinks=True, ignore=ignored)
    if (target / "plugin.json").is_file():
        return
    file = target / ".claude-plugin" / "plugin.json"
    manifest: dict[str, Any] = {}
    if file.is_file():
        known = read_json(file.read_bytes(), file=file.name)
        manifest = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
    added = {field: entry[field] for field in _PLUGIN_FIELDS if field in entry and field not in manifest}
    if added or not manifest:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"name": entry["name"], **manifest, **added}, indent=2))


def _named_parts(opened: _Opened, entry: dict[str, Any]) -> list[Path]:
    named: list[str] = []
    for field in _COMPONENT_FIELDS:
        value: Any = entry.get(field)
        named += [value] if isinstance(value, str) else []
        named += [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []
    parts = [(opened.root / path).resolve() for path in named]
    texts = [path for pattern in ("LICENSE*", "README*", "NOTICE*") for path in opened.root.glob(pattern)]
    return [
        path for path in (*parts, *texts) if path.is_relative_to(opened.root) and path != opened.root and path.exists()
    ]


def _text(value: Any) -> str | None:
    return value[:2000] if isinstance(value, str) else None
