"""The composition root: the application, made of every room."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import structlog
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from claude_sdk_pattern import __version__
from claude_sdk_pattern.api import correlation, problems, websocket
from claude_sdk_pattern.api.draining import RefuseWhileDraining
from claude_sdk_pattern.api.origins import CrossOriginRequests
from claude_sdk_pattern.api.problems import Problem, problem_response
from claude_sdk_pattern.api.request_checks import RequestChecks
from claude_sdk_pattern.api.request_limits import LimitBodies, LimitRequestRate
from claude_sdk_pattern.api.response_headers import ResponseHeadersMiddleware
from claude_sdk_pattern.api.rest_modules import REST_MODULES
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.runtime import running_services

logger = structlog.get_logger(__name__)

WEB_APP: Final = Path(__file__).parent / "web"
"""The built web app; a generated folder that the wheel contains."""


type Alongside = Callable[[Services], AbstractAsyncContextManager[None]]
"""Something that runs beside a server, from when its parts have started to when they end."""


def create_app(settings: Settings, *, alongside: Alongside | None = None) -> FastAPI:
    """Return the application; its parts start with its lifespan and end with it."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with running_services(settings) as services:
            app.state.services = services
            async with contextlib.nullcontext() if alongside is None else alongside(services):
                yield

    app = FastAPI(
        title="claude_sdk_pattern",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    # Each is passed before those that were added before it.
    app.add_middleware(LimitBodies)
    app.add_middleware(LimitRequestRate)
    app.add_middleware(RefuseWhileDraining)
    problems.install(app)
    app.add_middleware(
        CrossOriginRequests,
        allow_origins=settings.allowed_origins,
        allow_credentials=True,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Last-Event-ID", correlation.HEADER],
        expose_headers=["Retry-After", correlation.HEADER],
    )
    app.add_middleware(RequestChecks, hosts=settings.own_hosts)
    app.add_middleware(ResponseHeadersMiddleware)
    # Last, so that it is the outermost: what the others log carries the id too.
    app.add_middleware(correlation.CorrelationMiddleware)
    for module in (*REST_MODULES, websocket):
        app.include_router(module.router)
    app.router.routes.append(_NoSuchPath())
    if (WEB_APP / "index.html").is_file():
        app.frontend("/", directory=WEB_APP, fallback="index.html")
    else:
        logger.warning("web_app_not_built", folder=str(WEB_APP))
    return app


class _NoSuchPath(BaseRoute):
    """Answers for paths below ``/api`` and ``/ws`` that no other route knows; the web app would take them for pages.

    It claims a partial match, as a route does that has the path but not the method, and comes last: so it stands back
    for every other route, and for their answer that a method is wrong.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_ours = scope["type"] == "websocket" or scope["path"].startswith(("/api/", "/ws/"))
        return (Match.PARTIAL if is_ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            problem = Problem(404, "not_found", "Not Found", "There is no WebSocket at this address.")
            return await problem_response(problem)(scope, receive, send)
        raise HTTPException(404)
