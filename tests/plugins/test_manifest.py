"""Manifests: what is right is read, what is wrong is said with its place and what to write instead."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.plugins import manifest

from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import manifest_schema
from claude_sdk_pattern.plugins.manifest_reading import read_manifest
from claude_sdk_pattern.plugins.versions import fits

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "plugin.schema.json"

FULL = manifest(
    author={"name": "Ada", "email": "ada@example.org"},
    platform_version=">=0.1.0 <2",
    dependencies={"maps": "^1.2 || 2.x"},
    capabilities={
        "tools": {"module": "weather.tools", "timeout_seconds": 5, "memory_mb": 256},
        "mcp_servers": {
            "local": {
                "type": "stdio",
                "command": "python3",
                "args": ["${plugin_root}/server.py", "--city=${config.city}"],
                "env": {"KEY": "${config.API_KEY}", "DATA": "${plugin_data}"},
            },
            "remote": {"type": "http", "url": "https://mcp.example.org/mcp", "headers": {"X-Key": "${config.API_KEY}"}},
            "old": {"type": "sse", "url": "https://mcp.example.org/sse"},
        },
        "skills": ["skills"],
        "folders": ["maps", "doc/units"],
        "environment": {"WEATHER_CITY": "${config.city}", "TZ": "UTC"},
        "endpoints": {"module": "weather.routes", "public": ["/hook"]},
    },
    permissions={
        "tools": ["mcp__weather__*"],
        "hosts": ["mcp.example.org", "*.example.com:8443"],
        "paths": {"readable": ["/srv/maps"]},
        "secrets": ["API_KEY"],
        "environment": ["WEATHER_CITY", "TZ"],
        "events": ["PreToolUse"],
        "slots": ["message-renderer"],
    },
    ui=[{"slot": "message-renderer", "bundle": "ui/chart.js", "export": "Chart", "tools": ["mcp__weather__draw"]}],
    hooks=[{"event": "PreToolUse", "matcher": "Bash", "function": "weather.hooks:check", "kind": "security"}],
    agents={"forecaster": {"description": "Knows tomorrow.", "prompt": "You forecast.", "tools": ["Read"]}},
    profiles={"sailor": {"display_name": "Sailor", "prompt_file": "sailor.md"}},
    config_schema={
        "type": "object",
        "properties": {"API_KEY": {"type": "string", "writeOnly": True}, "city": {"type": "string"}},
        "required": ["city"],
    },
)


def problems(data: Any) -> list[PluginProblem]:
    """Return what is wrong with a manifest."""
    with pytest.raises(InvalidPluginError) as caught:
        read_manifest(data if isinstance(data, bytes) else json.dumps(data).encode())
    return list(caught.value.problems)


def test_full_manifest_is_read_and_is_one_by_the_published_schema() -> None:
    read = read_manifest(json.dumps(FULL).encode())
    assert read.secret_keys == {"API_KEY"}
    assert read.hooks[0].timeout_seconds == 5
    Draft202012Validator(manifest_schema()).validate(FULL)  # pyright: ignore[reportUnknownMemberType]


def test_published_schema_is_the_one_of_the_models() -> None:
    # Written by `claude-sdk-pattern plugin schema > docs/plugin.schema.json`.
    assert json.loads(SCHEMA_FILE.read_text()) == manifest_schema()


def _with_ui(**changes: Any) -> dict[str, Any]:
    part = {"slot": "input-extension", "bundle": "ui/a.js"} | changes
    return manifest(permissions={"slots": ["input-extension", "message-renderer", "side-panel"]}, ui=[part])


def _with_variable(name: str, value: str) -> dict[str, Any]:
    capabilities = FULL["capabilities"] | {"environment": {name: value}}
    return FULL | {"capabilities": capabilities, "permissions": FULL["permissions"] | {"environment": [name]}}


BROKEN: dict[str, tuple[Any, str, str]] = {
    "no JSON": (b"{", "plugin.json", "is no JSON: .* in line 1, column 2"),
    "no text": (b"\xff\xfe{", "plugin.json", "is no UTF-8 text"),
    "no object": (b"[]", "plugin.json", "has to be an object"),
    "a key twice": (b'{"manifest_version": "1", "name": "a", "name": "b"}', "name", "stands there twice"),
    "too deep": (b"[" * 100_000, "plugin.json", "nested too deeply|no JSON"),
    "no version": ({"name": "a"}, "manifest_version", 'write "manifest_version": "1"'),
    "a number as version": (manifest(manifest_version=1), "manifest_version", "has to be text"),
    "a version of the future": (manifest(manifest_version="2"), "manifest_version", "under Manifest versions"),
    "a field misspelt": (manifest(capabilites={}), "capabilites", "did you mean `capabilities`"),
    "a field of its own": (manifest(zzz=1), "zzz", "remove it"),
    "a name with capitals": (manifest(name="Weather"), "name", "write lower-case letters"),
    "a name with two hyphens": (manifest(name="my--plugin"), "name", "write lower-case letters"),
    "no semantic version": (manifest(version="1.0"), "version", "three numbers"),
    "a range that is none": (manifest(dependencies={"maps": "newer"}), "dependencies.maps", "range of versions"),
    "a type there is not": (manifest(type="theme"), "type", "write 'tool', 'mcp', 'skill' or 'endpoint'"),
    "nothing of its type": (manifest(type="mcp"), "", "needs `capabilities.mcp_servers`"),
    "no module": (manifest(capabilities={"tools": {}}), "capabilities.tools.module", 'write "module"'),
    "a path as module": (
        manifest(capabilities={"tools": {"module": "weather/tools.py"}}),
        "capabilities.tools.module",
        "write a Python module",
    ),
    "a server without type": (
        manifest(capabilities={"mcp_servers": {"a": {"command": "x"}}}),
        "capabilities.mcp_servers.a",
        'write "type": "stdio"',
    ),
    "a server without command": (
        manifest(capabilities={"mcp_servers": {"a": {"type": "stdio"}}}),
        "capabilities.mcp_servers.a.command",
        "is missing",
    ),
    "a path out of the folder": (
        manifest(capabilities={"skills": ["../../etc"]}),
        "capabilities.skills[0]",
        "inside the plugin's folder",
    ),
    "a host with a scheme": (
        manifest(permissions={"hosts": ["https://x.org"]}),
        "permissions.hosts[0]",
        "write a host",
    ),
    "an unknown event": (manifest(permissions={"events": ["Boot"]}), "permissions.events[0]", "'PreToolUse'"),
    "a component nobody agreed to": (
        manifest(ui=[{"slot": "input-extension", "bundle": "ui/a.js"}]),
        "",
        "`permissions.slots` has to name `input-extension`",
    ),
    "a slot there is not": (_with_ui(slot="footer"), "ui[0].slot", "'side-panel'"),
    "a module outside of the folder for browsers": (
        _with_ui(bundle="tools.js"),
        "ui[0].bundle",
        "must be a file in the folder `ui`, such as ui/chart.js",
    ),
    "a module that is none": (_with_ui(bundle="ui/a.html"), "ui[0].bundle", "such as ui/chart.js"),
    "a style sheet that is none": (_with_ui(style="ui/a.scss"), "ui[0].style", "such as ui/chart.css"),
    "a panel without title": (_with_ui(slot="side-panel"), "ui[0]", "a `side-panel` needs a `title`"),
    "a renderer of nothing": (_with_ui(slot="message-renderer"), "ui[0]", "a `message-renderer` needs `tools`"),
    "tools where none are drawn": (_with_ui(tools=["mcp__weather__a"]), "ui[0]", "has no `tools`"),
    "a renderer of another's tool": (
        _with_ui(slot="message-renderer", tools=["Bash"]),
        "",
        "a plugin draws for its own tools: mcp__weather__",
    ),
    "a hook nobody agreed to": (
        manifest(hooks=[{"event": "Stop", "function": "a:b"}]),
        "",
        "`permissions.events` has to name `Stop`",
    ),
    "two prompts": (
        manifest(agents={"a": {"description": "d", "prompt": "p", "prompt_file": "f.md"}}),
        "agents.a",
        "either `prompt` or `prompt_file`",
    ),
    "a secret nobody agreed to": (
        manifest(config_schema={"type": "object", "properties": {"K": {"type": "string", "writeOnly": True}}}),
        "",
        "`permissions.secrets` has to name the secret `K`",
    ),
    "a secret that is not configured": (
        manifest(permissions={"secrets": ["K"]}),
        "",
        "`permissions.secrets` names `K`",
    ),
    "a secret with a default": (
        manifest(
            permissions={"secrets": ["K"]},
            config_schema={
                "type": "object",
                "properties": {"K": {"type": "string", "writeOnly": True, "default": "x"}},
            },
        ),
        "",
        "has a default",
    ),
    "no JSON Schema": (
        manifest(config_schema={"type": "object", "properties": {"a": {"type": "strin"}}}),
        "",
        "`config_schema` is no JSON Schema",
    ),
    "an unknown placeholder": (
        manifest(
            capabilities={"mcp_servers": {"a": {"type": "stdio", "command": "x", "args": ["${config.city}"]}}},
            type="mcp",
        ),
        "",
        r"\$\{config.city\}, which is no key",
    ),
    "a secret on a command line": (
        FULL
        | {
            "type": "mcp",
            "capabilities": {"mcp_servers": {"a": {"type": "stdio", "command": "x", "args": ["${config.API_KEY}"]}}},
        },
        "",
        "the secret `API_KEY`, which only `env` and `headers` of a server may",
    ),
    "a folder outside of the plugin": (
        manifest(capabilities={"folders": ["/etc"]}),
        "capabilities.folders[0]",
        "inside the plugin's folder",
    ),
    "a variable nobody agreed to": (
        FULL | {"permissions": FULL["permissions"] | {"environment": ["TZ"]}},
        "",
        "`permissions.environment` has to name `WEATHER_CITY`",
    ),
    "a secret in the agent's environment": (
        _with_variable("KEY", "${config.API_KEY}"),
        "",
        "the variable `KEY` uses the secret `API_KEY`",
    ),
    "the plugin's own folder in the agent's environment": (
        _with_variable("ROOT", "${plugin_root}"),
        "",
        r"the variable `ROOT` uses \$\{plugin_root\}",
    ),
    "a variable in small letters": (
        _with_variable("http_proxy", "x"),
        "capabilities.environment.http_proxy",
        "",
    ),
} | {
    f"the variable {name}": (_with_variable(name, "x"), f"capabilities.environment.{name}", "choose another name")
    for name in (
        "PATH",
        "LD_PRELOAD",
        "PYTHONPATH",
        "PERL5OPT",
        "GCONV_PATH",
        "GLIBC_TUNABLES",
        "NODE_OPTIONS",
        "BASH_ENV",
        "GIT_SSH_COMMAND",
        "HTTPS_PROXY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_SDK_PATTERN_PASSED",
        "DISABLE_TELEMETRY",
    )
}


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.replace(" ", "-"))
def test_broken_manifest_says_where_and_what_to_write(case: str) -> None:
    data, path, said = BROKEN[case]
    found = problems(data)
    assert any(
        (problem.path == path or (path == "plugin.json" and problem.path == ""))
        and problem.file == "plugin.json"
        and re.search(said, str(problem))
        for problem in found
    ), [str(problem) for problem in found]


def test_all_faults_are_told_at_once() -> None:
    assert {problem.path for problem in problems(manifest(name="X", version="x", zzz=1))} == {"name", "version", "zzz"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)


@given(field=st.sampled_from(sorted(FULL)), value=json_values)
def test_any_value_in_any_field_is_read_or_refused(field: str, value: Any) -> None:
    # Any other exception is a server that does not start because of one file.
    with contextlib.suppress(InvalidPluginError):
        read_manifest(json.dumps(FULL | {field: value}).encode())


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("1.4.0", "^1.2", True),
        ("2.0.0", "^1.2", False),
        ("0.1.0", ">=0.1.0", True),
        ("not-semver", "*", True),
        ("not-semver", ">=0", False),
        ("1.0.0", "nonsense", False),
    ],
)
def test_versions_fit_ranges_as_npm_has_them(version: str, wanted: str, expected: bool) -> None:
    assert fits(version, wanted) is expected
