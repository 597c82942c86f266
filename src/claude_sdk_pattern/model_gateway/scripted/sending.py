"""Send a reply over one HTTP connection, with its pace and its fault."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from claude_sdk_pattern.model_gateway.scripted import wire
from claude_sdk_pattern.model_gateway.scripted.reply import Failure, Reply

_PING_SECONDS = 0.1
"""Between two pings. The real API sends them further apart; tests do not want to wait for that."""

_FLUSH_AT_BYTES = 8192
"""An answer without a pace is sent in pieces of this size: a write per delta would cost more than the delta."""


class ClientLeftError(Exception):
    """The client closed the connection; there is nobody to answer. Stays inside this module."""


class Connection:
    """The two callables of ASGI, with the few things the scripted model does with them."""

    def __init__(
        self,
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self._receive = receive
        self._send = send
        self._gone: asyncio.Task[None] | None = None
        self.request_id = wire.new_id("req")

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncGenerator[None]:
        """Within, ``pause`` notices a client that leaves; leaving early ends the block quietly."""
        self._gone = asyncio.create_task(self._until_gone())
        try:
            with contextlib.suppress(ClientLeftError):
                yield
        finally:
            self._gone.cancel()

    async def pause(self, seconds: float) -> None:
        """Wait. Raises ClientLeftError as soon as the client has left."""
        if self._gone is None:
            raise RuntimeError("pause() is for a watched connection")
        if seconds > 0:
            await asyncio.wait({self._gone}, timeout=seconds)
        if self._gone.done():
            raise ClientLeftError

    async def start(self, status: int, content_type: str, extra: list[tuple[str, str]]) -> None:
        headers = wire.headers(content_type, self.request_id, extra)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": data})

    async def send_json(self, status: int, content: object) -> None:
        await self.start(status, "application/json", [])
        await self.end(json.dumps(content).encode())

    async def send_error(
        self,
        status: int,
        *,
        error_type: str | None = None,
        message: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        extra = wire.rate_limit_headers(exhausted=status == 429)
        if retry_after_seconds is not None:
            extra.append(("retry-after", f"{retry_after_seconds:g}"))
        await self.start(status, "application/json", extra)
        await self.end(wire.error_body(status, error_type, message, self.request_id))

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def send_stream(connection: Connection, reply: Reply, failure: Failure | None, model: str) -> None:
    """Answer a request that asked for server-sent events."""
    if failure is None and not _takes_time(reply):
        await _stream_at_once(connection, reply, model)
        return
    async with connection.watched():
        if failure is None or failure.kind not in ("error_status", "hang_before_headers"):
            await _stream_paced(connection, reply, failure, model)
        else:
            await _fail_before_headers(connection, failure)


async def send_whole(connection: Connection, reply: Reply, failure: Failure | None, model: str) -> None:
    """Answer a request that asked for one JSON message. Pace becomes a wait before it."""
    async with connection.watched():
        if failure is not None and failure.kind in ("error_status", "hang_before_headers"):
            await _fail_before_headers(connection, failure)
            return
        data = wire.whole_message(reply, model)
        await connection.pause(reply.first_token_after)
        await connection.start(200, "application/json", wire.rate_limit_headers(exhausted=False))
        if failure is None:
            await connection.end(data)
        else:
            await connection.write(data[: len(data) // 2])
            await _fail_in_mid_stream(connection, failure)


def _takes_time(reply: Reply) -> bool:
    return reply.first_token_after > 0 or reply.seconds_per_chunk > 0


async def _stream_at_once(connection: Connection, reply: Reply, model: str) -> None:
    await connection.start(200, "text/event-stream; charset=utf-8", wire.rate_limit_headers(exhausted=False))
    waiting = bytearray(wire.message_start(reply, model, wire.new_id("msg")) + wire.PING)
    for index, block in enumerate(reply.blocks):
        waiting += wire.block_start(index, block)
        for chunk in block.chunks:
            waiting += wire.block_delta(index, block, chunk)
            if len(waiting) >= _FLUSH_AT_BYTES:
                await connection.write(bytes(waiting))
                waiting.clear()
        waiting += wire.block_end(index, block)
    await connection.end(bytes(waiting) + wire.message_end(reply))


async def _stream_paced(connection: Connection, reply: Reply, failure: Failure | None, model: str) -> None:
    """Send each delta on its own, at its time, and fail after the chunk that the failure names."""
    await connection.start(200, "text/event-stream; charset=utf-8", wire.rate_limit_headers(exhausted=False))
    await connection.write(wire.message_start(reply, model, wire.new_id("msg")) + wire.PING)
    await connection.pause(reply.first_token_after)
    # Due times are counted from the start, so that small delays do not add up over a long answer.
    clock = asyncio.get_running_loop().time
    started = clock()
    sent = 0
    for index, block in enumerate(reply.blocks):
        await connection.write(wire.block_start(index, block))
        for chunk in block.chunks:
            if failure is not None and sent >= failure.after_chunks:
                break
            await connection.write(wire.block_delta(index, block, chunk))
            sent += 1
            await connection.pause(started + sent * reply.seconds_per_chunk - clock())
        if failure is not None and sent >= failure.after_chunks:
            break
        await connection.write(wire.block_end(index, block))
    if failure is not None:
        await _fail_in_mid_stream(connection, failure)
        return
    await connection.end(wire.message_end(reply))


async def _fail_before_headers(connection: Connection, failure: Failure) -> None:
    if failure.kind == "error_status":
        await connection.send_error(
            failure.status,
            error_type=failure.error_type,
            message=failure.message,
            retry_after_seconds=failure.retry_after_seconds,
        )
    else:
        await connection.pause(failure.seconds)
        await connection.send_error(504, message="The scripted model let this request hang")


async def _fail_in_mid_stream(connection: Connection, failure: Failure) -> None:
    """Leave the stream broken. Returning without an end makes the server close the connection in mid-answer."""
    match failure.kind:
        case "hang_mid_stream":
            await connection.pause(failure.seconds)
        case "pings_mid_stream":
            await _ping(connection, failure.seconds)
        case "garbage_mid_stream":
            await connection.end(wire.GARBAGE)
        case "error_mid_stream":
            await connection.end(wire.error_event(failure.status, failure.error_type, failure.message))
        case _:
            pass


async def _ping(connection: Connection, seconds: float) -> None:
    """Send pings and nothing else, for so long or until the client leaves."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while clock() < until:
        await connection.write(wire.PING)
        await connection.pause(_PING_SECONDS)
