"""Agents behind their walls, on a whole platform. Real: the CLI, bubblewrap, the gateway; the model is scripted.

What a hostile agent tries is in ``tests/isolation/test_attack.py``. Here is what an ordinary one needs, and what people
are told when something of it fails.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk.types import McpStdioServerConfig
from tests.support.platform import Chat, Platform, lent, running_platform, running_platform_in
from tests.support.plugins_at_work import call_tool
from tests.support.processes import agent_processes

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.isolation.kinds import IsolationUnavailableError
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.options import OptionsBuilder

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

ALLOW = Answer(decision="allow", by="someone")

# An address of this machine that stands for a host elsewhere.
HOUSE = "127.0.0.2"

NAMESPACES_SERVER = Path(__file__).parents[1] / "support" / "namespaces_server.py"

type Running = Callable[..., AbstractAsyncContextManager[Platform]]


@pytest.fixture
def running(sqlite_url: str, tmp_path: Path) -> Running:
    """Starts a platform without a pool."""

    @asynccontextmanager
    async def start(**settings: Any) -> AsyncGenerator[Platform]:
        settings = {"isolation": "bubblewrap", "prewarm_pool_size": 0, **settings}
        async with running_platform(sqlite_url, tmp_path / "data", **settings) as platform:
            yield platform

    return start


@pytest.fixture(scope="module")
async def walled(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Platform]:
    """A platform that nothing is done to."""
    folder = tmp_path_factory.mktemp("walled")
    async with running_platform_in(folder, sqlite_template, isolation="bubblewrap", prewarm_pool_size=0) as running:
        yield running


@pytest.fixture
async def platform(walled: Platform) -> AsyncGenerator[Platform]:
    """The shared platform, without sessions."""
    async with lent(walled) as running:
        yield running


async def script(chat: Chat, text: str) -> str:
    """Have the agent run a shell script that lies in its workspace, where the gate does not read it."""
    (chat.workspace / "script.sh").write_text(text)
    return await bash(chat, "sh script.sh")


async def bash(chat: Chat, command: str) -> str:
    """Have the agent run a command, with permission if it asks, and return what it printed."""
    accepted = await chat.say(f"run bash: {command}")
    found = await chat.until(lambda event: isinstance(event, events.PermissionRequest | events.ToolResult))
    if isinstance(found, events.PermissionRequest):
        await chat.conversation.answer_permission(found.request_id, ALLOW)
        found = await chat.until_type(events.ToolResult)
    assert isinstance(found, events.ToolResult)
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    return str(found.content).strip()


async def test_an_agent_works_in_a_workspace_that_the_server_has_filled(platform: Platform) -> None:
    """Files that people attach, and those of a fork or a rewind, belong to the agent, whoever the server is."""
    async with await platform.chat() as chat:
        await chat.ask("write file notes.txt with one")
        attached = await chat.attach("data.txt", b"attached")
        await chat.ask("say exactly: seen", attachments=[attached.attachment_id])
        assert await bash(chat, "echo more >> attachments/data.txt && cat attachments/data.txt") == "attachedmore"
        await chat.fall_asleep()
        # The server's own hand, as after a rewind.
        (chat.workspace / "folder").mkdir(mode=0o700)
        (chat.workspace / "folder" / "file").touch(mode=0o600)
        assert await bash(chat, "echo two > folder/file && cat folder/file notes.txt") == "two\none"


async def test_what_hangs_on_a_link_in_a_workspace_is_not_given_to_the_agent(
    platform: Platform, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("not the agent's")
    async with await platform.chat() as chat:
        await bash(chat, f"ln -s {outside} folder; ln -s {outside}/file file")
        await chat.fall_asleep()
        assert await bash(chat, "cat file folder/file 2>/dev/null; echo done") == "done"
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {os.getuid()}


async def test_files_of_a_workspace_never_configure_the_agent(platform: Platform) -> None:
    """Settings with hooks, an environment and another model, MCP servers and memories, planted by the agent itself."""
    hook = {"hooks": [{"type": "command", "command": "touch ran-a-hook"}]}
    settings = {
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "PLANTED": "planted-variable"},
        "hooks": {event: [hook] for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")},
        "permissions": {"allow": ["Bash"]},
        "model": "planted-model",
    }
    servers = {"mcpServers": {"planted": {"command": "touch", "args": ["ran-a-server"]}}}
    async with await platform.chat() as chat:
        await chat.ask("say exactly: first")
        await chat.fall_asleep()
        planted = chat.workspace
        (planted / ".claude").mkdir()
        for name in ("settings.json", "settings.local.json"):
            (planted / ".claude" / name).write_text(json.dumps(settings))
        (planted / ".mcp.json").write_text(json.dumps(servers))
        (planted / "CLAUDE.md").write_text("planted-memory")
        assert (await chat.ask("say exactly: still ours"))[0] == "still ours"
        printed = await script(chat, 'echo "$PLANTED$ANTHROPIC_BASE_URL"; ls')
        assert printed == "http://127.0.0.1:61001\nCLAUDE.md\nscript.sh"
        asked = platform.model.requests[-1]
        assert "planted" not in json.dumps(asked.body.get("system")) + str(asked.body["model"])
        assert not [path.name for path in planted.iterdir() if path.name.startswith("ran-")]


async def test_servers_of_tools_run_behind_the_same_walls(
    running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An MCP server that the CLI starts tells where it is. Nothing declares one yet, so the options are changed."""
    build = OptionsBuilder.build

    def with_a_server(*args: Any, **kwargs: Any) -> ClaudeAgentOptions:
        options = build(*args, **kwargs)
        server: McpStdioServerConfig = {"command": "/usr/bin/python3", "args": [str(NAMESPACES_SERVER)]}
        return replace(options, mcp_servers={"where": server})

    monkeypatch.setattr(OptionsBuilder, "build", with_a_server)
    policy = tmp_path / "policy.yaml"
    policy.write_text(f'version: 1\ntools: {{"mcp__where__*": mcp}}\nfiles: {{readable: ["{NAMESPACES_SERVER}"]}}\n')
    async with running(policy_file=policy) as platform, await platform.chat() as chat:
        accepted = await chat.say("call mcp tool where tell with {}")
        request = await chat.until_type(events.PermissionRequest)
        await chat.conversation.answer_permission(request.request_id, ALLOW)
        result = await chat.until_type(events.ToolResult, turn_id=accepted.turn_id)
        told = json.loads(text_of(result))
    assert (told["uid"], told["interfaces"]) == (61_000 if os.getuid() == 0 else os.getuid(), ["lo"])
    assert "CLAUDE_SDK_PATTERN_SECRET_KEY" not in told["environment"]
    for name in ("net", "pid", "mnt", "user"):
        assert told[name] != os.readlink(f"/proc/self/ns/{name}")


