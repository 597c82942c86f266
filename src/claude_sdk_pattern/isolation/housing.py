"""Housing: all that the server needs to know to start an agent process, and to be reached by it."""

from dataclasses import dataclass
from pathlib import Path

from claude_sdk_pattern.isolation.cgroups import AgentCgroups
from claude_sdk_pattern.isolation.doorways import Doorways
from claude_sdk_pattern.isolation.kinds import Isolation
from claude_sdk_pattern.isolation.launcher import (
    CGROUP_VARIABLE,
    DOORWAY_VARIABLE,
    EGRESS_PORT,
    PROCESS_VARIABLE,
    READ_ONLY_VARIABLE,
    SEARCH_PATH,
    WORKSPACE_VARIABLE,
    WRITABLE_VARIABLE,
)
from claude_sdk_pattern.isolation.probe import CommandSandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Housing:
    """How agents of this server are housed.

    ``gateway_url`` is the model gateway as an agent reaches it. ``doorways`` is None where agents share the host's
    network. ``owner`` is the user its files have to belong to, None if they do already. ``programs`` is a folder whose
    programs agents find before the system's.
    """

    isolation: Isolation
    launcher: Path
    gateway_url: str
    doorways: Doorways | None = None
    has_egress: bool = False
    owner: int | None = None
    command_sandbox: CommandSandbox = CommandSandbox.OFF
    cgroups: AgentCgroups | None = None
    programs: Path | None = None

    @property
    def details(self) -> dict[str, str]:
        """How agents are housed, in words that anybody may know."""
        return {
            "isolation": self.isolation.value,
            "command_sandbox": self.command_sandbox.value,
            "memory_limit_by": "watchdog" if self.cgroups is None else "control groups",
        }

    def environment(
        self, process_id: str, *, workspace: Path, read_only: tuple[Path, ...] = (), writable: tuple[Path, ...] = ()
    ) -> dict[str, str]:
        """Return what the launcher and the agent have to be told of the housing of one process.

        Args:
            process_id: our id of the process.
            workspace: the folder it works in.
            read_only: what else it may see of the host's files.
            writable: what else it may change of them.

        Raises:
            ValueError: a path that cannot be passed on.
        """
        if any(":" in str(path) or not path.is_absolute() for path in (*read_only, *writable)):
            raise ValueError("what an agent may see is named by absolute paths without a colon")
        environment = {"PATH": SEARCH_PATH}
        if self.programs is not None:
            read_only = (self.programs, *read_only)
            environment["PATH"] = f"{self.programs}:{SEARCH_PATH}"
        environment |= {
            WORKSPACE_VARIABLE: str(workspace),
            READ_ONLY_VARIABLE: ":".join(map(str, read_only)),
            WRITABLE_VARIABLE: ":".join(map(str, writable)),
        }
        if self.doorways is not None:
            environment |= {DOORWAY_VARIABLE: str(self.doorways.folder), PROCESS_VARIABLE: process_id}
        if self.cgroups is not None:
            environment[CGROUP_VARIABLE] = str(self.cgroups.folder / process_id)
        if self.has_egress:
            environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _PROXY_URL)
            environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
        return environment

    async def doors_open(self, process_id: str) -> None:
        """Wait until a process that has started can reach the server.

        Raises:
            OSError: it cannot.
        """
        if self.doorways is not None:
            await self.doorways.opened(process_id)

    def expect(self, process_id: str) -> None:
        """Prepare for a process that is about to start.

        Raises:
            OSError: its control group cannot be made.
        """
        if self.cgroups is not None:
            self.cgroups.create(process_id)
        if self.doorways is not None:
            self.doorways.expect(process_id)

    def leave(self, process_id: str) -> None:
        """Clear away after a process that has ended."""
        if self.cgroups is not None:
            self.cgroups.remove(process_id)
        if self.doorways is not None:
            self.doorways.close(process_id)


_PROXY_URL = f"http://127.0.0.1:{EGRESS_PORT}"
