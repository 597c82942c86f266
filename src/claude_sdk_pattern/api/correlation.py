"""One id for everything that is logged while a request or WebSocket is served.

The id comes from the header ``X-Request-ID`` if a proxy set a plain one, and is returned in the same header.
"""

import re
from typing import Final
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars, unbind_contextvars

HEADER: Final = "X-Request-ID"

# What is taken over ends up in logs and in an answer.
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class CorrelationMiddleware:
    """Binds ``correlation_id`` to the logs of each connection. Add it last, so that it is the outermost."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return await self._app(scope, receive, send)
        given = Headers(scope=scope).get(HEADER, "")
        correlation_id = given if _PLAIN.fullmatch(given) else str(uuid4())

        async def send_with_id(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start", "websocket.accept"}:
                MutableHeaders(scope=message)[HEADER] = correlation_id
            await send(message)

        with bound_contextvars(correlation_id=correlation_id):
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                # Bound on the way, by whoever found out who is asking for what.
                unbind_contextvars("user_id", "session_id")
