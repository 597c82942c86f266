"""The processes a benchmark needs, each in a process of its own: a scripted model and a platform."""

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx2

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_USERS = ("bench", "neighbour")
_PASSWORD = "benchmark password"

# One person plays many here, and faster than any.
_UNLIMITED = {
    f"CLAUDE_SDK_PATTERN_RATE_LIMIT_{name}_PER_MINUTE": "1000000"
    for name in ("REQUESTS", "NEW_SESSIONS", "SESSION_MESSAGES", "USER_MESSAGES")
} | {
    "CLAUDE_SDK_PATTERN_RATE_LIMIT_FRAMES_PER_SECOND": "1000",
    "CLAUDE_SDK_PATTERN_MAX_CONNECTIONS_PER_USER": "2000",
}


@dataclass(frozen=True, kw_only=True)
class RunningPlatform:
    """A platform's address, access tokens of two people, and its process id."""

    base_url: str
    access_token: str
    other_access_token: str
    pid: int

    @property
    def websocket_url(self) -> str:
        """Address of the chat WebSocket."""
        return self.base_url.replace("http", "ws", 1) + "/ws/v1/chat"


@contextlib.asynccontextmanager
async def running_model() -> AsyncGenerator[str]:
    """Run the scripted model and yield its base address."""
    command = [sys.executable, "-m", "claude_sdk_pattern.model_gateway.scripted", "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    try:
        yield (await _line_of(process)).rsplit(" ", 1)[-1]
    finally:
        await _stop(process)


@contextlib.asynccontextmanager
async def running_platform(model_url: str, data_dir: Path, **settings: str) -> AsyncGenerator[RunningPlatform]:
    """Run the server on a free port with two users, signed in, and its pool filled."""
    program = str(Path(sys.executable).with_name("claude-sdk-pattern"))
    port = _free_port()
    environment = {
        **os.environ,
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "benchmark",
        "CLAUDE_SDK_PATTERN_SECRET_KEY": secrets.token_hex(32),
        "CLAUDE_SDK_PATTERN_DATA_DIR": str(data_dir),
        "CLAUDE_SDK_PATTERN_PORT": str(port),
        "CLAUDE_SDK_PATTERN_LOG_LEVEL": "WARNING",
        "CLAUDE_SDK_PATTERN_SHUTDOWN_GRACE_SECONDS": "0",
        **_UNLIMITED,
        **{f"CLAUDE_SDK_PATTERN_{name.upper()}": value for name, value in settings.items()},
    }
    await _run(program, "migrate", environment=environment)
    for name in _USERS:
        await _run(program, "user", "add", name, "--role", "user", "--password-stdin", environment=environment)
    process = await asyncio.create_subprocess_exec(program, "serve", env=environment)
    base_url = f"http://127.0.0.1:{port}"
    try:
        async with httpx2.AsyncClient(base_url=base_url) as client:
            await _until_started(client, process)
            token, other = [await _sign_in(client, name) for name in _USERS]
        yield RunningPlatform(base_url=base_url, access_token=token, other_access_token=other, pid=process.pid)
    finally:
        await _stop(process)


async def _sign_in(client: httpx2.AsyncClient, username: str) -> str:
    body = {"username": username, "password": _PASSWORD, "client": "api"}
    token: str = (await client.post("/api/v1/auth/login", json=body)).raise_for_status().json()["access_token"]
    return token


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _run(*command: str, environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdin=PIPE)
    await process.communicate(f"{_PASSWORD}\n".encode())
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")


async def _line_of(process: Process) -> str:
    if process.stdout is None:
        raise RuntimeError("no output to read")
    async with asyncio.timeout(_START_SECONDS):
        return (await process.stdout.readline()).decode().strip()


async def _until_started(client: httpx2.AsyncClient, process: Process) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while process.returncode is None:
            with contextlib.suppress(httpx2.TransportError):
                if (await client.get("/api/v1/health/startup")).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise RuntimeError("the server did not start")


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
