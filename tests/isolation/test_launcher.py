"""The launcher script, run for real in both kinds of isolation, with a small program in the CLI's place."""

import asyncio
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from claude_sdk_pattern.isolation.doorways import Doorways
from claude_sdk_pattern.isolation.kinds import AgentLimits, Isolation, IsolationUnavailableError
from claude_sdk_pattern.isolation.launcher import (
    DOORWAY_VARIABLE,
    PROCESS_VARIABLE,
    READ_ONLY_VARIABLE,
    WORKSPACE_VARIABLE,
    Walls,
    write_launcher,
)
from claude_sdk_pattern.isolation.probe import CommandSandbox, resolve_command_sandbox, resolve_isolation

pytestmark = pytest.mark.anyio

AGENT_UID = 61_000
LIMITS = AgentLimits(
    processes=64,
    open_files=1024,
    file_bytes=1024 * 1024,
    cpu_seconds=600,
    home_bytes=4 * 1024 * 1024,
    tmp_bytes=4 * 1024 * 1024,
    shm_bytes=4 * 1024 * 1024,
)

SECRETS = {
    "ANTHROPIC_AUTH_TOKEN": "canary-auth",
    "CLAUDE_SDK_PATTERN_SECRET_KEY": "canary-signing",
    "PLUGIN_KEK": "canary-kek",
    "DATABASE_URL": "canary-database",
    "HTTPS_PROXY": "http://user:canary-proxy@127.0.0.1:9",
}


@pytest.fixture(params=list(Isolation))
def isolation(request: pytest.FixtureRequest) -> Isolation:
    return request.param


def walls(isolation: Isolation = Isolation.BUBBLEWRAP, *, may_nest: bool = True) -> Walls:
    return Walls(isolation=isolation, limits=LIMITS, uid=AGENT_UID, may_nest=may_nest)


async def answering(listener: socket.socket) -> asyncio.AbstractServer:
    """A door that says who it is to everybody who comes."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"the server\n")
        writer.close()

    return await asyncio.start_server(answer, sock=listener)


@pytest.fixture
async def folders(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[dict[str, str]]:
    """The environment that the SDK would start the launcher with: the server's own, plus what the options add."""
    workspace, config = tmp_path / "workspace", tmp_path / "config"
    for folder in (workspace, config):
        folder.mkdir()
        if (owner := walls().owner) is not None:
            os.chown(folder, owner, owner)
    doorways = Doorways(tmp_path / "doors", [answering])
    async with doorways.running():
        doorways.expect("p1")
        yield {
            **os.environ,
            **SECRETS,
            "PATH": "/usr/bin:/bin",
            "HOME": str(config),
            "CLAUDE_CONFIG_DIR": str(config),
            WORKSPACE_VARIABLE: str(workspace),
            DOORWAY_VARIABLE: str(doorways.folder),
            PROCESS_VARIABLE: "p1",
            "ANTHROPIC_API_KEY": "csp-token",
        }


def launcher(tmp_path: Path, isolation: Isolation, script: str, *, may_nest: bool = True) -> Path:
    """Write a launcher for a shell script that stands in for the CLI."""
    # Below the workspace's parent would not be visible inside; the stand-in is mounted like the CLI is.
    program = tmp_path / "stand-in"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return write_launcher(tmp_path / "run" / "agent", walls(isolation, may_nest=may_nest), cli=program)


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


async def test_what_is_to_be_resumed_is_there_and_can_be_written_on(
    tmp_path: Path, isolation: Isolation, folders: dict[str, str]
) -> None:
    put = tmp_path / "resumed"
    (put / "projects" / "one").mkdir(parents=True)
    (put / "projects" / "one" / "transcript.jsonl").write_text("before\n")
    script = (
        'cd "$CLAUDE_CONFIG_DIR/projects/one" && pwd && echo after >> transcript.jsonl && touch new &&'
        " cat transcript.jsonl && ls"
    )
    environment = {**folders, "CLAUDE_CONFIG_DIR": str(put)}
    seen = await run(launcher(tmp_path, isolation, script), environment)
    # Where the SDK has put it, which takes in what is written there and nothing else.
    assert seen.splitlines() == [f"{put}/projects/one", "before", "after", "new", "transcript.jsonl"]


async def test_a_home_is_in_memory_and_bounded(tmp_path: Path, folders: dict[str, str]) -> None:
    script = 'cd "$CLAUDE_CONFIG_DIR"; head -c 6000000 /dev/zero > large || wc -c < large'
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, f"{script} 2>/dev/null"), folders)
    assert 0 < int(seen.splitlines()[-1]) <= 4 * 1024 * 1024
    assert not list(Path(folders["CLAUDE_CONFIG_DIR"]).iterdir())


