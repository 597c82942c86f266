"""What the life cycle of sessions costs: starting, sleeping and waking, being many, and being long.

Each figure that is a ratio is measured side by side in one run. The sessions of the last two measurements are made by
the platform itself; the long tape is written with the platform's own log into its database before the server starts.
"""

import asyncio
import contextlib
import json
import random
import sqlite3
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psutil
from claude_agent_sdk import ClaudeSDKClient, InMemorySessionStore, SandboxSettings
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.servers import RunningPlatform, running_platform
from benchmarks.turns import Direct, Through, direct_client, direct_options, platform_client

_SHORT = "say exactly: Short answers show the overhead best."
_MEBIBYTE = 1024 * 1024
_PATIENCE_SECONDS = 180.0


async def measure(model_url: str, folder: Path, *, quick: bool) -> dict[str, Any]:
    """Measure all; returns ``first_message``, ``wake``, ``many_sessions`` and ``long_tape``."""
    rounds = 3 if quick else 15
    # Quiet sessions fall asleep after a second, watched or not.
    sleepy = {"session_timeout": "1", "hibernate_after_seconds": "1", "watchdog_interval_seconds": "0.2"}
    async with running_platform(model_url, folder / "pool") as server:
        first = await _first_messages(model_url, server, folder / "first", rounds)
    async with running_platform(model_url, folder / "sleepy", **sleepy) as server:
        wake = await _wake(model_url, server, folder / "resume", rounds)
    async with running_platform(model_url, folder / "many", max_sessions="8", **sleepy) as server:
        many = await _many_sessions(server, [10, 50] if quick else [10, 100, 1000], messages=5 if quick else 40)
    async with running_platform(model_url, folder / "long", prewarm_pool_size="0") as server:
        tape = await _long_tape(server, folder / "long", 5_000 if quick else 100_000, rounds)
    return {"first_message": first, "wake": wake, "many_sessions": many, "long_tape": tape}


# --- starting --------------------------------------------------------------------------------------------------


async def _first_messages(model_url: str, server: RunningPlatform, folder: Path, rounds: int) -> dict[str, Any]:
    """The first token of a new session on a full pool, against the first of a client that is connected, by turns."""
    direct: list[float] = []
    platform: list[float] = []
    for number in range(rounds):
        async with direct_client(model_url, folder / str(number)) as client:
            await asyncio.sleep(1)
            direct.append((await client.turn(_SHORT)).first_token_ms)
        # The pool refills in the background; this is about a pool that is full.
        await asyncio.sleep(3)
        async with platform_client(server) as talker:
            platform.append((await talker.turn(_SHORT)).first_token_ms)
    return _ratio(direct, platform)


async def _wake(model_url: str, server: RunningPlatform, folder: Path, rounds: int) -> dict[str, Any]:
    """From the message to the first token of a session that sleeps, against connecting a client with ``resume``.

    The platform's agents have Claude Code's sandbox on, which takes it time to set up; so there are two such clients.
    """
    kinds: dict[str, SandboxSettings | None] = {"direct": None, "sandboxed": {"enabled": True}}
    direct: dict[str, list[float]] = {kind: [] for kind in kinds}
    platform: list[float] = []
    store = InMemorySessionStore()
    options = direct_options(model_url, folder)
    options.session_store = store
    session_id = str(uuid4())
    options.session_id = session_id
    async with ClaudeSDKClient(options) as client:
        await Direct(client).turn(_SHORT)
    async with platform_client(server) as talker:
        await talker.turn(_SHORT)
        for number in range(rounds):
            for kind, sandbox in kinds.items():
                again = direct_options(model_url, folder / f"{kind}-{number}")
                again.session_store, again.resume, again.cwd, again.sandbox = store, session_id, options.cwd, sandbox
                started = time.monotonic()
                async with ClaudeSDKClient(again) as client:
                    connected = time.monotonic() - started
                    direct[kind].append(1000 * connected + (await Direct(client).turn(_SHORT)).first_token_ms)
            await talker.until(lambda frame: frame.get("status") == "hibernated")
            # The end of the process is no part of its next start.
            await asyncio.sleep(1)
            platform.append((await talker.turn(_SHORT)).first_token_ms)
    sandboxed = _ratio(direct["sandboxed"], platform)
    return {
        **_ratio(direct["direct"], platform),
        "direct_sandboxed_ms": sandboxed["direct_ms"],
        "ratio_sandboxed": sandboxed["ratio_of_medians"],
    }


def _ratio(direct: Sequence[float], platform: Sequence[float]) -> dict[str, Any]:
    medians = statistics.median(direct), statistics.median(platform)
    return {
        "direct_ms": round(medians[0], 1),
        "platform_ms": round(medians[1], 1),
        "ratio_of_medians": round(medians[1] / medians[0], 3),
        "count": len(direct),
    }


# --- being many ------------------------------------------------------------------------------------------------


