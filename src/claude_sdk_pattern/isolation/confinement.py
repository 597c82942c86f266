"""Confinement: walls around a process that is no agent, such as one that a plugin runs.

The walls are those of agents (:mod:`claude_sdk_pattern.isolation.launcher`), with another view: a system to read, one
folder to write to, what is named besides, and of the network nothing but the hosts that are named.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from claude_sdk_pattern.isolation.doorways import Doorways
from claude_sdk_pattern.isolation.egress import EgressProxy, Outcome
from claude_sdk_pattern.isolation.hosts import EgressPolicy
from claude_sdk_pattern.isolation.kinds import AgentLimits, Isolation
from claude_sdk_pattern.isolation.launcher import (
    DOORWAY_VARIABLE,
    EGRESS_PORT,
    PROCESS_VARIABLE,
    PROXY_ENVIRONMENT,
    READ_ONLY_VARIABLE,
    WORKSPACE_VARIABLE,
    WRITABLE_VARIABLE,
    Walls,
    walled_command,
)
from claude_sdk_pattern.isolation.process_tree import kill_tree

_NO_HOSTS = EgressPolicy()

_PROXY_URL = f"http://127.0.0.1:{EGRESS_PORT}"
_NOT_THROUGH_PROXY = "localhost,127.0.0.1,::1"

# After SIGKILL only the kernel has to act.
_KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """A command to run behind walls.

    Attributes:
        command: the program, by its whole path or found in /usr, and its arguments.
        environment: all that it gets to see.
        folder: its own, which it may write to, and begins in.
        writable: files and folders of the host that it may write to as well.
        read_only: files and folders of the host that it sees besides the system.
        egress: the hosts that it may reach.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: Path
    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    limits: AgentLimits
    egress: EgressPolicy = _NO_HOSTS


class Confinement:
    """Starts such processes.

    Args:
        folder: for what this needs on disk itself; only the server's user may get there.
        isolation: the kind of walls.
        uid: who the processes are when the server is root.
        on_egress: called with the outcome of each request to the outside, to be counted.
    """

    def __init__(
        self, folder: Path, *, isolation: Isolation, uid: int, on_egress: Callable[[Outcome], None] = lambda _: None
    ) -> None:
        self._folder = folder.absolute()
        self._isolation = isolation
        self._uid = uid
        self._on_egress = on_egress
        self._doorways = Doorways(self._folder / "doors", [])

    @property
    def isolation(self) -> Isolation:
        """The kind of walls."""
        return self._isolation

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Be ready for processes, until the end."""
        async with self._doorways.running():
            yield

    @contextlib.asynccontextmanager
    async def start(self, confined: Confined) -> AsyncGenerator[asyncio.subprocess.Process]:
        """Run a process with pipes to all three of its streams; at the end it is killed with all it has started.

        Raises:
            OSError: it cannot be started.
            ValueError: a path or a variable that cannot be passed on.
        """
        if any(":" in str(path) or not path.is_absolute() for path in (*confined.read_only, *confined.writable)):
            raise ValueError("what a process may see is named by absolute paths without a colon")
        has_walls = self._isolation is Isolation.BUBBLEWRAP
        has_egress = has_walls and bool(confined.egress.hosts)
        walls = Walls(
            isolation=self._isolation,
            limits=confined.limits,
            uid=self._uid,
            ports=(EGRESS_PORT,) if has_egress else (),
            may_nest=False,
        )
        environment = dict(confined.environment)
        if has_egress:
            environment |= dict.fromkeys(PROXY_ENVIRONMENT, _PROXY_URL)
            environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), _NOT_THROUGH_PROXY)
        process_id = str(uuid4())
        told = {
            WORKSPACE_VARIABLE: str(confined.folder),
            READ_ONLY_VARIABLE: ":".join(map(str, confined.read_only)),
            WRITABLE_VARIABLE: ":".join(map(str, confined.writable)),
            DOORWAY_VARIABLE: str(self._doorways.folder),
            PROCESS_VARIABLE: process_id,
        }
        if walls.owner is not None:
            os.chown(confined.folder, walls.owner, walls.owner)
        if has_egress:
            proxy = EgressProxy(confined.egress, on_request=self._on_egress)
            self._doorways.expect(process_id, [proxy.listen])
        try:
            process = await asyncio.create_subprocess_exec(
                *walled_command(walls, tuple(environment), folder=self._folder),
                *confined.command,
                env=environment | told,
                cwd=confined.folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            try:
                yield process
            finally:
                await _end(process)
        finally:
            self._doorways.close(process_id)


async def _end(process: asyncio.subprocess.Process) -> None:
    kill_tree(process.pid)
    # Not `process.wait()` alone: it also waits for the pipes, which whatever escaped may hold.
    with contextlib.suppress(TimeoutError):
        await asyncio.shield(asyncio.wait_for(process.wait(), _KILL_SECONDS))
    transport = getattr(process, "_transport", None)
    if transport is not None:
        # asyncio leaves the pipes to the garbage collector, which warns of them.
        transport.close()
