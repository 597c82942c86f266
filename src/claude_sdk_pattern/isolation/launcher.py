"""The launcher: a small shell script that stands between the SDK and the Claude Code CLI.

The SDK starts ``cli_path`` with the server's whole environment and no walls. Pointing ``cli_path`` at this script
changes both: the CLI starts with an environment built from :data:`AGENT_ENVIRONMENT` alone, and it dies with the
server instead of finishing its turn unattended. With bubblewrap it also gets mount, pid, ipc and uts namespaces of
its own, in which the only writable places are its workspace, its configuration folder and a private ``/tmp``.

Nothing secret may be in :data:`AGENT_ENVIRONMENT`: the agent's shell can read all of it.
"""

import asyncio
import enum
import shlex
import shutil
from pathlib import Path

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
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "API_TIMEOUT_MS",
    "MCP_TOOL_TIMEOUT",
    "DISABLE_AUTOUPDATER",
)

# The variable with the token of an agent process. Everything the agent starts inherits it, unless it takes pains.
TOKEN_VARIABLE = "ANTHROPIC_API_KEY"  # noqa: S105 - its name

# The variable that tells the script which folder to mount; the script consumes it.
WORKSPACE_VARIABLE = "CLAUDE_SDK_PATTERN_WORKSPACE"

# From the host's /etc an agent needs name resolution, certificates and the dynamic linker's cache, never its
# password hashes, service configuration or keys.
_ETC = (
    "alternatives",
    "ca-certificates.conf",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
)

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

# A namespace takes milliseconds to set up; one that has not answered by then will not.
_PROBE_TIMEOUT_SECONDS = 10.0


class Isolation(enum.StrEnum):
    """How far an agent process is kept apart from the rest of the machine."""

    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


class IsolationUnavailableError(Exception):
    """The isolation that was asked for cannot be had on this machine; the message says what to install or change."""


async def resolve_isolation(requested: Isolation | None) -> Isolation:
    """Return the isolation to use, having seen it work.

    ``requested`` of None means bubblewrap where it works, else plain processes.

    Raises:
        IsolationUnavailableError: the requested isolation does not work here. There is no silent fallback.
    """
    if requested is Isolation.PROCESS:
        return Isolation.PROCESS
    problem = await _bubblewrap_problem()
    if problem is None:
        return Isolation.BUBBLEWRAP
    if requested is Isolation.BUBBLEWRAP:
        raise IsolationUnavailableError(problem)
    return Isolation.PROCESS


async def _bubblewrap_problem() -> str | None:
    """Return why bubblewrap cannot be used, or None if it can."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed; install the package `bubblewrap`"
    arguments = [bwrap, *_namespace_arguments(), "--", "/usr/bin/true"]
    probe = await asyncio.create_subprocess_exec(
        *arguments,
        env={},
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
        return "bubblewrap did not start within 10 seconds"
    if probe.returncode == 0:
        return None
    return (
        "bubblewrap is installed but cannot make namespaces here "
        f"({stderr.decode(errors='replace').strip()[:300]}); allow unprivileged user namespaces or, in a container, "
        "the capabilities it needs"
    )


def write_launcher(path: Path, *, isolation: Isolation, cli: Path) -> Path:
    """Write the launcher script for ``cli`` to ``path`` and return it, executable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(isolation, cli))
    path.chmod(0o700)
    return path


def _script(isolation: Isolation, cli: Path) -> str:
    # `setsid`: a Ctrl-C at the server's terminal is for the server, which then ends its agents in good order.
    # `nice`: a busy agent must not keep the server, through which all others speak, from its turn on the processor.
    # `${NAME+NAME="$NAME"}` passes a variable on if it is set and leaves it out if it is not. `env -i` comes
    # before bubblewrap and not inside it: bubblewrap stays alive as pid 1 of the namespace and would otherwise
    # offer the server's environment as /proc/1/environ.
    inherited = " ".join(f'${{{name}+{name}="${name}"}}' for name in AGENT_ENVIRONMENT)
    if isolation is Isolation.PROCESS:
        # Without a namespace the kernel can at least end the CLI with its parent, though not the CLI's own shells.
        command = f'/usr/bin/setpriv --pdeathsig KILL -- {shlex.quote(str(cli))} "$@"'
    else:
        bwrap = shutil.which("bwrap") or "bwrap"
        mounts = " ".join(map(shlex.quote, [*_namespace_arguments(), "--ro-bind", str(cli), str(cli)]))
        command = (
            f"{shlex.quote(bwrap)} {mounts} "
            f'--bind "${WORKSPACE_VARIABLE}" "${WORKSPACE_VARIABLE}" '
            f'--bind "$CLAUDE_CONFIG_DIR" "$CLAUDE_CONFIG_DIR" '
            f'--chdir "${WORKSPACE_VARIABLE}" -- {shlex.quote(str(cli))} "$@"'
        )
    return f"#!/bin/sh\nset -eu\nexec /usr/bin/setsid /usr/bin/nice -n 5 /usr/bin/env -i {inherited} \\\n  {command}\n"


def _namespace_arguments() -> list[str]:
    """Return bubblewrap's arguments for the namespaces and the read-only system, without anything per session."""
    arguments = [
        "--die-with-parent",
        "--new-session",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",  # noqa: S108 - the agent's own, empty and private
        "--tmpfs",
        "/run",
    ]
    for entry in _SYSTEM:
        path = Path(entry)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), entry]
        elif path.exists():
            arguments += ["--ro-bind", entry, entry]
    for name in _ETC:
        # `-try` because distributions differ in what they have.
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments
