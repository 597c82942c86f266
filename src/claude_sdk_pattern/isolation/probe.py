"""Finding out what isolation works on this machine, by doing it."""

import asyncio
import enum
import os
import shutil
import socket
import tempfile
from pathlib import Path

from claude_sdk_pattern.isolation.doorways import Doorways
from claude_sdk_pattern.isolation.kinds import AgentLimits, Isolation, IsolationUnavailableError
from claude_sdk_pattern.isolation.launcher import (
    DOORWAY_VARIABLE,
    PROCESS_VARIABLE,
    SEARCH_PATH,
    WORKSPACE_VARIABLE,
    Walls,
    write_launcher,
)

# A namespace takes milliseconds to set up; one that has not answered by then will not.
_PROBE_TIMEOUT_SECONDS = 10.0

# What Claude Code needs for its own sandbox around each command, and the packages these are in.
_SANDBOX_TOOLS = {"bwrap": "bubblewrap", "socat": "socat"}

_NESTED = ("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev")


class CommandSandbox(enum.StrEnum):
    """How Claude Code's own sandbox around each shell command is used.

    ``WEAKER`` is without a view of processes of its own: a command sees those of its agent, and cannot harm them.
    """

    OFF = "off"
    WEAKER = "weaker"
    FULL = "full"


async def resolve_isolation(requested: Isolation | None, *, limits: AgentLimits, uid: int) -> Isolation:
    """Return the isolation to use, having seen it work.

    ``requested`` of None means bubblewrap where it works, else plain processes; whoever asks has to say so loudly.

    Raises:
        IsolationUnavailableError: the requested isolation does not work here. There is no silent fallback.
    """
    if requested is Isolation.PROCESS:
        return Isolation.PROCESS
    problem = await bubblewrap_problem(Walls(isolation=Isolation.BUBBLEWRAP, limits=limits, uid=uid))
    if problem is None:
        return Isolation.BUBBLEWRAP
    if requested is Isolation.BUBBLEWRAP:
        raise IsolationUnavailableError(problem)
    return Isolation.PROCESS


async def bubblewrap_problem(walls: Walls) -> str | None:
    """Return why agents cannot be walled in with bubblewrap here, or None if they can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed; install the package `bubblewrap`"
    complaint = await _run_inside(walls, "true")
    if complaint is None:
        return None
    return (
        f"bubblewrap is installed but cannot wall agents in here ({complaint}); allow unprivileged user namespaces, or "
        "in a container what docs/isolation.md lists"
    )


async def resolve_command_sandbox(requested: bool | None, walls: Walls) -> CommandSandbox:
    """Return how Claude Code's own sandbox can be used, having seen it work.

    ``requested`` of None means wherever it works inside the walls.

    Raises:
        IsolationUnavailableError: it was asked for and does not work here.
    """
    if requested is False:
        return CommandSandbox.OFF
    missing = [package for tool, package in _SANDBOX_TOOLS.items() if shutil.which(tool) is None]
    problem = f"install {' and '.join(missing)}" if missing else None
    if problem is None and walls.isolation is Isolation.PROCESS:
        # Nothing around it here that could be in its way; Claude Code makes it as on a developer's machine.
        return CommandSandbox.OFF if requested is None else CommandSandbox.FULL
    if problem is None:
        if await _run_inside(walls, *_NESTED, "--proc", "/proc", "true") is None:
            return CommandSandbox.FULL
        problem = await _run_inside(walls, *_NESTED, "true")
        if problem is None:
            return CommandSandbox.WEAKER
    if requested:
        raise IsolationUnavailableError(f"the sandbox around commands cannot be had: {problem}")
    return CommandSandbox.OFF


async def _run_inside(walls: Walls, *command: str) -> str | None:
    """Run a command behind the walls; return what was said if it failed."""
    with tempfile.TemporaryDirectory(prefix="csp-probe-") as name:
        folder = Path(name)
        workspace, config = folder / "workspace", folder / "config"
        for made in (workspace, config):
            made.mkdir()
            if walls.owner is not None:
                os.chown(made, walls.owner, walls.owner)
        # Something has to take the doors in; closing them is all it does.
        doorways = Doorways(folder / "doors", [_closed for _ in walls.ports])
        launcher = write_launcher(folder / "agent", walls, cli=Path("/usr/bin/env"))
        environment = {
            "PATH": SEARCH_PATH,
            "HOME": str(config),
            "CLAUDE_CONFIG_DIR": str(config),
            WORKSPACE_VARIABLE: str(workspace),
            DOORWAY_VARIABLE: str(doorways.folder),
            PROCESS_VARIABLE: "probe",
        }
        async with doorways.running():
            doorways.expect("probe")
            return await _complaint_of(str(launcher), *command, environment=environment)


async def _complaint_of(*command: str, environment: dict[str, str]) -> str | None:
    probe = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
            _, stderr = await probe.communicate()
    except TimeoutError:
        probe.kill()
        await probe.wait()
        return "it did not start within 10 seconds"
    if probe.returncode == 0:
        return None
    return stderr.decode(errors="replace").strip()[:300] or f"exit code {probe.returncode}"


async def _closed(listener: socket.socket) -> asyncio.AbstractServer:
    return await asyncio.start_server(lambda _, writer: writer.close(), sock=listener)
