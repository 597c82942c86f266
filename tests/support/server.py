"""The server as operators run it: a process of its own that can be killed, with a scripted model outside it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
from tests.support.log_hygiene import assert_clean
from tests.support.platform import PASSWORD, PATIENCE_SECONDS, REAL_KEY, SECRET_KEY
from websockets.asyncio.client import ClientConnection, connect

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.storage.database import Database

type Frame = dict[str, Any]

# A start is seconds of imports and of the first agent process; several at once on a small machine take their time.
START_SECONDS = 90.0

# A client that leaves with frames unread never comes to read that the server agrees.
CLOSE_SECONDS = 1.0

# A test does in a second what a person does in an hour. The limits have tests of their own.
_HARDLY_LIMITED = {
    f"CLAUDE_SDK_PATTERN_RATE_LIMIT_{name}_PER_MINUTE": "1000000"
    for name in ("REQUESTS", "NEW_SESSIONS", "SESSION_MESSAGES", "USER_MESSAGES")
} | {"CLAUDE_SDK_PATTERN_RATE_LIMIT_FRAMES_PER_SECOND": "1000"}

_PROGRAM = """
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.serving import serve
serve(Settings())
"""


@dataclass(kw_only=True)
class Server:
    """A server that may be stopped, killed and started again on the same port, database and folder."""

    model_url: str
    database_url: str
    data_dir: Path
    port: int
    settings: dict[str, str] = field(default_factory=dict[str, str])
    command: tuple[str, ...] = (sys.executable,)
    """What runs the program: Python, or something that does."""
    log_file: Path | None = None
    """Where the server's log goes; by default beside its data folder. It is searched for secrets when it ends."""
    process: Process | None = None

    @property
    def log(self) -> Path:
        """The file the log goes to."""
        return self.log_file or self.data_dir.parent / f"server-{self.port}.log"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it takes requests."""
        process = await self.spawn()
        async with asyncio.timeout(START_SECONDS), httpx2.AsyncClient(base_url=self.url) as client:
            while process.returncode is None:
                with contextlib.suppress(httpx2.TransportError):
                    if (await client.get("/api/v1/health/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.05)  # the port is opened last, and nothing announces it
        raise AssertionError(f"the server ended with {process.returncode}")

    async def spawn(self, *, stderr: int | None = None) -> Process:
        """Start its process, in a group of its own as a shell would, and wait for nothing."""
        environment = {
            **os.environ,
            "ANTHROPIC_API_KEY": REAL_KEY,
            "ANTHROPIC_BASE_URL": self.model_url,
            "CLAUDE_SDK_PATTERN_SECRET_KEY": SECRET_KEY,
            "CLAUDE_SDK_PATTERN_DB_URL": self.database_url,
            "CLAUDE_SDK_PATTERN_DATA_DIR": str(self.data_dir),
            "CLAUDE_SDK_PATTERN_PORT": str(self.port),
            # None of the repository's own, unless a test says so.
            "CLAUDE_SDK_PATTERN_PLUGINS_DIR": str(self.data_dir.parent / "plugins"),
            "CLAUDE_SDK_PATTERN_PREWARM_POOL_SIZE": "1",
            "CLAUDE_SDK_PATTERN_SHUTDOWN_GRACE_SECONDS": "1",
            **_HARDLY_LIMITED,
            **{f"CLAUDE_SDK_PATTERN_{name.upper()}": value for name, value in self.settings.items()},
        }
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, "-c", _PROGRAM, env=environment, start_new_session=True, stderr=stderr or log
            )
        return self.process

    @contextlib.asynccontextmanager
    async def beside(self, data_dir: Path) -> AsyncGenerator["Server"]:
        """Run another server on the same database, with a data folder of its own."""
        other = replace(self, data_dir=data_dir, port=free_port(), process=None)
        try:
            await other.start()
            yield other
        finally:
            await other.kill()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    async def kill(self) -> None:
        """End it as the kernel would: at once, with nothing saved that is not saved already."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        process = self.process
        if process is not None and process.returncode is None:
            process.send_signal(number)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await process.wait()
        assert_clean(self.log)

    @contextlib.asynccontextmanager
    async def client(self, username: str = "alice") -> AsyncGenerator[httpx2.AsyncClient]:
        """Sign in and yield a REST client that carries the access token."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE_SECONDS) as client:
            body = {"username": username, "password": PASSWORD, "client": "api"}
            answer = (await client.post("/api/v1/auth/login", json=body)).raise_for_status()
            client.headers["authorization"] = f"Bearer {answer.json()['access_token']}"
            yield client

    @contextlib.asynccontextmanager
    async def chat(self, client: httpx2.AsyncClient, query: str = "", **options: Any) -> AsyncGenerator["ChatSocket"]:
        """Open the chat WebSocket with a REST client's token."""
        token = client.headers["authorization"].removeprefix("Bearer ")
        protocols: Any = ["csp.v1", f"csp.bearer.{token}"]
        url = f"{self.url.replace('http', 'ws', 1)}/ws/v1/chat{query}"
        options = {"close_timeout": CLOSE_SECONDS, **options}
        async with connect(url, subprotocols=protocols, max_size=None, **options) as socket:
            yield ChatSocket(socket)


class ChatSocket:
    """A WebSocket client that remembers every frame it got."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[Frame] = []
        self.patience_seconds = PATIENCE_SECONDS

    async def send(self, **frame: Any) -> None:
        """Send one frame."""
        await self.socket.send(json.dumps(frame))

    async def receive(self) -> Frame:
        """Return the next frame. Raises TimeoutError, or ConnectionClosed when the server is gone."""
        async with asyncio.timeout(self.patience_seconds):
            frame: Frame = json.loads(await self.socket.recv())
        self.frames.append(frame)
        return frame

    async def until(self, kind: str, **fields: Any) -> Frame:
        """Read on until a frame of this type with these fields, and return it."""
        while True:
            frame = await self.receive()
            if frame["type"] == kind and all(frame.get(name) == value for name, value in fields.items()):
                return frame

    async def until_one_of(self, *kinds: str) -> Frame:
        """Read on until a frame of one of these types, and return it."""
        while True:
            frame = await self.receive()
            if frame["type"] in kinds:
                return frame


@contextlib.asynccontextmanager
async def running_server(model_url: str, database_url: str, data_dir: Path, **settings: str) -> AsyncGenerator[Server]:
    """Run a server with the users alice and bob (role user) and ada (admin)."""
    await store_people(database_url)
    server = Server(
        model_url=model_url, database_url=database_url, data_dir=data_dir, port=free_port(), settings=settings
    )
    try:
        await server.start()
        yield server
    finally:
        await server.kill()


async def store_people(database_url: str) -> None:
    """Store the users of :func:`running_server`."""
    async with Database(database_url) as database:
        users = Accounts(database, secret_key=SECRET_KEY).users
        for name, role in (("alice", Role.USER), ("bob", Role.USER), ("ada", Role.ADMIN)):
            await users.add(name, PASSWORD, role)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
