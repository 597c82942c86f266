"""(h) Plugins: what many of them cost a server's start and a process's options, and what a bad one costs others."""

import asyncio
import contextlib
import json
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any

from claude_agent_sdk import InMemorySessionStore
from tests.support.platform import Chat, Platform, running_platform
from tests.support.plugins_at_work import activate, offered, tool_plugin

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.isolation.housing import Housing
from claude_sdk_pattern.isolation.kinds import Isolation
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.model import FilePolicy
from claude_sdk_pattern.sessions.options import AgentProfile, OptionsBuilder, ProcessPlan
from claude_sdk_pattern.sessions.policy_services import CORE_EVENTS
from claude_sdk_pattern.storage.schema import migrate

COUNTS = (1, 20, 200)

_SKILL = "---\nname: {name}\ndescription: Does nothing, in order to be counted.\n---\nDo nothing.\n"

_UNRULY = """
import os
from claude_agent_sdk import tool

@tool("block", "Block for ever", {})
async def block(arguments):
    while True: pass

@tool("large", "Return 20 MB", {})
async def large(arguments): return {"content": [{"type": "text", "text": "x" * 20_000_000}]}

@tool("flood", "Print a lot", {})
async def flood(arguments):
    for _ in range(50_000): os.write(1, b"flood" * 20 + b"\\n")
    return {"content": []}
"""

_ASKED = "say exactly: one two three four five six seven eight nine ten"


async def measure(folder: Path, *, quick: bool) -> dict[str, Any]:
    """Measure with 1, 20 and 200 plugins that bring a skill each, then first tokens beside a tool that misbehaves."""
    rounds = 3 if quick else 9
    many = {str(count): await _many(folder / f"many-{count}", count, rounds=rounds) for count in COUNTS}
    return {"many": many, "beside_ms": await _beside(folder / "beside", turns=5 if quick else 20)}


def rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the figures as rows of the table; the columns are 1, 20 and 200 plugins, or without and with the tool."""
    many, beside = figures["many"], figures["beside_ms"]
    one, some, all_of_them = (many[str(count)] for count in COUNTS)
    found = [
        (label, str(one[name]), str(some[name]), str(all_of_them[name]))
        for name, label in (
            ("first_start_ms", "server start that finds 1 / 20 / 200 new plugins, ms"),
            ("activation_ms", "activating one more of 1 / 20 / 200 plugins, ms"),
            ("start_ms", "server start with 1 / 20 / 200 active plugins, ms"),
            ("options_ms", "options of a process with 1 / 20 / 200 plugins, ms"),
            ("gate_ms", "the gate of 1 / 20 / 200 plugins, ms"),
            ("session_ms", "first token of a new session with 1 / 20 / 200 plugins, ms"),
            ("session_without_ms", "the same with all of them turned off, ms"),
        )
    ]
    ratio = round(beside["with"] / beside["without"], 2)
    told = "first token without / with a tool that misbehaves, ms"
    return [*found, (told, str(beside["without"]), str(beside["with"]), f"x {ratio}")]


async def _many(folder: Path, count: int, *, rounds: int) -> dict[str, float]:
    plugins = folder / "plugins"
    for number in range(count):
        _write(plugins / f"skill-{number:03}")
    url = f"sqlite+aiosqlite:///{folder / 'many.db'}"
    await migrate(url)
    settings: dict[str, Any] = {"prewarm_pool_size": 0, "plugins_dir": plugins}
    begun = time.perf_counter()
    async with running_platform(url, folder / "data", **settings) as platform:
        first_start = time.perf_counter() - begun
        activations = [
            await _seconds(platform.services.plugins.activate(f"skill-{number:03}", actor="benchmark"))
            for number in range(count)
        ]
    begun = time.perf_counter()
    async with running_platform(url, folder / "data", **settings) as platform:
        started = time.perf_counter() - begun
        runtime, active = platform.services.plugin_runtime, platform.services.plugins.active
        if len(active) != count:
            raise RuntimeError(f"{len(active)} plugins are active, not {count}")
        sessions: dict[str, list[float]] = {"with": [], "without": []}
        for _ in range(rounds):
            # Turn about, so that both see the same machine.
            sessions["without"].append(await _first_answer(platform, plugins=[]))
            sessions["with"].append(await _first_answer(platform))
        return {
            "first_start_ms": round(1000 * first_start, 1),
            # The last of them: what one costs when all the others are active.
            "activation_ms": round(1000 * statistics.median(activations[-10:]), 1),
            "start_ms": round(1000 * started, 1),
            "options_ms": _median_ms(lambda: _build_options(platform, active)),
            # A gate of its own each time, because the runtime keeps those it has made.
            "gate_ms": _median_ms(lambda: runtime.gate(PermissionGate(platform.services.policy.gate.policy), active)),
            "session_ms": round(1000 * statistics.median(sessions["with"]), 1),
            "session_without_ms": round(1000 * statistics.median(sessions["without"]), 1),
        }


async def _seconds(work: Awaitable[Any]) -> float:
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun


async def _first_answer(platform: Platform, **settings: Any) -> float:
    """Return how long a new session takes from its first message to its first token, its process included."""
    async with await platform.chat(**settings) as chat:
        return await _first_token(chat)


def _build_options(platform: Platform, active: PluginSet) -> None:
    """Do what is done for a process between the decision to start it and its start."""
    settings, folder = platform.services.settings, platform.data_dir
    offer = platform.services.plugin_runtime.offer(active, lambda _: None)
    housing = Housing(isolation=Isolation.PROCESS, launcher=folder, gateway_url="http://127.0.0.1")
    plan = ProcessPlan(
        process_id="p", agent_session_id="s", resume=False, workspace=folder, config_dir=folder, token="t"
    )
    OptionsBuilder(settings, housing, hook_events=CORE_EVENTS, files=FilePolicy()).build(
        plan,
        AgentProfile(plugins=active),
        offer,
        model=settings.default_model,
        permission_mode="default",
        transcripts=InMemorySessionStore(),
        can_use_tool=_never,
        run_hook=_never,
        stderr=lambda _: None,
    )
    offer.release()


async def _never(*_: Any) -> Any:
    raise AssertionError


def _write(folder: Path) -> None:
    manifest = {
        "manifest_version": "1",
        "name": folder.name,
        "version": "1.0.0",
        "type": "skill",
        "capabilities": {"skills": ["skills"]},
    }
    skill = folder / "skills" / folder.name / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(_SKILL.format(name=folder.name))
    (folder / "plugin.json").write_text(json.dumps(manifest))


def _median_ms(work: Any) -> float:
    times: list[float] = []
    for _ in range(20):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return round(1000 * statistics.median(times), 2)


async def _beside(folder: Path, *, turns: int) -> dict[str, float]:
    """Measure first tokens of a session while nothing else happens, and while another one's tool misbehaves."""
    await asyncio.to_thread(folder.mkdir, parents=True)
    url = f"sqlite+aiosqlite:///{folder / 'beside.db'}"
    await migrate(url)
    root = tool_plugin(folder / "unruly", _UNRULY, timeout_seconds=1)
    async with running_platform(url, folder / "data", prewarm_pool_size=0) as platform:
        async with await platform.chat(plugins=[]) as chat:
            await chat.ask(_ASKED)
            await activate(platform, root)
            times: dict[str, list[float]] = {"without": [], "with": []}
            for _ in range(turns):
                times["without"].append(await _first_token(chat))
                async with _misbehaving(platform):
                    times["with"].append(await _first_token(chat))
    return {kind: round(1000 * statistics.median(found), 1) for kind, found in times.items()}


@contextlib.asynccontextmanager
async def _misbehaving(platform: Platform) -> AsyncGenerator[None]:
    runtime = platform.services.plugin_runtime
    async with offered(runtime, platform.services.plugins.active) as call:
        tasks = [asyncio.create_task(call(f"mcp__unruly__{tool}")) for tool in ("large", "flood", "block")]
        await asyncio.sleep(0.05)
        try:
            yield
        finally:
            await asyncio.gather(*tasks)


async def _first_token(chat: Chat) -> float:
    begun = time.perf_counter()
    accepted = await chat.say(_ASKED)
    await chat.until(lambda event: isinstance(event, events.StreamEvent), turn_id=accepted.turn_id)
    first = time.perf_counter() - begun
    await chat.until(lambda event: isinstance(event, events.Result), turn_id=accepted.turn_id)
    return first
