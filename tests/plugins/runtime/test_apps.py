"""Apps of plugins, from the plugin's server to what a browser would be given: real processes, no sessions."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import BlobResourceContents, ReadResourceResult, TextContent, TextResourceContents, Tool
from tests.plugins.runtime.conftest import Workshop
from tests.support.plugins_at_work import EXAMPLES, active, put_to_work, text_of, write_plugin

from claude_sdk_pattern.isolation.hosts import HostPattern
from claude_sdk_pattern.plugins.errors import ActivationError
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.apps import (
    MAX_PAGE_BYTES,
    PAGE_TYPE,
    AppPage,
    NoAppError,
    content_security_policy,
    is_for,
    page_of,
    read_page,
)

pytestmark = pytest.mark.anyio

# An MCP server that knows nothing of the platform, with the extension as the `mcp` package has it.
CLOCK_SERVER = """
from mcp.server import MCPServer
from mcp.server.apps import Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context

apps = Apps()

@apps.tool(resource_uri="ui://clock/face.html")
def time(ctx: Context) -> str:
    return "noon, shown" if client_supports_apps(ctx) else "noon, told"

@apps.tool(resource_uri="ui://clock/face.html", visibility=["app"])
def tick() -> str:
    return "canary-plugin-secret"

csp = ResourceCsp(connect_domains=["https://time.example.org", "https://evil.example.net"])
apps.add_html_resource("ui://clock/face.html", "<p>canary-plugin-secret</p>", csp=csp)
MCPServer("clock", extensions=[apps]).run("stdio")
"""


def clock(folder: Path, **permissions: Any) -> Path:
    """Write a plugin with that server."""
    return write_plugin(
        folder / "clock",
        {"server.py": CLOCK_SERVER},
        type="mcp",
        capabilities={
            "mcp_servers": {"wall": {"type": "stdio", "command": "python3", "args": ["${plugin_root}/server.py"]}}
        },
        permissions={"tools": ["mcp__clock-wall__*"], "hosts": ["time.example.org"], **permissions},
    )


async def tools_for_the_model(workshop: Workshop, root: Path) -> dict[str, Tool]:
    """Return the tools that an agent process is told of, by their own names."""
    offer = workshop.runtime.offer(PluginSet.of([active(root)]), lambda failure: None)
    try:
        found: dict[str, Tool] = {}
        for config in offer.servers.values():
            async with Client(config["instance"]) as client:
                found |= {tool.name: tool for tool in (await client.list_tools()).tools}
        return found
    finally:
        offer.release()


async def test_a_server_that_knows_the_extension_shows_its_page(workshop: Workshop, tmp_path: Path) -> None:
    root = clock(tmp_path, apps=True)
    await put_to_work(workshop.runtime, root)
    tools = await tools_for_the_model(workshop, root)
    assert set(tools) == {"time"}, "what only apps may call is not offered to the model"
    assert tools["time"].meta == {"ui": {"resourceUri": "ui://clock/face.html"}}
    offer = workshop.runtime.offer(PluginSet.of([active(root)]), lambda failure: None)
    offer.release()
    assert offer.apps["mcp__clock-wall__time"] == "ui://clock/face.html"
    assert offer.tool_count == 1
    app = workshop.runtime.app_of("clock", "mcp__clock-wall__time")
    assert app is not None
    assert text_of(await app.call("time", {})) == "noon, shown"
    page, policy = await app.page()
    assert page.html == b"<p>[redacted]</p>"
    assert "connect-src https://time.example.org;" in policy
    assert "evil" not in policy


async def test_an_app_calls_tools_for_apps_and_the_model_those_for_the_model(
    workshop: Workshop, tmp_path: Path
) -> None:
    root = clock(tmp_path, apps=True)
    await put_to_work(workshop.runtime, root)
    app = workshop.runtime.app_of("clock", "mcp__clock-wall__time")
    assert app is not None
    assert app.find_tool("tick") == "mcp__clock-wall__tick"
    assert app.find_tool("tock") is None
    result = await app.call("tick", {})
    assert "canary" not in result.model_dump_json(), "not even in what is for programs"
    assert text_of(result) == "[redacted]"
    offer = workshop.runtime.offer(PluginSet.of([active(root)]), lambda failure: None)
    async with Client(offer.servers["clock-wall"]["instance"]) as agent:
        refused = await agent.call_tool("tick", {})
    offer.release()
    assert refused.is_error
    assert isinstance(refused.content[0], TextContent)
    assert refused.content[0].text == "There is no tool tick."


async def test_without_the_permission_there_is_no_app_and_the_tool_works(workshop: Workshop, tmp_path: Path) -> None:
    root = clock(tmp_path)
    await put_to_work(workshop.runtime, root)
    assert set(await tools_for_the_model(workshop, root)) == {"time"}
    offer = workshop.runtime.offer(PluginSet.of([active(root)]), lambda failure: None)
    offer.release()
    assert offer.apps == {}
    assert workshop.runtime.app_of("clock", "mcp__clock-wall__time") is None


async def test_the_example_shows_its_page_and_counts_votes(workshop: Workshop) -> None:
    root = EXAMPLES / "poll"
    await put_to_work(workshop.runtime, root)
    assert set(await tools_for_the_model(workshop, root)) == {"ask"}
    app = workshop.runtime.app_of("poll", "mcp__poll__ask")
    assert app is not None
    page, policy = await app.page()
    assert page.html == (root / "poll.html").read_bytes()
    assert "connect-src 'none'" in policy
    asked = text_of(await app.call("ask", {"question": "Tea?", "options": ["yes", "no"]}))
    poll_id = asked.split('"')[3]
    assert '"no": 1' in text_of(await app.call("vote", {"id": poll_id, "option": "no"}))
    for wrong in ({"id": poll_id, "option": "perhaps"}, {"id": "../../x", "option": "no"}):
        assert (await app.call("vote", wrong)).is_error
    with pytest.raises(NoAppError, match="begins with ui://"):
        await app.resource("file:///etc/passwd")


async def test_a_page_that_is_not_in_the_folder_keeps_its_plugin_from_starting(
    workshop: Workshop, tmp_path: Path
) -> None:
    code = """
