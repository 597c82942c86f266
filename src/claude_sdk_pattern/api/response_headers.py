"""Headers that every answer carries: what a page may load and do, and how long a browser may keep a file."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Everything comes from this server: no script, style, font or picture of another's, no frame around the page, no
# plug-in, no form that posts elsewhere. What an agent writes is shown in this page.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

# The build names these files by their content, so one that is there never changes.
_IMMUTABLE = "/assets/"
_ONE_YEAR = "public, max-age=31536000, immutable"


class ResponseHeadersMiddleware:
    """Adds the headers; one that a route has set itself stays."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on with its answer's headers completed."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                kept = scope["path"].startswith(_IMMUTABLE) and message["status"] == 200
                headers.setdefault("Cache-Control", _ONE_YEAR if kept else "no-cache")
            await send(message)

        return await self._app(scope, receive, send_completed)
