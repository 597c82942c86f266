"""One turn, timed, in two ways: through the SDK directly, and through the platform's WebSocket."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, StreamEvent
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.servers import RunningPlatform

# The scripted model writes the moment it sent a token into the token: nanoseconds of the monotonic clock.
_STAMP = re.compile(r"t=(\d+)")

_TURN_SECONDS = 120.0


@dataclass(kw_only=True)
class Timing:
    """One turn. Milliseconds from sending the message; ``token_delays_ms`` is the age of each stamped token."""

    first_token_ms: float = 0.0
    result_ms: float = 0.0
    token_delays_ms: list[float] = field(default_factory=list[float])


class Talker(Protocol):
    """A conversation that can be timed."""

    async def turn(self, text: str) -> Timing:
        """Send a message, wait for its result, and say how long things took."""
        ...


class _Clock:
    """Times one turn from pieces of text as they arrive."""

    def __init__(self) -> None:
        self.timing = Timing()
        self._started = time.monotonic_ns()

    def text(self, piece: str) -> None:
        now = time.monotonic_ns()
        if not self.timing.first_token_ms:
            self.timing.first_token_ms = (now - self._started) / 1e6
        # A token is sent in one piece, and joined with others but never cut on its way.
        self.timing.token_delays_ms += [(now - int(stamp)) / 1e6 for stamp in _STAMP.findall(piece)]

    def result(self) -> Timing:
        self.timing.result_ms = (time.monotonic_ns() - self._started) / 1e6
        return self.timing


class Direct:
    """A held client of the SDK, used as its documentation shows."""

    def __init__(self, client: ClaudeSDKClient) -> None:
        self._client = client

    async def turn(self, text: str) -> Timing:
        """Send a message, wait for its result, and say how long things took."""
        clock = _Clock()
        await self._client.query(text)
        async for message in self._client.receive_response():
            if isinstance(message, StreamEvent) and message.event.get("type") == "content_block_delta":
                clock.text(message.event["delta"].get("text", ""))
            elif isinstance(message, ResultMessage):
                return clock.result()
        raise RuntimeError("the client ended")


def direct_options(model_url: str, folder: Path) -> ClaudeAgentOptions:
    """Return options for a client of the SDK on the model itself; what matters for speed is like the platform's."""
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir(parents=True)
    workspace.mkdir()
    return ClaudeAgentOptions(
        cwd=workspace,
        env={
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "benchmark",
            "CLAUDE_CONFIG_DIR": str(config),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        },
        setting_sources=[],
        strict_mcp_config=True,
        include_partial_messages=True,
        permission_mode="acceptEdits",
        model="claude-sonnet-4-5",
        max_buffer_size=64 * 1024 * 1024,
    )


@contextlib.asynccontextmanager
async def direct_client(model_url: str, folder: Path) -> AsyncGenerator[Direct]:
    """Connect a client of the SDK to the model itself."""
    async with ClaudeSDKClient(direct_options(model_url, folder)) as client:
        yield Direct(client)


class Through:
    """A browser's view: one WebSocket on a session of the platform."""

    def __init__(self, socket: ClientConnection, session_id: str) -> None:
        self._socket = socket
        self.session_id = session_id

    async def turn(self, text: str, *, patience: float = _TURN_SECONDS) -> Timing:
        """Send a message, wait for its result, and say how long things took."""
        clock = _Clock()
        await self._socket.send(json.dumps({"type": "user_message", "text": text, "client_id": str(uuid4())}))
        return await self.watch(clock, patience=patience)

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Read on until a frame is the wanted one."""
        async with asyncio.timeout(_TURN_SECONDS):
            while not wanted(json.loads(await self._socket.recv())):
                pass

    async def watch(self, clock: _Clock | None = None, *, patience: float = _TURN_SECONDS) -> Timing:
        """Time a turn that somebody else begins."""
        clock = clock or _Clock()
        async with asyncio.timeout(patience):
            while True:
                frame: dict[str, Any] = json.loads(await self._socket.recv())
                if frame["type"] == "stream_event" and frame["kind"] == "text":
                    clock.text(frame["delta"])
                elif frame["type"] == "result":
                    return clock.result()
                elif frame["type"] == "error":
                    raise RuntimeError(frame["message"])


@contextlib.asynccontextmanager
async def platform_client(
    platform: RunningPlatform, session_id: str | None = None, *, access_token: str | None = None
) -> AsyncGenerator[Through]:
    """Open a WebSocket on a session, a new one unless its id is given, from its end."""
    query = f"?session_id={session_id}&after={2**31}" if session_id else ""
    protocols: Any = ["csp.v1", f"csp.bearer.{access_token or platform.access_token}"]
    async with connect(
        platform.websocket_url + query, subprotocols=protocols, max_size=None, compression=None
    ) as socket:
        hello = json.loads(await socket.recv())
        if hello["resume"] == "gap":
            await socket.send(
                json.dumps({"type": "session_command", "command": "sync", "last_message_seq": hello["last_seq"]})
            )
            while json.loads(await socket.recv()).get("resume") != "ok":
                pass
        yield Through(socket, hello["session_id"])
