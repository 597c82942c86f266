"""What plugins ask of the platform: taken out of the stream before the MCP session, which knows no such requests."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import structlog
from anyio import BrokenResourceError, ClosedResourceError, create_memory_object_stream
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from claude_sdk_pattern.plugins.author import JsonObject, PlatformRefusedError
from claude_sdk_pattern.plugins.hosted.protocol import ASK_PREFIX
from claude_sdk_pattern.plugins.runtime.streams import Link, Received, Sent

logger = structlog.get_logger(__name__)

type Answering = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Answers what a plugin asks: its name and parameters, to the answer. Raises PlatformRefusedError."""

# What one plugin may have asked for and not yet been answered. Each may be a turn of an agent.
_MAX_ASKED = 8


@contextlib.asynccontextmanager
async def answering(link: Link, answer: Answering) -> AsyncGenerator[Link]:
    """Yield the way to a plugin without what the plugin asks of the platform, which ``answer`` answers."""
    into_session, received = create_memory_object_stream[SessionMessage | Exception](0)
    asked: set[asyncio.Task[None]] = set()
    task = asyncio.create_task(_sort(link.received, into_session, link.sent.clone(), answer, asked))
    try:
        yield replace(link, received=received)
    finally:
        for running in (task, *asked):
            running.cancel()
        await asyncio.gather(task, *asked, return_exceptions=True)
        into_session.close()
        received.close()


async def _sort(
    inner: Received,
    into_session: MemoryObjectSendStream[SessionMessage | Exception],
    sent: Sent,
    answer: Answering,
    asked: set[asyncio.Task[None]],
) -> None:
    with into_session, sent, contextlib.suppress(ClosedResourceError, BrokenResourceError):
        async for item in inner:
            message = item.message if isinstance(item, SessionMessage) else None
            if not isinstance(message, JSONRPCRequest) or not message.method.startswith(ASK_PREFIX):
                await into_session.send(item)
                continue
            task = asyncio.create_task(_answer(message, sent, answer, is_too_many=len(asked) >= _MAX_ASKED))
            asked.add(task)
            task.add_done_callback(asked.discard)


async def _answer(request: JSONRPCRequest, sent: Sent, answer: Answering, *, is_too_many: bool) -> None:
    result: dict[str, Any]
    try:
        if is_too_many:
            raise PlatformRefusedError(f"This plugin waits for {_MAX_ASKED} answers already.")
        result = await answer(request.method.removeprefix(ASK_PREFIX), request.params or {})
    except PlatformRefusedError as refusal:
        result = {"refused": str(refusal)}
    except Exception:
        # Whatever it was, the plugin waits for an answer, and the reason is not for it.
        logger.exception("plugin_not_answered", asked=request.method[:100])
        result = {"refused": "The platform failed."}
    with contextlib.suppress(ClosedResourceError, BrokenResourceError):
        await sent.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)))