async def test_inside_bubblewrap_only_workspace_and_home_can_be_written(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    script = (
        f"echo ok > {folders[WORKSPACE_VARIABLE]}/a && echo ok > {folders['HOME']}/b && pwd;"
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


async def test_inside_bubblewrap_nobody_is_root_and_nothing_can_be_gained(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    script = "id -u; grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status | cut -f2 | sort -u"
    seen = (await run(launcher(tmp_path, Isolation.BUBBLEWRAP, script), folders)).split()
    assert seen == [str(walls().owner or os.geteuid()), "0000000000000000", "1"]


async def test_all_the_network_there_is_inside_is_the_servers_door(tmp_path: Path, folders: dict[str, str]) -> None:
    script = (
        "tail -n +2 /proc/net/route; tail -n +3 /proc/net/dev | cut -d: -f1;bash -c 'cat < /dev/tcp/127.0.0.1/61001';"
    )
    assert (await run(launcher(tmp_path, Isolation.BUBBLEWRAP, script), folders)).split() == ["lo", "the", "server"]


async def test_files_that_were_declared_can_be_read_and_not_changed(tmp_path: Path, folders: dict[str, str]) -> None:
    shown, hidden = tmp_path / "plugin" / "shown", tmp_path / "plugin" / "hidden"
    shown.mkdir(parents=True)
    (shown / "file").write_text("declared")
    hidden.write_text("not declared")
    script = f"cat {shown}/file; echo; ls {shown.parent}; echo x 2>/dev/null > {shown}/file || echo refused"
    environment = {**folders, READ_ONLY_VARIABLE: str(shown)}
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, script), environment)
    assert seen.split() == ["declared", "shown", "refused"]
    assert (shown / "file").read_text() == "declared"


async def test_the_limits_hold_in_both_isolations(
    tmp_path: Path, isolation: Isolation, folders: dict[str, str]
) -> None:
    script = "ulimit -n; ulimit -c; head -c 3000000 /dev/zero > big 2>/dev/null; stat -c %s big;"
    script += "cat /proc/self/oom_score_adj"
    seen = (await run(launcher(tmp_path, isolation, script), folders)).split()
    assert seen == ["1024", "0", str(LIMITS.file_bytes), "500"]


async def test_processes_are_counted_for_each_agent_by_itself(tmp_path: Path, folders: dict[str, str]) -> None:
    forks = "i=0; while [ $i -lt 200 ]; do sleep 600 > /dev/null 2>&1 & i=$((i+1)); echo $i; done"
    seen = await run(launcher(tmp_path, Isolation.BUBBLEWRAP, f"sh -c '{forks}' 2> /dev/null; true"), folders)
    assert LIMITS.processes // 2 < int(seen.split()[-1]) <= LIMITS.processes


async def test_memory_file_systems_are_small(tmp_path: Path, folders: dict[str, str]) -> None:
    script = (
        "for f in /tmp /dev/shm; do for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero 2>/dev/null > $f/$i; done;"
        "df --output=avail $f | tail -1; done;"
        "for f in / /dev /run /etc; do touch $f/x 2>/dev/null && echo $f; done; true"
    )
    assert (await run(launcher(tmp_path, Isolation.BUBBLEWRAP, script), folders)).split() == ["0", "0"]


async def test_an_agent_makes_namespaces_only_where_it_has_to(tmp_path: Path, folders: dict[str, str]) -> None:
    script = "unshare --user true 2>/dev/null && echo made || echo refused"
    for may_nest, expected in ((True, "made"), (False, "refused")):
        path = launcher(tmp_path, Isolation.BUBBLEWRAP, script, may_nest=may_nest)
        assert (await run(path, folders)).strip() == expected


async def test_the_sandbox_around_commands_works_inside_the_walls() -> None:
    assert await resolve_command_sandbox(None, walls()) in (CommandSandbox.FULL, CommandSandbox.WEAKER)
    assert await resolve_command_sandbox(False, walls()) is CommandSandbox.OFF


async def test_a_sandbox_around_commands_that_was_asked_for_needs_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").symlink_to(shutil.which("bwrap") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsolationUnavailableError, match="install socat"):
        await resolve_command_sandbox(True, walls())
    assert await resolve_command_sandbox(None, walls()) is CommandSandbox.OFF


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
        await resolve_isolation(Isolation.BUBBLEWRAP, limits=LIMITS, uid=AGENT_UID)
    assert await resolve_isolation(None, limits=LIMITS, uid=AGENT_UID) is Isolation.PROCESS


async def test_bubblewrap_is_the_default_where_it_works() -> None:
    assert await resolve_isolation(None, limits=LIMITS, uid=AGENT_UID) is Isolation.BUBBLEWRAP


async def test_a_bubblewrap_that_cannot_make_namespaces_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsolationUnavailableError, match="No permissions"):
        await resolve_isolation(Isolation.BUBBLEWRAP, limits=LIMITS, uid=AGENT_UID)
