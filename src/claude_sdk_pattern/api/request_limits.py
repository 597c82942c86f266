"""Middleware that refuses requests before anything is done for them: too many, too large, too slow."""

import asyncio
from typing import Final, cast

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.api.problems import domain_response
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.limits.errors import RateLimitedError

MAX_BODY_BYTES: Final = 1024 * 1024
"""Largest body of a request, the same as of a frame. Uploads and endpoints of plugins have limits of their own."""

BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive; of an upload, how long one may wait for the next piece."""

# Whoever watches over the server asks often, and has to get an answer.
_UNCOUNTED: Final = ("/api/v1/health/",)

_UPLOADS: Final = ("/attachments", "/api/v1/plugins", "/api/v1/marketplaces")

_PLUGINS: Final = "/api/v1/plugins/"

_BEARER: Final = "bearer "


class LimitRequestRate:
    """Counts requests to the API per user, or per address where nobody is signed in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429 in the application's place."""
        path = scope["path"]
        # Preflights come without a token; the request they ask for is counted.
        is_counted = scope["type"] == "http" and path.startswith("/api/") and scope["method"] != "OPTIONS"
        services = cast("Services | None", getattr(scope["app"].state, "services", None))
        if not is_counted or path.startswith(_UNCOUNTED) or services is None:
            return await self._app(scope, receive, send)
        try:
            await services.rate_limits.check_request(await _who(services, scope))
        except RateLimitedError as error:
            return await domain_response(error)(scope, receive, send)
        return await self._app(scope, receive, send)


class LimitBodies:
    """Refuses bodies that are too large or take too long, however they announce themselves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; reading its body fails where it breaks the limits."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most = _most_bytes(scope)
        announced = Headers(scope=scope).get("content-length", "")
        is_announced_too_large = most is not None and announced.isdecimal() and int(announced) > most
        received = 0
        is_complete = False
        give_up_at = asyncio.get_running_loop().time() + BODY_SECONDS

        async def receive_limited() -> Message:
            nonlocal received, is_complete, give_up_at
            if is_complete:
                # From here on it only waits for the client to leave.
                return await receive()
            if is_announced_too_large:
                raise HTTPException(413, f"A body has at most {most} bytes.")
            try:
                async with asyncio.timeout_at(give_up_at):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body did not arrive in time.") from None
            received += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if most is None:
                give_up_at = asyncio.get_running_loop().time() + BODY_SECONDS
            elif received > most:
                raise HTTPException(413, f"A body has at most {most} bytes.")
            return message

        return await self._app(scope, receive_limited, send)


def _most_bytes(scope: Scope) -> int | None:
    """Return how long the body of a request may be; None for uploads, which count for themselves."""
    path: str = scope["path"]
    if not path.startswith(_PLUGINS):
        return None if path.endswith(_UPLOADS) else MAX_BODY_BYTES
    # Before the uploads: a plugin may call an endpoint of its own like one of them.
    services = cast("Services | None", getattr(scope["app"].state, "services", None))
    if services is None:
        return MAX_BODY_BYTES
    plugin = services.plugin_runtime.find(path.removeprefix(_PLUGINS).partition("/")[0])
    manifest = None if plugin is None else plugin.package.manifest
    endpoints = None if manifest is None else manifest.capabilities.endpoints
    declared = 0 if endpoints is None else min(endpoints.max_body_bytes, services.settings.plugin_max_body_bytes)
    return max(MAX_BODY_BYTES, declared)


async def _who(services: Services, scope: Scope) -> str:
    """Return whom a request counts for. A token that was made up counts for the address it came from."""
    authorization = Headers(scope=scope).get("authorization", "")
    if authorization.lower().startswith(_BEARER):
        try:
            return f"user:{await services.accounts.claimed_user_id(authorization[len(_BEARER) :].strip())}"
        except InvalidAccessTokenError:
            pass
    client = scope.get("client")
    return f"address:{client[0] if client else 'unknown'}"
