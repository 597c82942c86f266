"""The plugins at work on this server: started and stopped until they are those that the records want."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import structlog

from claude_sdk_pattern.plugins.activation import Activator
from claude_sdk_pattern.plugins.configuration import with_defaults
from claude_sdk_pattern.plugins.errors import ActivationError, PluginError
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.package_store import PackageStore
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.records import PluginRecord
from claude_sdk_pattern.plugins.repository import PluginRepository

logger = structlog.get_logger(__name__)

_MAX_MESSAGE_LENGTH = 2_000

# Most of a start is a process of the plugin's that starts; more at once only wait for each other.
_STARTS_AT_ONCE = 4


class RunningPlugins:
    """Holds the set of active plugins and keeps it as the records want it.

    Args:
        activators: put plugins to work; more may be appended before the first plugin is started.
        timeout_seconds: how long each of them may take for one plugin.
    """

    def __init__(
        self,
        repository: PluginRepository,
        store: PackageStore,
        *,
        activators: list[Activator],
        timeout_seconds: float,
        trusted: Collection[str] = (),
    ) -> None:
        self.active = PluginSet()
        """What sessions are given that start now."""
        self._repository = repository
        self._store = store
        self._activators = activators
        self._timeout_seconds = timeout_seconds
        self._trusted = frozenset(trusted)
        self._plugins: dict[str, ActivePlugin] = {}
        self._gave_up: dict[str, tuple[str | None, int]] = {}
        self._applying = asyncio.Lock()
        self._watchers: list[Callable[[PluginSet], None]] = []

    def watch(self, watcher: Callable[[PluginSet], None]) -> None:
        """Have a function called with the new set after each change."""
        self._watchers.append(watcher)

    def made_active(self, record: PluginRecord, package: PluginPackage) -> ActivePlugin:
        """Return what activators are given of a plugin."""
        return ActivePlugin(
            package=package,
            config=with_defaults(package.config_schema, record.config),
            revision=record.generation,
            trusted=package.name in self._trusted,
        )

    async def try_out(self, plugin: ActivePlugin) -> None:
        """Try what activation needs.

        Raises:
            ActivationError: it would not work.
        """
        others = self.active.without([plugin.name])
        for activator in self._activators:
            await self._within_time(activator.check(plugin, others), doing="being tried")

    async def apply(self) -> None:
        """Start and stop plugins until they are those that the records want. What cannot be started is recorded."""
        async with self._applying:
            records = await self._repository.all()
            wanted = {name: record for name, record in records.items() if record.is_running}
            for name in reversed(
                _in_order(self._plugins, {n: p.package.dependencies for n, p in self._plugins.items()})
            ):
                if name not in wanted:
                    await self._stop(name)
            await self._bring_up_all(wanted)
            self._gave_up = {name: key for name, key in self._gave_up.items() if name in wanted}
            self._publish()

    async def stop_all(self) -> None:
        """Stop every plugin; for the end of the server."""
        async with self._applying:
            for name in self._dependents_first():
                await self._stop(name)
            self._publish()

    def _dependents_first(self) -> list[str]:
        needs = {name: plugin.package.dependencies for name, plugin in self._plugins.items()}
        return _in_order(self._plugins, needs)[::-1]

    async def _bring_up_all(self, wanted: Mapping[str, PluginRecord]) -> None:
        """Start a few at once, each after those it needs."""
        starting: dict[str, asyncio.Task[None]] = {}
        turns = asyncio.Semaphore(_STARTS_AT_ONCE)

        async def bring_up(record: PluginRecord, needed: Collection[asyncio.Task[None]]) -> None:
            await asyncio.gather(*needed)
            async with turns:
                await self._bring_up(record)

        async with asyncio.TaskGroup() as group:
            for name in _in_order(wanted, {name: record.running_needs for name, record in wanted.items()}):
                # Of a circle one comes before what it needs, and is told that it is missing.
                needed = [starting[other] for other in wanted[name].running_needs if other in starting]
                starting[name] = group.create_task(bring_up(wanted[name], needed))

    async def _bring_up(self, record: PluginRecord) -> None:
        name, key = record.name, (record.running_digest, record.generation)
        missing = [needed for needed in record.running_needs if needed not in self._plugins]
        if missing:
            # It is tried again with the next change: the plugin that is missing is one.
            await self._stop(name)
            await self._note_failure(record, f"It needs the plugin {missing[0]}, which is not active.")
            return
        at_work = self._plugins.get(name)
        if at_work is not None and (at_work.package.digest, at_work.revision) == key:
            return
        if self._gave_up.get(name) == key:
            return
        try:
            assert record.running_digest is not None  # noqa: S101 - it would not be wanted
            package = await self._store.get(name, record.running_digest)
            plugin = self.made_active(record, package)
            # From here on it may have begun something that has to be stopped.
            self._plugins[name] = plugin
            for activator in self._activators:
                await self._within_time(activator.started(plugin), doing="being started")
        except (PluginError, OSError) as error:
            self._gave_up[name] = key
            await self._stop(name)
            await self._note_failure(record, str(error))
            return
        self._gave_up.pop(name, None)
        logger.info("plugin_started", plugin=name, version=package.version, revision=plugin.revision)
        if record.error is not None:
            await self._repository.change(name, lambda records: records[name].recovered(record.generation))

    async def _stop(self, name: str) -> None:
        plugin = self._plugins.pop(name, None)
        if plugin is None:
            return
        for activator in reversed(self._activators):
            try:
                await self._within_time(activator.stopped(plugin), doing="being stopped")
            except ActivationError as error:
                logger.warning("plugin_stop_failed", plugin=name, error=str(error))
        logger.info("plugin_stopped", plugin=name)

    async def _note_failure(self, record: PluginRecord, error: str) -> None:
        name, error = record.name, error[:_MAX_MESSAGE_LENGTH]
        if record.error == error:
            return
        logger.warning("plugin_failed", plugin=name, error=error)

        def change(records: Mapping[str, PluginRecord]) -> PluginRecord | None:
            fresh = records.get(name)
            return None if fresh is None else fresh.failed(record.generation, error)

        await self._repository.change(name, change)

    async def _within_time(self, work: Awaitable[None], *, doing: str) -> None:
        """Wait for what an activator does; whatever goes wrong there is a failure of the plugin."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await work
        except TimeoutError:
            raise ActivationError(f"It took longer than {self._timeout_seconds:g} seconds {doing}.") from None
        except PluginError:
            raise
        except Exception as error:
            logger.exception("plugin_activator_failed")
            raise ActivationError(f"{type(error).__name__} while {doing}: {error}") from error

    def _publish(self) -> None:
        fresh = PluginSet.of(self._plugins.values())
        if fresh.key == self.active.key:
            return
        self.active = fresh
        for watcher in self._watchers:
            watcher(fresh)


def _in_order(names: Collection[str], needs: Mapping[str, Collection[str]]) -> list[str]:
    """Return names so that each comes after those it needs; a circle is broken anywhere."""
    done: dict[str, None] = {}

    def visit(name: str, above: Sequence[str]) -> None:
        if name in done or name in above or name not in names:
            return
        for needed in sorted(needs.get(name, ())):
            visit(needed, [*above, name])
        done[name] = None

    for name in sorted(names):
        visit(name, [])
    return list(done)
