"""The registry: finds plugins, keeps what is known of them in the database, and lets operators decide about them.

What is found in the plugins folder is :class:`PluginsFolder`'s business, what may become active that of
:class:`Promotion`. What runs on this server follows from the records, by :class:`RunningPlugins`.
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from claude_sdk_pattern.accounts.audit import AuditAction, AuditLog
from claude_sdk_pattern.plugins.activation import Activator
from claude_sdk_pattern.plugins.archives import ArchiveLimits, unpack_archive
from claude_sdk_pattern.plugins.configuration import check_complete, split_values, with_defaults
from claude_sdk_pattern.plugins.discovery import looks
from claude_sdk_pattern.plugins.errors import (
    ActivationError,
    DependencyError,
    InvalidPluginError,
    PluginError,
    PluginStateError,
)
from claude_sdk_pattern.plugins.judging import PackageJudge
from claude_sdk_pattern.plugins.manifest import Permissions, secret_keys
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.promotion import Promotion, dependents
from claude_sdk_pattern.plugins.reconciling import PluginsFolder
from claude_sdk_pattern.plugins.records import PluginRecord, PluginStatus, Source, added_permissions, still_there
from claude_sdk_pattern.plugins.repository import PluginRepository, Records
from claude_sdk_pattern.plugins.running import RunningPlugins
from claude_sdk_pattern.plugins.secret_store import SecretStore, masked
from claude_sdk_pattern.plugins.signatures import check_archive
from claude_sdk_pattern.storage.database import Database

logger = structlog.get_logger(__name__)

# How often the folder is looked at unasked, for file systems that report no changes.
_SCAN_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOverview:
    """A plugin as operators see it.

    Attributes:
        package: what is there now, or what runs if that is not valid; None if neither can be read.
        new_permissions: what it asks for and nobody has agreed to: activating agrees to it.
    """

    record: PluginRecord
    package: PluginPackage | None
    new_permissions: Permissions


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfig:
    """The configuration of a plugin. Secrets are masked, or None where they are not set."""

    schema: Mapping[str, Any]
    values: Mapping[str, Any]
    secrets: Mapping[str, str | None]
    fixed_secrets: frozenset[str]


class PluginRegistry:
    """All plugins of a deployment. Open it with ``async with``: it finds, starts and watches them, and stops them.

    Args:
        plugins_dir: the folder that operators put plugins into; it need not be there.
        activators: put active plugins to work.
        limits: what uploaded archives may hold.
        signing_keys: if there are any, only archives that one of them signed are taken.
        trusted: names of plugins whose code may run inside the server.
        on_statuses: is told how many plugins there are of each status, after each change.
        is_server: False for commands, which change records and leave it to servers to start plugins.
        poll_seconds: how soon a server notices what another one, or the command line, did.
    """

    def __init__(
        self,
        database: Database,
        *,
        store: PackageStore,
        secrets: SecretStore,
        judge: PackageJudge,
        audit: AuditLog,
        plugins_dir: Path,
        activators: list[Activator],
        activation_timeout_seconds: float,
        limits: ArchiveLimits | None = None,
        signing_keys: Sequence[Ed25519PublicKey] = (),
        trusted: Collection[str] = (),
        on_statuses: Callable[[Mapping[str, int]], None] = lambda counts: None,
        is_server: bool = True,
        poll_seconds: float = 2.0,
    ) -> None:
        self.secrets = secrets
        self._repository = PluginRepository(database)
        self._store = store
        self._judge = judge
        self._audit = audit
        self._limits = limits or ArchiveLimits()
        self._signing_keys = tuple(signing_keys)
        self._on_statuses = on_statuses
        self._is_server = is_server
        self._poll_seconds = poll_seconds
        self._running = RunningPlugins(
            self._repository,
            store,
            activators=activators,
            timeout_seconds=activation_timeout_seconds,
            trusted=trusted,
        )
        self._promotion = Promotion(self._repository, store, secrets=secrets, running=self._running, audit=audit)
        self._folder = PluginsFolder(
            plugins_dir.absolute(), self._repository, store, judge=judge, promotion=self._promotion
        )
        self._commands = asyncio.Lock()
        self._applied_changes = -1
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.prepare()
        await self.reconcile()
        self._watching = asyncio.create_task(self._watch(), name="plugins")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._running.stop_all()

    @property
    def active(self) -> PluginSet:
        """The plugins that a session is given which starts now."""
        return self._running.active

    def watch(self, watcher: Callable[[PluginSet], None]) -> None:
        """Have a function called with the new set whenever the active plugins change."""
        self._running.watch(watcher)

    async def prepare(self) -> None:
        """Tidy up after earlier servers: folders that were being written, versions that nobody needs any more."""
        await asyncio.to_thread(self._store.prepare)
        records = (await self._repository.all()).values()
        kept = {digest for record in records for digest in (record.digest, record.running_digest) if digest}
        await self._store.sweep(kept)

    # --- what there is ---------------------------------------------------------------------------------------------

    async def overview(self) -> list[PluginOverview]:
        """Return all plugins, in the order of their names."""
        return [await self._overview(record) for record in (await self._repository.all()).values()]

    async def find(self, name: str) -> PluginOverview:
        """Return one plugin.

        Raises:
            UnknownPluginError: there is none of this name.
        """
        return await self._overview(await self._repository.get(name))

    async def read_config(self, name: str) -> PluginConfig:
        """Return the configuration of a plugin.

        Raises:
            UnknownPluginError: there is none of this name.
        """
        overview = await self.find(name)
        schema = {} if overview.package is None else overview.package.config_schema
        return PluginConfig(
            schema=schema,
            values=with_defaults(schema, overview.record.config),
            secrets=masked(secret_keys(dict(schema)), await self.secrets.keys(name)),
            fixed_secrets=self.secrets.keys_in_files(name),
        )

    # --- what operators do -----------------------------------------------------------------------------------------

    async def activate(self, name: str, *, actor: str, digest: str | None = None) -> PluginOverview:
        """Put a plugin, or its update, to work in new sessions, and agree to the permissions it asks for.

        Does nothing if it is active already.

        Args:
            name: the plugin's.
            actor: who does it.
            digest: of what was looked at; if given, nothing else is activated.

        Raises:
            UnknownPluginError: there is none of this name.
            InvalidPluginError, InvalidConfigError: it, or its configuration, is not valid.
            PluginChangedError: it is not what was looked at.
            PluginStateError: its folder is gone.
            DependencyError: a plugin that it needs is not active.
            ActivationError: it does not work; it is errored now, or the version before goes on running.
        """
        async with self._commands:
            try:
                await self._promotion.activate(name, actor=actor, digest=digest)
            except ActivationError:
                await self._count()
                raise
            await self._apply()
        return await self._started(name)

    async def deactivate(self, name: str, *, actor: str) -> PluginOverview:
        """Take a plugin away from new sessions. Does nothing if it is not active.

        Raises:
            UnknownPluginError: there is none of this name.
            DependencyError: an active plugin needs it.
        """

        def change(records: Records) -> PluginRecord | None:
            if needed_by := dependents(records, name):
                raise DependencyError(f"The plugin {needed_by[0]} needs it. Deactivate that first.")
            record = records.get(name)
            return None if record is None else record.deactivated()

        async with self._commands:
            await self._repository.get(name)
            before, after = await self._repository.change(name, change)
            if before is not None and before.is_enabled and after is not None:
                await self._note(AuditAction.PLUGIN_DEACTIVATED, name, actor)
            await self._apply()
        return await self.find(name)

    async def reload(self, name: str, *, actor: str) -> PluginOverview:
        """Read a plugin's folder again, and start the plugin anew if it is active.

        Raises:
            UnknownPluginError: there is none of this name.
            ActivationError: it could not be started.
        """
        async with self._commands:
            record = await self._repository.get(name)
            if record.source == "folder":
                self._folder.look_again_at(record.origin)
                await self._folder.reconcile()
            await self._repository.change(name, lambda records: still_there(records, name).restarted())
            await self._note(AuditAction.PLUGIN_RELOADED, name, actor)
            await self._promotion.update_if_modest(name)
            await self._apply()
        return await self._started(name)

    async def configure(self, name: str, values: Mapping[str, Any], *, actor: str) -> PluginOverview:
        """Replace a plugin's configuration. Secrets that are left out or masked stay; ``None`` removes one.

        Raises:
            UnknownPluginError: there is none of this name.
            InvalidConfigError: a value does not fit, or an active plugin would lack one.
            ActivationError: the plugin could not be started with it.
        """
        async with self._commands:
            overview = await self.find(name)
            package = overview.package
            if package is None:
                raise PluginStateError(f"The plugin {name} cannot be read, so nobody knows what it takes.")
            plain, changed = split_values(package, values)
            fixed = self.secrets.keys_in_files(name)
            if overridden := sorted(set(changed) & fixed):
                raise PluginStateError(f"The secret {overridden[0]} comes from a file. Change it there.")
            if overview.record.is_running:
                left = await self.secrets.keys(name) - {key for key, value in changed.items() if value is None}
                running = await self._store.get(name, overview.record.running_digest or "")
                check_complete(running, plain, left | {key for key, value in changed.items() if value is not None})
            await self.secrets.store(name, changed)
            if changed or plain != overview.record.config:
                await self._repository.change(name, lambda records: still_there(records, name).configured(plain))
                keys: list[JsonValue] = [*sorted({*plain, *changed})]
                await self._note(AuditAction.PLUGIN_CONFIGURED, name, actor, keys=keys)
            await self._apply()
        return await self._started(name)

    async def install(
        self, archive: bytes, *, actor: str, origin: str, sha256: str | None = None, signature: str | None = None
    ) -> PluginOverview:
        """Add a plugin from an archive, or another version of one that was added so. Nothing of it is executed.

        An update of an active plugin takes its place if it asks for nothing more; otherwise it waits until somebody
        activates it.

        Args:
            archive: a zip archive.
            actor: who does it.
            origin: name of the file; a plugin that says no name of its own is called so.
            sha256: what the archive's SHA-256 has to be, in hex.
            signature: Ed25519 over the archive, in base64; needed if the registry was given keys.

        Raises:
            UploadRefusedError: the archive breaks a rule, or is not what it should be.
            InvalidPluginError: what is in it is no valid plugin.
            PluginStateError: a plugin of this name lies in the plugins folder.
        """
        check_archive(archive, sha256=sha256, signature=signature, keys=self._signing_keys)
        async with self.new_folder() as folder:
            await asyncio.to_thread(unpack_archive, archive, folder, self._limits)
            return await self.install_folder(
                folder, actor=actor, source="upload", origin=origin, name=Path(origin).stem or None
            )

    @contextlib.asynccontextmanager
    async def new_folder(self) -> AsyncGenerator[Path]:
        """Yield a path for a folder of one's own, which is not there yet and goes away at the end."""
        folder = self._store.new_folder()
        try:
            yield folder
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def install_folder(
        self, folder: Path, *, actor: str, source: Source, origin: str, name: str | None = None
    ) -> PluginOverview:
        """Add a plugin from a folder, of which a copy is made; see :meth:`install`. ``name``: if it says none."""
        package = await self._judge.judge(folder, name=name)
        name = package.name

        def change(records: Records) -> PluginRecord:
            known = records.get(name)
            if known is not None and known.source == "folder" and known.is_present:
                raise PluginStateError(
                    f"The plugin {name} lies in the plugins folder, as {known.origin}. Change it there."
                )
            known = known or PluginRecord(name=name, source=source, origin=origin)
            return known.found(package, source=source, origin=origin)

        async with self._commands:
            await self._store.add(package)
            await self._repository.change(name, change)
            details: dict[str, JsonValue] = {"version": package.version, "sha256": package.digest, "source": source}
            await self._note(AuditAction.PLUGIN_INSTALLED, name, actor, **details)
            await self._promotion.update_if_modest(name)
            await self._apply()
        return await self.find(name)

    async def remove(self, name: str, *, actor: str) -> None:
        """Forget a plugin with its files, configuration and secrets.

        Raises:
            UnknownPluginError: there is none of this name.
            PluginStateError: it is active, or its folder lies in the plugins folder.
        """

        def change(records: Records) -> None:
            record = still_there(records, name)
            if record.is_enabled and record.is_present:
                raise PluginStateError(f"The plugin {name} is active. Deactivate it first.")
            if record.source == "folder" and record.is_present:
                raise PluginStateError(f"Remove the folder {record.origin} from the plugins folder first.")

        async with self._commands:
            await self._repository.get(name)
            await self._repository.change(name, change)
            await self.secrets.forget(name)
            await self._store.forget(name)
            await self._note(AuditAction.PLUGIN_REMOVED, name, actor)
            await self._apply()

    async def report_trouble(self, name: str, trouble: str | None) -> None:
        """Note that something of an active plugin does not work, or works again (``None``). For those who run it."""

        def change(records: Records) -> PluginRecord | None:
            record = records.get(name)
            return None if record is None else record.troubled(trouble)

        await self._repository.change(name, change)
        await self._count()

    # --- what follows from the folders and from other servers ------------------------------------------------------

    async def reconcile(self) -> None:
        """Bring the records into agreement with the plugins folder, and what runs with the records."""
        async with self._commands:
            await self._folder.reconcile()
            await self._apply()

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        next_scan_at = clock() + _SCAN_SECONDS
        async for is_told in looks(self._folder.path, every_seconds=self._poll_seconds):
            try:
                if (is_told or clock() >= next_scan_at) and await self._folder.has_news():
                    await self.reconcile()
                elif await self._repository.count_changes() != self._applied_changes:
                    async with self._commands:
                        await self._apply()
            except (SQLAlchemyError, OSError, PluginError) as error:
                # The database is away, or the disk is full: the next look is soon.
                logger.warning("plugins_not_looked_after", error=f"{type(error).__name__}: {error}"[:300])
            if clock() >= next_scan_at:
                next_scan_at = clock() + _SCAN_SECONDS

    # --- small steps -----------------------------------------------------------------------------------------------

    async def _apply(self) -> None:
        if not self._is_server:
            return
        # Counted before: what changes meanwhile is looked at once more.
        count = await self._repository.count_changes()
        await self._running.apply()
        self._applied_changes = count
        await self._count()

    async def _count(self) -> None:
        counts = {status.value: 0 for status in PluginStatus} | await self._repository.count_by_status()
        self._on_statuses(counts)

    async def _started(self, name: str) -> PluginOverview:
        """Return a plugin that was to be started; raises ActivationError if that did not work."""
        overview = await self.find(name)
        if overview.record.is_running and overview.record.error is not None:
            raise ActivationError(overview.record.error)
        return overview

    async def _overview(self, record: PluginRecord) -> PluginOverview:
        package = None
        digest = record.digest or record.running_digest
        if digest is not None:
            try:
                package = await self._store.get(record.name, digest)
            except (InvalidPluginError, OSError) as error:
                logger.warning("plugin_unreadable", plugin=record.name, error=str(error))
        asked = Permissions() if package is None else package.permissions
        return PluginOverview(record=record, package=package, new_permissions=added_permissions(record.agreed, asked))

    async def _note(self, action: AuditAction, name: str, actor: str, **details: JsonValue) -> None:
        await self._audit.record(action, actor=actor, target=name, details=details)
