"""MCP servers of plugins: real programs behind real walls, and a real server at an address on loopback."""

import json
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, create_subprocess_exec
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.plugins.runtime.conftest import Workshop
from tests.support.platform import eventually
from tests.support.plugins_at_work import active, offered, put_to_work, text_of, tool_plugin, write_plugin
from tests.support.server import free_port

from claude_sdk_pattern.isolation.kinds import Isolation
from claude_sdk_pattern.plugins.errors import ActivationError
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure

pytestmark = pytest.mark.anyio

# Speaks MCP by hand, as badly as a server can and be one.
RAW_SERVER = """
import json, os, pathlib, sys, time

def say(message): sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()

SELF = {"name": "raw", "version": "1"}
print("this is no message")
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request: continue
    number, method = request["id"], request["method"]
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SELF}
    elif method == "tools/list":
        names = ("look", "large", "late_id", "odd", "flood")
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    elif method == "tools/call":
        name = request["params"]["name"]
        text = "done"
        if name == "look":
            def reachable(path):
                try: return sorted(os.listdir(path))
                except OSError: return None
            text = json.dumps({
                "environment": dict(os.environ), "workdir": os.getcwd(), "uid": os.getuid(),
                "root": reachable("/"), "secret": pathlib.Path(request["params"]["arguments"]["path"]).exists(),
            })
        elif name in ("large", "late_id"): text = "x" * 20_000_000
        elif name == "flood":
            while True: sys.stdout.write("flood " * 1000 + "\\n")
        result = {"content": [{"type": "text", "text": text}]} if name != "odd" else {"nonsense": 1}
        if name == "late_id":
            sys.stdout.write(json.dumps({"result": result, "jsonrpc": "2.0", "id": number}) + "\\n"); sys.stdout.flush()
            continue
    else: result = {}
    say({"jsonrpc": "2.0", "id": number, "result": result})
"""

