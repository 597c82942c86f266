"""The warm pool: agent processes that are connected and primed before anybody needs them."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import structlog

from claude_sdk_pattern.sessions.errors import AgentStartError
from claude_sdk_pattern.sessions.options import AgentProfile

logger = structlog.get_logger(__name__)

# After a failed start: long enough not to burn a core on a machine where no process can start, and longer each time.
_FIRST_RETRY_SECONDS = 5.0
_LAST_RETRY_SECONDS = 60.0


class Poolable(Protocol):
    """An agent process, as far as the pool is concerned."""

    @property
    def is_alive(self) -> bool:
        """Whether it can still be used."""
        ...

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Call back once it has ended, for whatever reason."""
        ...


class PoolSupply[Process: Poolable](Protocol):
    """Where the pool's processes come from and go to."""

    async def start_warm(self, profile: AgentProfile) -> Process:
        """Return a process that is connected, primed, and nobody's.

        Raises:
            AgentStartError: it did not start.
        """
        ...

    async def discard(self, process: Process) -> None:
        """End a process that served no session, with all that belongs to it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """How much is kept warm, and for how long. Durations in seconds.

    Attributes:
        size: processes of the default profile; also the most that are kept for other profiles together.
        max_age_seconds: after which an unused process is replaced.
        key_seconds: how long a profile other than the default is kept ready after its last use.
        pause_seconds: how long the next start waits after a process was taken, so that whoever took it has the
            processor for its first answer.
    """

    size: int
    max_age_seconds: float
    key_seconds: float
    pause_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class _Pooled[Process]:
    process: Process
    ready_since: float


class WarmPool[Process: Poolable]:
    """Keeps processes ready, by profile, and starts another for each one taken.

    The default profile has :attr:`PoolLimits.size` of them. Any other has one for a while after a session of it was
    started, the most recent ones first. One process is started at a time: several at once take longer each than one
    after the other, and compete with the sessions that are answering.
    """

    def __init__(self, supply: PoolSupply[Process], limits: PoolLimits) -> None:
        self._supply = supply
        self._limits = limits
        self._default = AgentProfile()
        self._ready: dict[AgentProfile, deque[_Pooled[Process]]] = {}
        self._last_used: dict[AgentProfile, float] = {}
        self._losing: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._is_taken_from = False
        self._filled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep_filled(), name="warm-pool")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        pooled = [item for queue in self._ready.values() for item in queue]
        self._ready.clear()
        await asyncio.gather(*(self._supply.discard(item.process) for item in pooled), *self._losing)

    @property
    def size(self) -> int:
        """How many processes are ready now, over all profiles."""
        return sum(len(queue) for queue in self._ready.values())

    @property
    def is_filled(self) -> bool:
        """Whether the pool has been full once since the start; what the startup probe waits for."""
        return self._filled.is_set()

    async def wait_filled(self) -> None:
        """Wait until the pool has been full once."""
        await self._filled.wait()

    def adopt(self, profile: AgentProfile) -> Process | None:
        """Return a process that fits, or None. It is the caller's from now on."""
        self._last_used[profile] = self._now()
        self._is_taken_from = True
        self._changed.set()
        queue = self._ready.get(profile, deque())
        while queue:
            process = queue.popleft().process
            if process.is_alive:
                return process
            self._lose(process)
        return None

    def set_default(self, profile: AgentProfile) -> None:
        """Keep another profile ready from now on; processes of the old one go when they are not wanted any more."""
        self._default = profile
        self._changed.set()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _wanted(self) -> dict[AgentProfile, int]:
        """Return how many processes of each profile should be ready, the default first."""
        since = self._now() - self._limits.key_seconds
        self._last_used = {p: used for p, used in self._last_used.items() if p != self._default and used > since}
        recent = sorted(self._last_used, key=self._last_used.__getitem__, reverse=True)
        return {self._default: self._limits.size} | dict.fromkeys(recent[: self._limits.size], 1)

    async def _keep_filled(self) -> None:
        retry_seconds = _FIRST_RETRY_SECONDS
        while True:
            self._changed.clear()
            wanted = self._wanted()
            await self._discard_unwanted(wanted)
            missing = next((p for p, count in wanted.items() if len(self._ready.get(p, ())) < count), None)
            if missing is None:
                self._filled.set()
                await self._wait_for_change()
                continue
            if self._is_taken_from:
                # Once for each start, however many are taken meanwhile.
                await asyncio.sleep(self._limits.pause_seconds)
                self._is_taken_from = False
                continue
            try:
                process = await self._supply.start_warm(missing)
            except AgentStartError as error:
                logger.error("pooled_process_failed", error=str(error), retry_seconds=retry_seconds)
                await asyncio.sleep(retry_seconds)
                retry_seconds = min(2 * retry_seconds, _LAST_RETRY_SECONDS)
            else:
                retry_seconds = _FIRST_RETRY_SECONDS
                self._ready.setdefault(missing, deque()).append(_Pooled(process, self._now()))
                # One that dies unused is replaced now and not when somebody needs it.
                process.when_ended(self._changed.set)

    async def _discard_unwanted(self, wanted: dict[AgentProfile, int]) -> None:
        """Take out what is dead, too old, or more than is wanted."""
        oldest = self._now() - self._limits.max_age_seconds
        for profile, queue in list(self._ready.items()):
            kept = [item for item in queue if item.process.is_alive and item.ready_since > oldest]
            kept = kept[-wanted[profile] :] if wanted.get(profile) else []
            dropped = [item.process for item in queue if item not in kept]
            self._ready[profile] = deque(kept)
            if not kept:
                del self._ready[profile]
            for process in dropped:
                if not process.is_alive:
                    logger.warning("pooled_process_died")
                await self._supply.discard(process)

    def _lose(self, process: Process) -> None:
        """Clean up behind a process that died in the pool and was found dead by whoever wanted it."""
        logger.warning("pooled_process_died")
        task = asyncio.create_task(self._supply.discard(process))
        self._losing.add(task)
        task.add_done_callback(self._losing.discard)

    async def _wait_for_change(self) -> None:
        """Wait until something is taken, dies or grows too old."""
        born = [item.ready_since + self._limits.max_age_seconds for queue in self._ready.values() for item in queue]
        unused = [used + self._limits.key_seconds for p, used in self._last_used.items() if p in self._ready]
        seconds = min([*born, *unused], default=self._now() + self._limits.max_age_seconds) - self._now()
        try:
            async with asyncio.timeout(max(seconds, 0.01)):
                await self._changed.wait()
        except TimeoutError:
            pass
