"""A runtime for plugins without sessions: real processes behind real walls where the machine can have them."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import pytest

from claude_sdk_pattern.isolation.confinement import Confinement
from claude_sdk_pattern.isolation.kinds import AgentLimits, Isolation
from claude_sdk_pattern.isolation.probe import resolve_isolation
from claude_sdk_pattern.plugins.author import JsonObject
from claude_sdk_pattern.plugins.runtime.forwarding import ToolFailure
from claude_sdk_pattern.plugins.runtime.links import ProcessLimits
from claude_sdk_pattern.plugins.runtime.plugin_at_work import Platform, RunningSettings
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime

AGENT_UID = 61_000

SECRETS = {("keeper", "API_KEY"): "canary-plugin-secret"}


@dataclass
class Watched:
    """What a runtime has reported."""

    health: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failures: list[ToolFailure] = field(default_factory=list[ToolFailure])


@dataclass(frozen=True)
class Workshop:
    """A runtime and what it has reported."""

    runtime: PluginRuntime
    watched: Watched
    data: Path


@pytest.fixture(scope="module")
async def isolation(anyio_backend: str) -> Isolation:
    """The walls that this machine can have."""
    limits = AgentLimits(
        processes=64, open_files=256, file_bytes=1 << 20, cpu_seconds=60, tmp_bytes=1 << 20, shm_bytes=1 << 20
    )
    return await resolve_isolation(None, limits=limits, uid=AGENT_UID)


@pytest.fixture(scope="module")
async def workshop(isolation: Isolation, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Workshop]:
    """A runtime that a module's tests share: each start of a Python process takes its time."""
    folder = tmp_path_factory.mktemp("workshop")
    confinement = Confinement(folder / "run", isolation=isolation, uid=AGENT_UID)
    watched = Watched()
    settings = RunningSettings(
        data=folder / "data",
        limits=ProcessLimits(
            processes=128, open_files=512, file_mb=1, cpu_seconds=600, tmp_mb=4, max_message_bytes=256 * 1024
        ),
        start_seconds=30,
        max_result_bytes=64 * 1024,
        networks=(ip_network("127.0.0.0/8"),),
    )

    async def reveal(plugin: str, key: str) -> str | None:
        return SECRETS.get((plugin, key))

    async def ask(plugin: str, what: str, params: JsonObject) -> JsonObject:
        return {"plugin": plugin, "what": what, **params}

    runtime = PluginRuntime(
        settings,
        Platform(confinement=confinement, reveal=reveal, ask=ask),
        folders=folder / "folders",
        on_health=lambda plugin, problem: watched.health.append((plugin, problem)),
        on_call=lambda plugin, outcome, _: watched.calls.append((plugin, outcome)),
        redact=lambda text: text.replace("canary-plugin-secret", "[redacted]"),
    )
    async with confinement.running():
        try:
            yield Workshop(runtime, watched, settings.data)
        finally:
            await runtime.aclose()
