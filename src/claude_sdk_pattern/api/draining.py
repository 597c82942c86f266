"""What clients hear of a server that is about to stop."""

from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send

from claude_sdk_pattern.api.frames import StatusFrame
from claude_sdk_pattern.api.problems import Problem, problem_response
from claude_sdk_pattern.api.services import Services

# Who watches over the server has to be able to ask until the end.
_ALWAYS_ANSWERED = ("/api/v1/health/", "/metrics")

# As long as a quick restart takes.
_RETRY_AFTER_SECONDS = 5


def announce_shutdown(services: Services) -> None:
    """Let sessions begin nothing more, and tell everybody who is connected.

    Where a turn runs, that is part of what happened and stands on the tape. Where nothing runs it is none: those
    who merely look on are told on their connection, and a thousand quiet tapes stay as they are.
    """
    services.presence.tell(StatusFrame(status="server_shutting_down").encode(), but=services.manager.is_busy)
    services.manager.begin_draining()


class RefuseWhileDraining:
    """Middleware that refuses requests to a server that is stopping. WebSockets see to themselves: they are accepted
    and closed with 1012, since a browser hides from its page why a handshake failed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on, or answer in the application's place."""
        if scope["type"] != "http" or scope["path"].startswith(_ALWAYS_ANSWERED) or not _is_draining(scope):
            return await self._app(scope, receive, send)
        refusal = Problem(
            503,
            "server_shutting_down",
            "The server is restarting",
            "The server is restarting. Try again in a moment.",
            retry_after_seconds=_RETRY_AFTER_SECONDS,
        )
        return await problem_response(refusal)(scope, receive, send)


def _is_draining(scope: Scope) -> bool:
    # Without services nothing was started yet, as where a test asks for pages only.
    services = cast("Services | None", getattr(scope["app"].state, "services", None))
    return services is not None and services.manager.is_closing
