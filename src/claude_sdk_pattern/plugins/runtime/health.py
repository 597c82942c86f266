"""What is wrong with plugins, from where it is noticed to where it is kept: the latest word about each."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog

logger = structlog.get_logger(__name__)


class PluginHealth:
    """Takes words about plugins at any time, and passes them on one after the other."""

    def __init__(self) -> None:
        self._latest: dict[str, str | None] = {}
        self._told: dict[str, str | None] = {}
        self._is_news = asyncio.Event()

    def note(self, plugin: str, problem: str | None) -> None:
        """Note what is wrong with a plugin; None when nothing is any more."""
        self._latest[plugin] = problem
        self._is_news.set()

    @contextlib.asynccontextmanager
    async def told_to(self, keep: Callable[[str, str | None], Awaitable[None]]) -> AsyncGenerator[None]:
        """Pass on what is noted, until the end."""
        task = asyncio.create_task(self._tell(keep), name="plugin-health")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tell(self, keep: Callable[[str, str | None], Awaitable[None]]) -> None:
        while True:
            await self._is_news.wait()
            self._is_news.clear()
            latest, self._latest = self._latest, {}
            for plugin, problem in latest.items():
                if self._told.get(plugin) == problem:
                    continue
                try:
                    await keep(plugin, problem)
                except Exception:
                    # The database, mostly. The next word about the plugin is tried again.
                    logger.exception("plugin_health_not_kept", plugin=plugin)
                else:
                    self._told[plugin] = problem