async def _many_sessions(server: RunningPlatform, counts: list[int], *, messages: int) -> dict[str, Any]:
    """Sessions that are open, each with a WebSocket; then messages to some of them at once, with eight agents."""
    found: dict[str, Any] = {}
    process = psutil.Process(server.pid)
    async with contextlib.AsyncExitStack() as stack:
        talkers: list[Through] = []
        await asyncio.sleep(2)
        before = process.memory_info().rss
        found["empty_mb"] = round(before / _MEBIBYTE, 1)
        for count in counts:
            while len(talkers) < count:
                talkers.append(await stack.enter_async_context(platform_client(server)))
            await asyncio.sleep(2)
            rss = process.memory_info().rss
            found[str(count)] = {
                "server_mb": round(rss / _MEBIBYTE, 1),
                "kb_per_session": round((rss - before) / 1024 / count, 1),
            }
        # Chosen by a fixed seed: any of them has to answer.
        chosen = random.Random(1).sample(talkers, min(messages, len(talkers)))  # noqa: S311 - no secret
        started = time.monotonic()
        await asyncio.gather(*(talker.turn(_SHORT, patience=_PATIENCE_SECONDS) for talker in chosen))
        found["messages"] = {
            "sent": len(chosen),
            "answered": len(chosen),
            "seconds": round(time.monotonic() - started, 1),
            "server_mb": round(process.memory_info().rss / _MEBIBYTE, 1),
        }
    return found


# --- being long ------------------------------------------------------------------------------------------------


async def _long_tape(server: RunningPlatform, data_dir: Path, length: int, rounds: int) -> dict[str, Any]:
    """Reconnecting with the last 50 events missing, and reading the last page, on a short and on a long tape."""
    headers = {"Authorization": f"Bearer {server.access_token}"}
    found: dict[str, Any] = {}
    async with httpx2.AsyncClient(base_url=server.base_url, headers=headers, timeout=60) as client:
        sessions: dict[int, str] = {}
        for events in (100, length):
            created = (await client.post("/api/v1/sessions", json={})).raise_for_status().json()
            sessions[events] = created["id"]
            _write_tape(data_dir, created["id"], events)
        times: dict[int, tuple[list[float], list[float]]] = {events: ([], []) for events in sessions}
        for _ in range(rounds):
            for events, session_id in sessions.items():
                times[events][0].append(await _reconnect(server, session_id, after=events - 50, until=events))
                started = time.monotonic()
                path = f"/api/v1/sessions/{session_id}/messages?after={events - 100}"
                page = (await client.get(path)).raise_for_status().json()
                times[events][1].append(1000 * (time.monotonic() - started))
                if len(page["items"]) != 100:
                    raise RuntimeError("the page is not whole")
    for position, name in enumerate(("reconnect", "last_page")):
        short, long = (statistics.median(times[events][position]) for events in sessions)
        found[name] = {
            "short_ms": round(short, 1),
            "long_ms": round(long, 1),
            "ratio_of_medians": round(long / short, 3),
        }
    return {"short": 100, "long": length, **found}


def _write_tape(data_dir: Path, session_id: str, events: int) -> None:
    """Write a tape as fast as SQLite takes it; the server finds it there as if it had written it."""
    text = json.dumps({"type": "text", "block_id": "b", "content": "x" * 200})
    rows = [(session_id, seq, "text", "turn", "agent", 1_700_000_000_000 + seq, text) for seq in range(1, events + 1)]
    with contextlib.closing(sqlite3.connect(data_dir / "claude_sdk_pattern.db", timeout=30)) as database, database:
        columns = "session_id, seq, type, turn_id, actor, ts_ms, payload"
        database.executemany(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


async def _reconnect(server: RunningPlatform, session_id: str, *, after: int, until: int) -> float:
    protocols: Any = ["csp.v1", f"csp.bearer.{server.access_token}"]
    url = f"{server.websocket_url}?session_id={session_id}&after={after}"
    started = time.monotonic()
    async with connect(url, subprotocols=protocols, max_size=None, compression=None) as socket:
        await _until_seq(socket, until)
        return 1000 * (time.monotonic() - started)


async def _until_seq(socket: ClientConnection, seq: int) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while json.loads(await socket.recv()).get("seq") != seq:
            pass


# --- the table -------------------------------------------------------------------------------------------------


def rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of results: what, direct SDK, platform, ratio."""
    found: list[tuple[str, str, str, str]] = []
    for name, label in (
        ("first_message", "first token of a new session, pool full, ms"),
        ("wake", "first token of a session that slept, ms"),
    ):
        entry = figures[name]
        found.append((label, f"{entry['direct_ms']}", f"{entry['platform_ms']}", f"x {entry['ratio_of_medians']}"))
    wake = figures["wake"]
    label = "the same against a client with the same sandbox, ms"
    found.append((label, f"{wake['direct_sandboxed_ms']}", f"{wake['platform_ms']}", f"x {wake['ratio_sandboxed']}"))
    many = dict(figures["many_sessions"])
    messages, empty = many.pop("messages"), many.pop("empty_mb")
    for count, entry in many.items():
        found.append(
            (
                f"memory of the server, {count} open sessions, MiB",
                f"none: {empty}",
                f"{entry['server_mb']}",
                f"{entry['kb_per_session']} KiB each",
            )
        )
    found.append(
        (
            f"{messages['sent']} messages at once, 8 agents",
            "",
            f"{messages['answered']} answered",
            f"{messages['seconds']} s",
        )
    )
    tape = figures["long_tape"]
    for name, label in (("reconnect", "reconnect, 50 events missing, ms"), ("last_page", "last page over REST, ms")):
        entry = tape[name]
        found.append(
            (
                label,
                f"{tape['short']} events: {entry['short_ms']}",
                f"{tape['long']} events: {entry['long_ms']}",
                f"x {entry['ratio_of_medians']}",
            )
        )
    return found
