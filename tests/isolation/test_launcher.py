"""The launcher script, run for real in both kinds of isolation, with a small program in the CLI's place."""

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import psutil
import pytest

from claude_sdk_pattern.isolation.launcher import (
    WORKSPACE_VARIABLE,
    Isolation,
    IsolationUnavailableError,
    resolve_isolation,
    write_launcher,
)

pytestmark = pytest.mark.anyio

SECRETS = {
    "ANTHROPIC_AUTH_TOKEN": "canary-auth",
    "CLAUDE_SDK_PATTERN_SECRET_KEY": "canary-signing",
    "PLUGIN_KEK": "canary-kek",
    "DATABASE_URL": "canary-database",
}


@pytest.fixture(params=list(Isolation))
def isolation(request: pytest.FixtureRequest) -> Isolation:
    return request.param


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """The environment that the SDK would start the launcher with: the server's own, plus what the options add."""
    workspace, config = tmp_path / "workspace", tmp_path / "config"
    workspace.mkdir()
    config.mkdir()
    return {
        **os.environ,
        **SECRETS,
        "PATH": "/usr/bin:/bin",
        "HOME": str(config),
        "CLAUDE_CONFIG_DIR": str(config),
        WORKSPACE_VARIABLE: str(workspace),
        "ANTHROPIC_API_KEY": "csp-token",
    }


def launcher(tmp_path: Path, isolation: Isolation, script: str) -> Path:
    """Write a launcher for a shell script that stands in for the CLI."""
    # Below the workspace's parent would not be visible inside; the stand-in is mounted like the CLI is.
    program = tmp_path / "stand-in"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return write_launcher(tmp_path / "run" / "agent", isolation=isolation, cli=program)


async def run(path: Path, environment: dict[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        path,
        *arguments,
        env=environment,
        cwd=environment[WORKSPACE_VARIABLE],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(20):
        stdout, stderr = await process.communicate()
    assert process.returncode == 0, stderr.decode()
    return stdout.decode()


async def test_nothing_of_the_servers_environment_reaches_the_agent(
    tmp_path: Path, isolation: Isolation, folders: dict[str, str]
) -> None:
    script = "env; tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ 2>/dev/null; true"
    if isolation is Isolation.PROCESS:
        # Without a namespace the parent is the server itself, whose environment is its own business.
        script = "env; tr '\\0' '\\n' < /proc/self/environ"
    seen = await run(launcher(tmp_path, isolation, script), folders)
    assert "ANTHROPIC_API_KEY=csp-token" in seen
    assert "canary" not in seen
    assert WORKSPACE_VARIABLE not in seen


async def test_bubblewrap_itself_holds_no_secret_either(tmp_path: Path, folders: dict[str, str]) -> None:
    script = "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; tr '\\0' ' ' < $p/cmdline; done"
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, script), folders)
    assert "bwrap" in seen
    assert "canary" not in seen


async def test_arguments_arrive_as_they_were_given(
    tmp_path: Path, isolation: Isolation, folders: dict[str, str]
) -> None:
    arguments = ["--flag", "two words", "it's", "$HOME", "", "line\nbreak"]
    seen = await run(launcher(tmp_path, isolation, 'printf "[%s]" "$@"'), folders, *arguments)
    assert seen == "".join(f"[{argument}]" for argument in arguments)


async def test_inside_bubblewrap_only_workspace_and_config_can_be_written(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    script = (
        f"echo ok > {folders[WORKSPACE_VARIABLE]}/a && echo ok > {folders['CLAUDE_CONFIG_DIR']}/b && pwd;"
        f"ls {outside} 2>&1; echo bad 2>/dev/null > /usr/canary || echo refused; ls /etc/shadow 2>&1; ls /root 2>&1"
    )
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, f"{script}; true"), folders)
    lines = seen.splitlines()
    assert lines[0] == folders[WORKSPACE_VARIABLE]
    assert "refused" in lines
    assert sum("No such file" in line for line in lines) == 3
    assert not Path("/usr/canary").exists()


async def test_other_processes_cannot_be_seen_from_inside_bubblewrap(tmp_path: Path, folders: dict[str, str]) -> None:
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, "echo /proc/[0-9]*"), folders)
    assert len(seen.split()) <= 3


async def test_the_agent_dies_with_its_server(tmp_path: Path, isolation: Isolation, folders: dict[str, str]) -> None:
    """A server killed outright leaves no agent behind; under bubblewrap none of its children either."""
    child = "sleep 600 & " if isolation is Isolation.BUBBLEWRAP else ""
    path = launcher(tmp_path, isolation, f"{child}echo ready; exec sleep 601")
    code = f"import subprocess,sys; p = subprocess.Popen([{str(path)!r}]); print(p.pid, flush=True); p.wait()"
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=folders, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    try:
        async with asyncio.timeout(20):
            # The agent may speak before the server has said its number.
            said = {await server.stdout.readline(), await server.stdout.readline()}
        assert b"ready\n" in said
        agent = psutil.Process(int((said - {b"ready\n"}).pop()))
        family = [agent, *agent.children(recursive=True)]
        assert len(family) >= (3 if isolation is Isolation.BUBBLEWRAP else 1)
        server.send_signal(signal.SIGKILL)
        await server.wait()
        _, alive = await asyncio.to_thread(psutil.wait_procs, family, timeout=10)
        assert alive == []
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


async def test_the_script_is_for_its_owner_only(tmp_path: Path, isolation: Isolation) -> None:
    path = launcher(tmp_path, isolation, "true")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


async def test_isolation_that_was_asked_for_and_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(IsolationUnavailableError, match="install"):
        await resolve_isolation(Isolation.BUBBLEWRAP)
    assert await resolve_isolation(None) is Isolation.PROCESS


async def test_bubblewrap_is_the_default_where_it_works() -> None:
    assert await resolve_isolation(None) is Isolation.BUBBLEWRAP


async def test_a_bubblewrap_that_cannot_make_namespaces_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsolationUnavailableError, match="No permissions"):
        await resolve_isolation(Isolation.BUBBLEWRAP)
