"""The one place that reaches behind the SDK's public interface, and why.

Five things this platform needs are not public in ``claude-agent-sdk`` 0.2: messages the SDK has no class for, which
its parser drops or answers with an exception that ends the stream; the process id of the CLI, without which a process
that no longer answers cannot be ended; the folder that a resumed conversation was put into; the pipes of a CLI that has
ended, some of which stay open; and answers to a CLI that has died, which fail where nobody can catch it. Everything
else goes through :class:`ClaudeSDKClient` as it is.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable
from pathlib import Path
from typing import Any, cast, override

from claude_agent_sdk import ClaudeSDKClient, CLIConnectionError, Message
from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message

from claude_sdk_pattern.sessions.translate import UnknownMessage


class AgentClient(ClaudeSDKClient):
    """A :class:`ClaudeSDKClient` whose stream survives messages nobody has heard of."""

    @override
    async def connect(self, prompt: str | AsyncIterable[dict[str, Any]] | None = None) -> None:
        """Start the CLI and connect to it."""
        await super().connect(prompt)
        query: Any = self._query
        handle = query._handle_control_request

        async def handle_while_alive(request: Any) -> None:
            # Answered after the death of the CLI that asked: nobody waits for it, and the reader tells of the death.
            with contextlib.suppress(CLIConnectionError):
                await handle(request)

        query._handle_control_request = handle_while_alive

    async def receive_all(self) -> AsyncGenerator[Message | UnknownMessage]:
        """Yield every message until the process ends.

        Raises:
            claude_agent_sdk.ProcessError: the process ended with an error.
            claude_agent_sdk.CLIConnectionError: the client is not connected.
        """
        if self._query is None:
            raise CLIConnectionError("not connected")
        async for data in self._query.receive_messages():
            yield read_message(cast("dict[str, Any]", data))

    async def disconnect(self) -> None:
        """End the CLI and close its pipes, which the SDK leaves to the garbage collector."""
        process: Any = getattr(self._transport, "_process", None)
        try:
            await super().disconnect()
        finally:
            if process is not None:
                # anyio's process around asyncio's around the transport, which has all three pipes.
                process._process._transport.close()

    @property
    def pid(self) -> int | None:
        """The process id of the CLI, or of the launcher's sandbox around it; None when there is no process."""
        process: Any = getattr(self._transport, "_process", None)
        return None if process is None else cast("int", process.pid)

    @property
    def config_dir(self) -> Path:
        """The CLI's own folder: a new one where the SDK has put a conversation into it, else what the options say."""
        if self._materialized is not None:
            return self._materialized.config_dir
        return Path(self.options.env["CLAUDE_CONFIG_DIR"])


def read_message(data: dict[str, Any]) -> Message | UnknownMessage:
    """Return the SDK's message for what the CLI sent, or the raw data where the SDK has none."""
    try:
        message = parse_message(data)
    except MessageParseError:
        message = None
    return UnknownMessage(kind=str(data.get("type", "")), data=data) if message is None else message