def text_of(result: events.ToolResult) -> str:
    content = result.content
    return content if isinstance(content, str) else str(content[0]["text"])


async def test_folders_that_the_policy_opens_can_be_used_as_it_says(running: Running, tmp_path: Path) -> None:
    # Whoever the agent is here.
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared" / "maps.txt").write_text("here be dragons")
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop").chmod(0o777)
    (tmp_path / "closed").mkdir(mode=0o755)
    (tmp_path / "closed" / "list.txt").write_text("not for agents")
    policy = tmp_path / "policy.yaml"
    gone = tmp_path / "gone"
    policy.write_text(
        f'version: 1\nfiles: {{readable: ["{tmp_path}/shared", "{gone}"], writable: ["{tmp_path}/drop"]}}\n'
    )
    async with running(policy_file=policy) as platform, await platform.chat() as chat:
        assert "here be dragons" in str(
            (await call_tool(chat, "Read", file_path=str(tmp_path / "shared" / "maps.txt"))).content
        )
        assert (await call_tool(chat, "Write", file_path=str(tmp_path / "shared" / "new.txt"), content="x")).is_error
        assert not (
            await call_tool(chat, "Write", file_path=str(tmp_path / "drop" / "new.txt"), content="left")
        ).is_error
        assert (tmp_path / "drop" / "new.txt").read_text() == "left"
        refused = await call_tool(chat, "Read", file_path=str(tmp_path / "closed" / "list.txt"))
        assert "files.outside-session" in str(refused.content)