REMOTE_SERVER = """
import sys
from mcp.server import MCPServer
server = MCPServer("remote")

@server.tool()
def add(a: int, b: int) -> int: return a + b

server.run(sys.argv[1], port=int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
async def keeper(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> PluginSet:
    """A plugin with a server that speaks by hand and is given a secret."""
    root = write_plugin(
        tmp_path_factory.mktemp("plugins") / "keeper",
        {"server.py": RAW_SERVER},
        type="mcp",
        capabilities={
            "mcp_servers": {
                "raw": {
                    "type": "stdio",
                    "command": "python3",
                    "args": ["${plugin_root}/server.py"],
                    "env": {"KEY": "${config.API_KEY}", "GREETING": "${config.greeting}"},
                    "timeout_seconds": 5,
                }
            }
        },
        permissions={"secrets": ["API_KEY"]},
        config_schema={
            "type": "object",
            "properties": {
                "API_KEY": {"type": "string", "writeOnly": True},
                "greeting": {"type": "string", "default": "hi"},
            },
        },
    )
    await put_to_work(workshop.runtime, root)
    return PluginSet.of([active(root)])


async def test_a_program_sees_what_its_plugin_declares_and_its_secrets_stay_there(
    workshop: Workshop, keeper: PluginSet, isolation: Isolation, tmp_path: Path
) -> None:
    (tmp_path / "private").write_text("of somebody else")
    async with offered(workshop.runtime, keeper) as call:
        told = text_of(await call("mcp__keeper-raw__look", path=str(tmp_path / "private")))
    assert "canary-plugin-secret" not in told, "it reached the program, and nobody else"
    seen = json.loads(told)
    assert seen["environment"]["KEY"] == "[redacted]"
    assert seen["environment"]["GREETING"] == "hi"
    basics = {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "LC_CTYPE", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
    assert set(seen["environment"]) <= {"KEY", "GREETING", *basics}
    assert seen["workdir"] == str(workshop.data / "keeper")
    if isolation is Isolation.BUBBLEWRAP:
        assert not seen["secret"]
        assert "home" not in seen["root"]
        assert seen["uid"] != 0


@pytest.mark.parametrize("tool", ["large", "late_id"])
async def test_an_answer_that_is_too_long_costs_its_call_only(workshop: Workshop, keeper: PluginSet, tool: str) -> None:
    async with offered(workshop.runtime, keeper) as call:
        result = await call(f"mcp__keeper-raw__{tool}")
        assert result.is_error
        assert "262144 bytes" in text_of(result)
        assert not (await call("mcp__keeper-raw__look", path="/")).is_error


@pytest.mark.parametrize("tool", ["odd", "flood"])
async def test_what_is_no_answer_is_a_failure_and_the_server_is_there_again(
    workshop: Workshop, keeper: PluginSet, tool: str
) -> None:
    failures: list[ToolFailure] = []
    async with offered(workshop.runtime, keeper, failures) as call:
        assert (await call(f"mcp__keeper-raw__{tool}")).is_error
        assert [failure.plugin for failure in failures] == ["keeper"]
        assert not (await call("mcp__keeper-raw__look", path="/")).is_error


@pytest.fixture(params=["http", "sse"])
async def remote(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[tuple[str, int]]:
    """A server of the official package at an address on loopback: its kind and port."""
    port = free_port()
    kind = "streamable-http" if request.param == "http" else "sse"
    (tmp_path / "remote.py").write_text(REMOTE_SERVER)
    process = await create_subprocess_exec(
        sys.executable, str(tmp_path / "remote.py"), kind, str(port), stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        await eventually(lambda: _is_open(port))
        yield request.param, port
    finally:
        process.kill()
        await process.wait()


async def test_a_server_at_a_declared_address_is_reached_and_no_other(
    workshop: Workshop, remote: tuple[str, int], tmp_path: Path
) -> None:
    kind, port = remote
    url = f"http://localhost:{port}/{'mcp' if kind == 'http' else 'sse'}"

    def plugin(name: str, hosts: list[str]) -> Path:
        return write_plugin(
            tmp_path / name,
            {},
            type="mcp",
            capabilities={"mcp_servers": {"far": {"type": kind, "url": url}}},
            permissions={"hosts": hosts},
        )

    with pytest.raises(ActivationError, match="not among the hosts"):
        await workshop.runtime.started(active(plugin("strange", ["localhost", "example.org"])))
    root = plugin("near", [f"localhost:{port}"])
    await put_to_work(workshop.runtime, root)
    async with offered(workshop.runtime, PluginSet.of([active(root)])) as call:
        assert text_of(await call("mcp__near-far__add", a=2, b=3)) == "5"
    await workshop.runtime.stopped(active(root))


async def test_a_name_is_taken_once(workshop: Workshop, tmp_path: Path) -> None:
    server = {"type": "stdio", "command": "python3"}
    first = write_plugin(tmp_path / "a", {}, name="acme", type="mcp", capabilities={"mcp_servers": {"tools": server}})
    second = write_plugin(
        tmp_path / "acme-tools",
        {"tools.py": ""},
        type="tool",
        capabilities={"tools": {"module": "tools"}},
    )
    with pytest.raises(ActivationError, match="acme-tools is taken by the plugin acme"):
        await workshop.runtime.check(active(second), PluginSet.of([active(first)]))


async def test_a_trusted_plugin_runs_in_this_process_and_its_calls_still_have_an_end(
    workshop: Workshop, tmp_path: Path
) -> None:
    code = """
import asyncio, os, sys
from claude_agent_sdk import tool

@tool("where", "Say where it runs", {})
async def where(arguments): return {"content": [{"type": "text", "text": str(os.getpid())}]}

@tool("wait", "Wait for ever", {})
async def wait(arguments): await asyncio.Event().wait()

@tool("leave", "Leave", {})
async def leave(arguments): sys.exit(1)
"""
    root = tool_plugin(tmp_path / "insider", code, in_process=True, timeout_seconds=0.2)
    await workshop.runtime.started(active(root, trusted=True))
    plugins = PluginSet.of([active(root, trusted=True)])
    async with offered(workshop.runtime, plugins) as call:
        assert text_of(await call("mcp__insider__where")) == str(os.getpid())
        assert "within 0.2 s" in text_of(await call("mcp__insider__wait"))
        assert (await call("mcp__insider__leave")).is_error
        assert text_of(await call("mcp__insider__where")) == str(os.getpid())
    await workshop.runtime.stopped(active(root, trusted=True))


async def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
