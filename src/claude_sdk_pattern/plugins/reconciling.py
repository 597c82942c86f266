"""The records brought into agreement with the plugins folder: what came, changed, went away, or is not valid."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import structlog

from claude_sdk_pattern.plugins.discovery import FoundFolder, JudgedFolder, named, scan
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.judging import PackageJudge
from claude_sdk_pattern.plugins.package_store import PackageKey, PackageStore
from claude_sdk_pattern.plugins.promotion import Promotion
from claude_sdk_pattern.plugins.records import PluginRecord, still_there
from claude_sdk_pattern.plugins.repository import PluginRepository, Records

logger = structlog.get_logger(__name__)

# Each holds a packed plugin in memory.
_KEPT_AT_ONCE = 8


class PluginsFolder:
    """The folder that operators put plugins into.

    Args:
        path: the folder; it need not be there.
        repository: holds what is known of plugins.
        store: keeps what is found.
        judge: says whether it is valid.
        promotion: lets updates of active plugins take their place.
    """

    def __init__(
        self,
        path: Path,
        repository: PluginRepository,
        store: PackageStore,
        *,
        judge: PackageJudge,
        promotion: Promotion,
    ) -> None:
        self.path = path
        self._repository = repository
        self._store = store
        self._judge = judge
        self._promotion = promotion
        self._seen: dict[str, str] = {}
        self._judged: dict[str, JudgedFolder] = {}

    async def has_news(self) -> bool:
        """Whether something changed since the last time."""
        folders = await asyncio.to_thread(scan, self.path)
        return {folder.path.name: folder.fingerprint for folder in folders} != self._seen

    def look_again_at(self, folder: str) -> None:
        """Take a folder for changed the next time, whatever it looks like."""
        self._seen.pop(folder, None)

    async def reconcile(self) -> None:
        """Look at everything that changed, and change the records accordingly. For one caller at a time."""
        folders = await asyncio.to_thread(scan, self.path)
        records = await self._repository.all()
        changed = [folder for folder in folders if self._seen.get(folder.path.name) != folder.fingerprint]
        judged = await self._judge_all(changed, records)
        names = {folder.path.name for folder in folders}
        self._judged = {name: one for name, one in self._judged.items() if name in names}
        self._judged |= {one.folder: one for one in judged}
        self._seen = {folder.path.name: folder.fingerprint for folder in folders}
        found = named(
            list(self._judged.values()), {one.origin: one.name for one in records.values() if one.source == "folder"}
        )
        fresh = {one.folder for one in judged}
        for name, one in found.items():
            known = records.get(name)
            # At a start all of them are looked at, and hardly one is news.
            if known is None or _taken_in(records, name, one) != known:
                await self._repository.change(name, lambda records, name=name, one=one: _taken_in(records, name, one))
                known = None
            if one.folder in fresh and (known is None or known.has_update):
                await self._promotion.update_if_modest(name)
        for name, record in records.items():
            if record.source == "folder" and record.is_present and name not in found:
                await self._repository.change(name, lambda records, name=name: _gone(records, name))
                logger.warning("plugin_vanished", plugin=name, folder=record.origin)

    async def _judge_all(self, folders: list[FoundFolder], records: Records) -> list[JudgedFolder]:
        if not folders:
            return []
        digests = {record.origin: record.digest for record in records.values() if record.source == "folder"}
        kept = await self._store.kept()
        turns = asyncio.Semaphore(_KEPT_AT_ONCE)

        return await asyncio.gather(
            *(self._judged_folder(folder, digests.get(folder.path.name), kept, turns) for folder in folders)
        )

    async def _judged_folder(
        self, folder: FoundFolder, known_digest: str | None, kept: frozenset[PackageKey], turns: asyncio.Semaphore
    ) -> JudgedFolder:
        name = folder.path.name
        try:
            # All at once: the more plugins wait for Claude Code's word, the more it is asked about in one go.
            package = await self._judge.judge(folder.path, known_digest=known_digest)
            async with turns:
                await self._store.add(package, is_kept=(package.name, package.digest) in kept)
        except InvalidPluginError as error:
            return JudgedFolder(folder=name, problems=error.problems)
        except OSError as error:
            return JudgedFolder(folder=name, problems=(PluginProblem(file=".", message=f"cannot be read: {error}"),))
        return JudgedFolder(folder=name, package=package)


def _taken_in(records: Mapping[str, PluginRecord], name: str, one: JudgedFolder) -> PluginRecord:
    record = records.get(name) or PluginRecord(name=name, source="folder", origin=one.folder)
    if one.package is None:
        return record.invalid(one.problems, source="folder", origin=one.folder)
    return record.found(one.package, source="folder", origin=one.folder)


def _gone(records: Mapping[str, PluginRecord], name: str) -> PluginRecord | None:
    """Return the record of a plugin whose folder is gone; none if nothing about it is worth keeping."""
    record = still_there(records, name)
    is_worth_nothing = record.digest is None and not record.was_enabled and not record.config
    return None if is_worth_nothing else record.vanished()