async def test_an_agent_that_cannot_be_walled_in_is_not_started(running: Running) -> None:
    async with running() as platform, await platform.chat() as chat:
        launcher = platform.data_dir / "run" / "agent"
        launcher.write_text(launcher.read_text().replace("--unshare-pid", "--unshare-everything-and-more"))
        await chat.say("say exactly: never")
        error = await chat.until_type(events.Error)
        assert error.code == "sandbox_unavailable"
        assert (await chat.until_type(events.Result)).is_error
        assert agent_processes(platform.data_dir) == []
        assert platform.model.requests == []


async def test_the_server_does_not_start_without_the_walls_that_were_asked_for(
    running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    with pytest.raises(IsolationUnavailableError, match="No permissions"):
        async with running():
            pass
    async with running(isolation=None) as platform:
        # Not in silence: whoever asks for readiness is told.
        assert platform.services.health.details["isolation"] == "process"


async def test_a_turn_that_fills_the_workspace_is_stopped(running: Running) -> None:
    async with running(max_workspace_mb=20, max_agent_file_mb=8, watchdog_interval_seconds=0.1) as platform:
        async with await platform.chat() as chat:
            await chat.ask("say exactly: x")
            filling = "for i in $(seq 40); do head -c 2000000 /dev/urandom > f$i; sleep 0.2; done; echo filled"
            accepted = await chat.say(f"run bash: {filling}")
            request = await chat.until_type(events.PermissionRequest)
            await chat.conversation.answer_permission(request.request_id, ALLOW)
            assert (await chat.until_type(events.Error)).code == "workspace_full"
            assert (await chat.until_type(events.Result, turn_id=accepted.turn_id)).subtype == "interrupted"
            await chat.until_status("recovered")
            # There is a way back.
            assert await bash(chat, "rm f*; ls; echo empty") == "empty"


async def test_a_token_is_worth_nothing_once_its_process_has_ended(running: Running) -> None:
    # As a plain process the agent uses the gateway's port on the host, where a test gets too.
    async with running(isolation="process") as platform, await platform.chat() as chat:
        await chat.ask("say exactly: first")
        url, token = (await script(chat, 'echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY"')).split()
        host, port = url.removeprefix("http://").split(":")

        async def status(path: str) -> int:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {token}\r\nConnection: close\r\n\r\n".encode())
            line = await reader.readline()
            writer.close()
            return int(line.split()[1])

        assert await status("/v1/models") == 403
        await chat.fall_asleep()
        assert await status("/v1/models") == 401


@pytest.mark.parametrize("command_sandbox", [False, True])
async def test_a_command_reaches_the_hosts_that_are_opened_and_no_other(
    running: Running, monkeypatch: pytest.MonkeyPatch, command_sandbox: bool
) -> None:
    async def house(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhouse\n")
        writer.close()

    resolve = asyncio.get_running_loop().getaddrinfo

    async def names(host: Any, port: Any, **how: Any) -> Any:
        return await resolve(HOUSE if str(host).endswith(".test") else host, port, **how)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
    async with await asyncio.start_server(house, HOUSE, 0) as server:
        port = server.sockets[0].getsockname()[1]
        settings = {
            "egress_allowed_hosts": f"open.test:{port}",
            "egress_allowed_networks": f"{HOUSE}/32",
            "sandbox_enabled": command_sandbox,
        }
        async with running(**settings) as platform, await platform.chat() as chat:
            asked = [f"open.test:{port}", f"closed.test:{port}", f"{HOUSE}:{port}", "127.0.0.1:1"]
            curls = "; ".join(f"curl -s -m 10 -p http://{host}/ || echo refused" for host in asked)
            await chat.ask("say exactly: first")
            # Claude Code's own sandbox adds a report of what it saw.
            printed = (await script(chat, curls)).partition("<sandbox_violations>")[0]
            assert printed.split() == ["house", "refused", "refused", "refused"]
            counted = platform.services.metrics.render().decode()
            assert 'csp_egress_requests_total{outcome="allowed"} 1.0' in counted
