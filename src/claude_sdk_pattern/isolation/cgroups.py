"""Control groups: the kernel's own bounds on what an agent and all it starts use together.

Only where the server may make them: in version 2 of the interface, with the controllers for memory and processes handed
down to the server's own group. systemd does that for a service with ``Delegate=yes``; in a container the file system of
control groups has to be writable.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog

logger = structlog.get_logger(__name__)

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")

_NEEDED = frozenset({"memory", "pids"})
_WANTED = (*sorted(_NEEDED), "cpu")

# What not every kernel has, or whose controller need not be handed down.
_WHERE_POSSIBLE = {
    "memory.swap.max": "0",
    # All of an agent or nothing: with a part of it gone the rest is of no use to anybody.
    "memory.oom.group": "1",
    # Half of what everybody has: when there is not enough for all, the server goes first.
    "cpu.weight": "50",
}

# A group cannot be above processes and have some itself, so the server's own move down.
_SERVER, _AGENTS = "csp-server", "csp-agents"


class CgroupsUnavailableError(Exception):
    """The server may make no control groups here; the message says why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCgroups:
    """Makes a control group for each agent, and removes it.

    ``folder`` is where they are. ``memory_bytes`` and ``processes`` are what one agent may use, files in memory and
    threads included; what is over ends all of it.
    """

    folder: Path
    memory_bytes: int
    processes: int

    @classmethod
    def prepare(cls, *, memory_bytes: int, processes: int, root: Path = _ROOT, own: Path = _OWN) -> Self:
        """Take possession of the server's own control group.

        Raises:
            CgroupsUnavailableError: there is none that could be had.
        """
        try:
            path = next((line[3:] for line in own.read_text().splitlines() if line.startswith("0::")), None)
            if path is None or not (root / "cgroup.controllers").is_file():
                raise CgroupsUnavailableError("the machine does not use version 2 of control groups")
            group = root / path.removeprefix("/").removesuffix(f"/{_SERVER}")
            controllers = set((group / "cgroup.controllers").read_text().split())
            if not controllers >= _NEEDED:
                raise CgroupsUnavailableError("memory and processes are not delegated to the server's control group")
            server, agents = group / _SERVER, group / _AGENTS
            for made in (server, agents):
                made.mkdir(exist_ok=True)
            for pid in (group / "cgroup.procs").read_text().split():
                (server / "cgroup.procs").write_text(pid)
            enabled = " ".join(f"+{name}" for name in _WANTED if name in controllers)
            for parent in (group, agents):
                (parent / "cgroup.subtree_control").write_text(enabled)
        except OSError as error:
            raise CgroupsUnavailableError(f"the server's control group cannot be changed: {error}") from error
        return cls(folder=agents, memory_bytes=memory_bytes, processes=processes)

    def create(self, process_id: str) -> Path:
        """Make the group of a process that is about to start, and return it.

        Raises:
            OSError: it cannot be made.
        """
        group = self.folder / process_id
        group.mkdir()
        (group / "memory.max").write_text(str(self.memory_bytes))
        (group / "pids.max").write_text(str(self.processes))
        for name, value in _WHERE_POSSIBLE.items():
            with contextlib.suppress(OSError):
                (group / name).write_text(value)
        return group

    def remove(self, process_id: str) -> None:
        """End what is left in a group, and remove it; one that was not made is fine."""
        group = self.folder / process_id
        try:
            if "oom_kill 0" not in (events := (group / "memory.events").read_text()) and "oom_kill " in events:
                logger.warning("agent_out_of_memory", process_id=process_id)
            (group / "cgroup.kill").write_text("1")
            os.rmdir(group)
        except FileNotFoundError:
            return
        except OSError as error:
            # The kernel may need a moment to end the last process; the next start of the server finds the group empty.
            logger.debug("agent_cgroup_stays", process_id=process_id, error=str(error))
