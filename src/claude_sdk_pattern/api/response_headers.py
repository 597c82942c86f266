"""Headers that every answer carries: what a page may load and do, and how long a browser may keep a file."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

IMPORT_MAP_HASH = "sha256-hstvoDGX0tbpj/saTf48+qTTbLT86I9FZW2j75S/9cg="  # pragma: allowlist secret
"""Of the import map in the web app's index.html: the only inline script there is, and it runs nothing."""

# Everything comes from this server: no script, style, font or picture of another's, no frame around the page, no
# plug-in, no form that posts elsewhere. What an agent writes is shown in this page. Frames hold apps of plugins, which
# have policies of their own; this one keeps them from going elsewhere.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src 'self' '{IMPORT_MAP_HASH}'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # For browsers that do not know the policy's own word for it.
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The page asks for none of what a browser could grant, except to write to the clipboard.
    "Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
    "magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
}
"""Of every answer, also of those that are given before there is a request."""

# Once reached by https, a browser comes that way only. Not for subdomains: they are not this server's to decide for.
_STRICT_TRANSPORT = "max-age=31536000"

# The build names these files by their content, so one that is there never changes.
_IMMUTABLE = "/assets/"
_API = ("/api/", "/ws/", "/metrics")
_ONE_YEAR = "public, max-age=31536000, immutable"


class ResponseHeadersMiddleware:
    """Adds the headers; one that a route has set itself stays."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on with its answer's headers completed."""
        if scope["type"] not in {"http", "websocket"}:
            return await self._app(scope, receive, send)

        async def send_completed(message: Message) -> None:
            # The latter refuses a WebSocket handshake.
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] in {"https", "wss"}:
                    headers.setdefault("Strict-Transport-Security", _STRICT_TRANSPORT)
                headers.setdefault("Cache-Control", _caching(scope["path"], message["status"]))
            await send(message)

        return await self._app(scope, receive, send_completed)


def _caching(path: str, status: int) -> str:
    if path.startswith(_API):
        return "no-store"
    return _ONE_YEAR if path.startswith(_IMMUTABLE) and status == 200 else "no-cache"
