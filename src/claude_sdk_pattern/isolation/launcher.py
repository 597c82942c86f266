"""The launcher: a small script that stands between the SDK and the Claude Code CLI.

The SDK starts ``cli_path`` with the server's whole environment and no walls. Pointing ``cli_path`` at this script
changes both: the CLI starts with an environment built from :data:`AGENT_ENVIRONMENT` and from what one process is given
besides (:data:`PASSED_VARIABLE`), within limits, and it dies with the server instead of finishing its turn unattended.
With bubblewrap it also gets namespaces of its own: it sees a read-only system, its workspace and a home in memory, and
no network but the doors the server opens for it.

Nothing secret may be in either: the agent's shell can read all of it.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from claude_sdk_pattern.isolation import enter
from claude_sdk_pattern.isolation.kinds import AgentLimits, Isolation
from claude_sdk_pattern.isolation.sandbox import sandbox_arguments, write_etc

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where an agent finds programs."""

# Everything an agent process inherits. A name that is not here does not reach it, however it was set.
AGENT_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "TERM",
    "TMPDIR",
    "PWD",
    "TZ",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_DISABLE_CRON",
    "CLAUDE_CODE_DISABLE_WORKFLOWS",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "API_TIMEOUT_MS",
    "MCP_TOOL_TIMEOUT",
    "ENABLE_TOOL_SEARCH",
    "DISABLE_AUTOUPDATER",
)

# What it inherits besides where it has a proxy of ours. Otherwise these would be the server's own, which are no
# business of an agent and may hold a password.
PROXY_ENVIRONMENT = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")

# The variable with the token of an agent process. Everything the agent starts inherits it, unless it takes pains.
TOKEN_VARIABLE = "ANTHROPIC_API_KEY"  # noqa: S105 - its name

# What the launcher is told of each process; it consumes these.
WORKSPACE_VARIABLE = "CLAUDE_SDK_PATTERN_WORKSPACE"
READ_ONLY_VARIABLE = "CLAUDE_SDK_PATTERN_READ_ONLY"
WRITABLE_VARIABLE = "CLAUDE_SDK_PATTERN_WRITABLE"
DOORWAY_VARIABLE = "CLAUDE_SDK_PATTERN_DOORWAY"
PROCESS_VARIABLE = "CLAUDE_SDK_PATTERN_PROCESS"
PASSED_VARIABLE = "CLAUDE_SDK_PATTERN_PASSED"
CGROUP_VARIABLE = "CLAUDE_SDK_PATTERN_CGROUP"

# How lines of standard error begin in which somebody says that the walls could not be put up, before the agent's own
# program begins.
COMPLAINTS = (enter.COMPLAINT, "bwrap: ", "setpriv: ")

# Ports inside an agent's own network namespace, where nothing else listens before the agent starts something.
GATEWAY_PORT = 61001
EGRESS_PORT = 61002


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """How every agent of a server is walled in.

    ``uid`` is who agents are when the server is root; otherwise they are whoever it is. ``ports`` are the doors that
    each gets in its network namespace. ``may_nest`` is whether an agent may make user namespaces of its own, as Claude
    Code's sandbox around commands does; without them there is much less of the kernel to attack.
    """

    isolation: Isolation
    limits: AgentLimits
    uid: int
    ports: Sequence[int] = (GATEWAY_PORT,)
    may_nest: bool = True

    @property
    def owner(self) -> int | None:
        """The user that an agent's files have to belong to, None if they do already."""
        return self.uid if self.isolation is Isolation.BUBBLEWRAP and os.geteuid() == 0 else None


def write_launcher(path: Path, walls: Walls, *, cli: Path) -> Path:
    """Write the launcher script for ``cli`` to ``path`` and return it, executable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    has_proxy = walls.isolation is Isolation.BUBBLEWRAP and EGRESS_PORT in walls.ports
    names = AGENT_ENVIRONMENT + (PROXY_ENVIRONMENT if has_proxy else ())
    command = [*walled_command(walls, names, folder=path.parent, program=cli), str(cli)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o700)
    return path


def walled_command(walls: Walls, names: Sequence[str], *, folder: Path, program: Path | None = None) -> list[str]:
    """Return the beginning of a command line that starts what follows it behind walls.

    Args:
        walls: what those are.
        names: the variables that are passed on.
        folder: where files are made that take the place of the host's.
        program: an executable that is needed inside, outside of what every process sees of the system.
    """
    limits = walls.limits
    rlimits = {"NOFILE": limits.open_files, "FSIZE": limits.file_bytes, "CPU": limits.cpu_seconds, "CORE": 0}
    if limits.data_bytes is not None:
        rlimits["DATA"] = limits.data_bytes
    words: list[str] = []
    if walls.isolation is Isolation.PROCESS:
        words.append("namespaces=no")
        # Without a namespace the kernel can at least end the program with its parent, though not what it has started.
        command = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"]
    else:
        rlimits["NPROC"] = limits.processes
        words += [
            "namespaces=yes",
            f"uid={walls.uid}",
            f"home={limits.home_bytes or 0}",
            f"nest={'yes' if walls.may_nest else 'no'}",
            *(f"door={port}" for port in walls.ports),
        ]
        uid, gid = (walls.uid, walls.uid) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        etc = write_etc(folder / "etc", uid, gid)
        command = [shutil.which("bwrap") or "/usr/bin/bwrap", *sandbox_arguments(limits, etc=etc, cli=program)]
    words += [f"limit={name}:{value}" for name, value in rlimits.items()]
    words += [f"pass={name}" for name in names]
    # -I and -S: nothing of the server's surroundings changes what runs here, and it starts in half the time.
    python = [sys.executable, "-I", "-S", enter.__file__]
    return [*python, *words, "--", *command, "--"]
