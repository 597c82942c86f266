"""What is there becomes what runs: the steps of an activation, and of an update that takes a version's place by itself.

A step reads the record, tries what takes time, and then changes the record in one short transaction that fails if the
record is another one by then. Nothing is locked meanwhile, so two servers on one database are as safe as one.
"""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import structlog

from claude_sdk_pattern.accounts.audit import AuditAction, AuditLog
from claude_sdk_pattern.plugins.configuration import check_complete
from claude_sdk_pattern.plugins.errors import (
    ActivationError,
    DependencyError,
    InvalidPluginError,
    PluginChangedError,
    PluginError,
    PluginStateError,
)
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.records import PluginRecord, added_permissions, asks_for_nothing, still_there
from claude_sdk_pattern.plugins.repository import PluginRepository, Records
from claude_sdk_pattern.plugins.running import RunningPlugins
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.plugins.versions import fits

logger = structlog.get_logger(__name__)

SYSTEM_ACTOR: Final = "system"
"""The actor of what follows from a change in the plugins folder."""

# A record changes under a command only when somebody else works on the same plugin.
_ATTEMPTS: Final = 5


class _StaleError(Exception):
    """The record is not the one that was looked at."""


class Promotion:
    """Changes records so that what is there is what runs; :class:`RunningPlugins` then starts it."""

    def __init__(
        self,
        repository: PluginRepository,
        store: PackageStore,
        *,
        secrets: SecretStore,
        running: RunningPlugins,
        audit: AuditLog,
    ) -> None:
        self._repository = repository
        self._store = store
        self._secrets = secrets
        self._running = running
        self._audit = audit

    async def activate(self, name: str, *, actor: str, digest: str | None) -> None:
        """Have a plugin, or its update, run from now on; see :meth:`PluginRegistry.activate`, also for the errors."""
        await self._until_unchanged(name, lambda record: self._activate(record, actor, digest))

    async def update_if_modest(self, name: str) -> None:
        """Let an update take the place of what runs, if it asks for nothing that was not agreed to."""

        async def attempt(record: PluginRecord) -> None:
            if not record.has_update or record.digest is None or record.problems:
                return
            package = await self._store.get(name, record.digest)
            if not asks_for_nothing(added_permissions(record.agreed, package.permissions)):
                logger.info("plugin_update_waits", plugin=name, version=package.version)
                return
            await self._try(record, package)
            await self._commit(record, package, lambda fresh: fresh.updated(package))
            await self._audit.record(
                AuditAction.PLUGIN_UPDATED, actor=SYSTEM_ACTOR, target=name, details={"version": package.version}
            )

        with contextlib.suppress(PluginError):
            await self._until_unchanged(name, attempt)

    async def _activate(self, record: PluginRecord, actor: str, digest: str | None) -> None:
        name = record.name
        if not record.is_present:
            raise PluginStateError(f"The folder of the plugin {name} is gone.")
        if record.digest is None:
            raise InvalidPluginError(record.problems)
        if digest is not None and digest != record.digest:
            raise PluginChangedError(name)
        package = await self._store.get(name, record.digest)
        is_at_work = record.is_running and record.running_digest == record.digest and record.error is None
        if not is_at_work:
            try:
                await self._try(record, package)
            except ActivationError as error:
                message = str(error)
                await self._repository.change(name, lambda records: still_there(records, name).refused(message))
                await self._audit.record(
                    AuditAction.PLUGIN_FAILED, actor=actor, target=name, details={"error": message}
                )
                raise
        await self._commit(record, package, lambda fresh: fresh.activated(package))
        if not is_at_work:
            await self._audit.record(
                AuditAction.PLUGIN_ACTIVATED,
                actor=actor,
                target=name,
                details={"version": package.version, "sha256": package.digest},
            )

    async def _try(self, record: PluginRecord, package: PluginPackage) -> None:
        """Try whether a plugin could be started; nothing is changed by it. Raises what :meth:`activate` raises."""
        _check_needs(await self._repository.all(), record.name, package)
        check_complete(package, record.config, await self._secrets.keys(record.name))
        coming = replace(record, generation=record.generation + 1)
        await self._running.try_out(self._running.made_active(coming, package))

    async def _commit(
        self, record: PluginRecord, package: PluginPackage, change: Callable[[PluginRecord], PluginRecord]
    ) -> None:
        """Change a record that is still what was tried. Raises _StaleError if it is not, and DependencyError."""

        def checked(records: Records) -> PluginRecord:
            fresh = records.get(record.name)
            if fresh is None or (fresh.digest, fresh.generation, fresh.is_present, fresh.is_enabled) != (
                record.digest,
                record.generation,
                record.is_present,
                record.is_enabled,
            ):
                raise _StaleError
            _check_needs(records, record.name, package)
            return change(fresh)

        await self._repository.change(record.name, checked)

    async def _until_unchanged(self, name: str, attempt: Callable[[PluginRecord], Awaitable[None]]) -> None:
        """Make an attempt with the record as it is, and again if somebody changed it meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return await attempt(await self._repository.get(name))
            except _StaleError:
                continue
        raise PluginChangedError(name)


def dependents(records: Records, name: str) -> list[str]:
    """Return the plugins that are active and need another."""
    return sorted(other for other, record in records.items() if record.is_running and name in record.running_needs)


def _check_needs(records: Records, name: str, package: PluginPackage) -> None:
    """Do nothing if the plugins that a package needs are active, and those that need it can do with its version."""
    for needed, wanted in package.dependencies.items():
        record = records.get(needed)
        if record is None or not record.is_running:
            raise DependencyError(f"It needs the plugin {needed} ({wanted}), which is not active.")
        if not fits(record.running_version, wanted):
            raise DependencyError(f"It needs the plugin {needed} {wanted}; active is {record.running_version}.")
    for other in dependents(records, name):
        wanted = records[other].running_needs[name]
        if not fits(package.version, wanted):
            raise DependencyError(f"The plugin {other} needs it as {wanted}; this is {package.version}.")
