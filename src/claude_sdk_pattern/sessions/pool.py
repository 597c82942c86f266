"""The warm pool: agent processes that are connected and primed before anybody needs them."""

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

import structlog

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.sessions.agent_process import AgentProcess
from claude_sdk_pattern.sessions.errors import AgentStartError
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.process_factory import ProcessFactory

logger = structlog.get_logger(__name__)

# After a failed start: long enough not to burn a core on a machine where no process can start.
_RETRY_SECONDS = 5.0


class WarmPool:
    """Keeps a number of processes of the default profile ready, and starts another for each one taken.

    One process is started at a time: several at once take longer each than one after the other, and compete with
    the sessions that are answering.
    """

    def __init__(self, factory: ProcessFactory, settings: Settings) -> None:
        self._factory = factory
        self._settings = settings
        self._profile = AgentProfile()
        self._ready: deque[AgentProcess] = deque()
        self._wanted = asyncio.Event()
        self._filled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._replenish(), name="warm-pool")
        self._wanted.set()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        processes = [self._ready.popleft() for _ in range(len(self._ready))]
        await asyncio.gather(*(self._factory.discard(process) for process in processes))

    @property
    def size(self) -> int:
        """How many processes are ready now."""
        return len(self._ready)

    @property
    def is_filled(self) -> bool:
        """Whether the pool has been full once since the start; what the startup probe waits for."""
        return self._filled.is_set()

    async def wait_filled(self) -> None:
        """Wait until the pool has been full once."""
        await self._filled.wait()

    def adopt(self, profile: AgentProfile) -> AgentProcess | None:
        """Take a ready process that fits, or None. It is the caller's from now on."""
        if profile != self._profile:
            return None
        while self._ready:
            process = self._ready.popleft()
            self._wanted.set()
            if process.is_alive:
                return process
            logger.warning("pooled_process_died", process_id=process.process_id)
        return None

    async def _replenish(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while len(self._ready) < self._settings.prewarm_pool_size:
                try:
                    process = await self._factory.start_fresh(
                        self._profile,
                        model=self._settings.default_model,
                        permission_mode="acceptEdits",
                        primed=True,
                    )
                except AgentStartError as error:
                    logger.error("pooled_process_failed", error=str(error))
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                self._ready.append(process)
            self._filled.set()
