"""The one place that reaches behind the SDK's public interface, and why.

Three things this platform needs are not public in ``claude-agent-sdk`` 0.2: messages the SDK has no class for, which
its parser drops or answers with an exception that ends the stream; the process id of the CLI, without which a process
that no longer answers cannot be ended; and the pipes of a CLI that has ended, some of which stay open. Everything else
goes through :class:`ClaudeSDKClient` as it is.
"""

from collections.abc import AsyncGenerator
from typing import Any, cast

from claude_agent_sdk import ClaudeSDKClient, CLIConnectionError, Message
from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message

from claude_sdk_pattern.sessions.translate import UnknownMessage


class AgentClient(ClaudeSDKClient):
    """A :class:`ClaudeSDKClient` whose stream survives messages nobody has heard of."""

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


def read_message(data: dict[str, Any]) -> Message | UnknownMessage:
    """Return the SDK's message for what the CLI sent, or the raw data where the SDK has none."""
    try:
        message = parse_message(data)
    except MessageParseError:
        message = None
    return UnknownMessage(kind=str(data.get("type", "")), data=data) if message is None else message
