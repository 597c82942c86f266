"""The composition root: the application, made of every room."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import structlog
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from claude_sdk_pattern import __version__
from claude_sdk_pattern.api import auth, event_stream, health, problems, sessions, websocket
from claude_sdk_pattern.api.correlation import CorrelationMiddleware
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.runtime import running_services

logger = structlog.get_logger(__name__)

WEB_APP: Final = Path(__file__).parent / "web"
"""The built web app; a generated folder that the wheel contains."""


def create_app(settings: Settings) -> FastAPI:
    """Return the application; its parts start with its lifespan and end with it."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with running_services(settings) as services:
            app.state.services = services
            yield

    app = FastAPI(
        title="claude_sdk_pattern",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.allowed_origins,
        allow_credentials=True,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
    )
    # Last, so that it is the outermost: what the others log carries the id too.
    app.add_middleware(CorrelationMiddleware)
    for module in (auth, sessions, event_stream, health, websocket):
        app.include_router(module.router)
    if (WEB_APP / "index.html").is_file():
        app.frontend("/", directory=WEB_APP, fallback="index.html")
    else:
        logger.warning("web_app_not_built", folder=str(WEB_APP))
    return app