from claude_agent_sdk import tool
from claude_sdk_pattern.plugins.author import app

@app("../secret.html")
@tool("show", "Show", {})
async def show(arguments): return {"content": []}
"""
    (tmp_path / "secret.html").write_text("<p>of somebody else</p>")
    root = write_plugin(
        tmp_path / "sly",
        {"sly_tools.py": code},
        type="tool",
        capabilities={"tools": {"module": "sly_tools"}},
        permissions={"tools": ["mcp__sly__*"], "apps": True},
    )
    with pytest.raises(ActivationError, match=r"\.\./secret\.html"):
        await put_to_work(workshop.runtime, root)


def tool(**meta: Any) -> Tool:
    """Return a tool that says this of itself."""
    return Tool.model_validate({"name": "show", "inputSchema": {"type": "object"}, "_meta": meta})


def test_a_tool_says_in_either_spelling_which_page_it_shows_and_who_it_is_for() -> None:
    assert page_of(tool(ui={"resourceUri": "ui://a/b.html"})) == "ui://a/b.html"
    assert page_of(tool(**{"ui/resourceUri": "ui://a/b.html"})) == "ui://a/b.html"
    for odd in ("https://example.org", 7, None, "ui://" + "x" * 1000):
        assert page_of(tool(ui={"resourceUri": odd})) is None
    assert page_of(tool(ui="odd")) is None
    assert (is_for(tool(), "model"), is_for(tool(), "app")) == (True, True)
    assert not is_for(tool(ui={"visibility": ["app"]}), "model")
    assert not is_for(tool(ui={"visibility": ["model"]}), "app")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (TextResourceContents(uri="ui://a", mime_type="text/html", text="x"), "is not there"),
        (TextResourceContents(uri="ui://b", mime_type=PAGE_TYPE, text="x"), "is not there"),
        (TextResourceContents(uri="ui://a", mime_type=PAGE_TYPE, text="x" * (MAX_PAGE_BYTES + 1)), "the limit is"),
        (BlobResourceContents(uri="ui://a", mime_type=PAGE_TYPE, blob="%%"), "base64"),
    ],
    ids=["type", "address", "size", "base64"],
)
def test_what_is_no_page_is_not_shown(content: TextResourceContents | BlobResourceContents, why: str) -> None:
    with pytest.raises(NoAppError, match=why):
        read_page(ReadResourceResult(contents=[content]), "ui://a")


HOSTS = [HostPattern.parse(text) for text in ("api.example.org", "*.cdn.example.org", "dev.example.org:8443")]


@pytest.mark.parametrize(
    ("asked", "source"),
    [
        ("https://api.example.org", "https://api.example.org"),
        ("https://API.example.org/", "https://api.example.org"),
        ("api.example.org", "https://api.example.org"),
        ("wss://api.example.org", "wss://api.example.org"),
        ("https://*.cdn.example.org", "https://*.cdn.example.org"),
        ("https://a.cdn.example.org", "https://a.cdn.example.org"),
        ("https://dev.example.org:8443", "https://dev.example.org:8443"),
        ("https://dev.example.org", None),
        ("https://api.example.org:8443", None),
        ("https://example.org", None),
        ("https://*.example.org", None),
        ("https://*.api.example.org", None),
        ("https://api.example.org.evil.net", None),
        ("https://api.example.org https://evil.net", None),
        ("https://api.example.org; script-src *", None),
        ("https://api.example.org\n", None),
        ("*", None),
        ("https:", None),
        ("data:", None),
        ("blob:", None),
        ("'self'", None),
        ("'unsafe-eval'", None),
        ("https://api.example.org/path", None),
    ],
)
def test_a_page_reaches_what_its_plugin_declares_and_nothing_else(asked: str, source: str | None) -> None:
    policy = content_security_policy(AppPage(html=b"", connect=(asked,), load=(asked,)), HOSTS)
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["connect-src"] == (source or "'none'")
    assert directives["script-src"] == f"'unsafe-inline' {source or ''}".strip()
    assert directives["default-src"] == "'none'"
    assert directives["sandbox"] == "allow-scripts"
    assert set(directives) == {
        "sandbox", "default-src", "script-src", "style-src", "img-src", "font-src", "media-src", "connect-src",
        "base-uri", "form-action", "frame-ancestors",
    }  # fmt: skip
