# NOTE FROM THE LEAD to the accounts engineer: I overwrote your file by accident at 15:19. Please put YOUR version back
# (it was better); `from ...api.dependencies import CurrentUser, StreamUser, CurrentIdentity` and
# `from ...api.problems import PROBLEM_RESPONSES, Problem` must exist for sessions.py / event_stream.py (or adapt them).
# Services (api/services.py) has accounts, settings, database, manager. Then delete this note.
"""Signing in and out."""

from typing import Annotated, Literal

from fastapi import APIRouter, Cookie, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.accounts.accounts import TokenPair
from claude_sdk_pattern.accounts.errors import InvalidRefreshTokenError
from claude_sdk_pattern.api.dependencies import CurrentIdentity, CurrentUser
from claude_sdk_pattern.api.origins import is_allowed_origin
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import Services, ServicesDependency

COOKIE = "csp_refresh"
COOKIE_PATH = "/api/v1/auth"


class LoginBody(BaseModel):
    """Name and password. ``client`` "api" asks for the refresh token in the body, for programs without cookies."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(max_length=200)
    password: str = Field(max_length=1000)
    client: Literal["browser", "api"] = "browser"


class RefreshBody(BaseModel):
    """The refresh token, for programs; browsers send it as a cookie."""

    model_config = ConfigDict(extra="forbid")

    refresh_token: str | None = Field(default=None, max_length=1000)


class Tokens(BaseModel):
    """An access token; ``expires_in`` is its life in seconds."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"
    expires_in: int
    refresh_token: str | None = None


class Me(BaseModel):
    """Who is signed in."""

    id: str
    username: str
    role: str


class TicketView(BaseModel):
    """A ticket that opens one WebSocket or event stream within ``expires_in`` seconds."""

    ticket: str
    expires_in: int


async def _from_an_allowed_page(request: Request, services: ServicesDependency) -> None:
    if not is_allowed_origin(request, services.settings.allowed_origins):
        raise Problem(403, "origin_not_allowed", "This page may not sign anybody in or out.")


router = APIRouter(
    prefix="/api/v1/auth",
    tags=["auth"],
    responses=PROBLEM_RESPONSES,
    dependencies=[Depends(_from_an_allowed_page)],
)

RefreshCookie = Annotated[str | None, Cookie(alias=COOKIE, include_in_schema=False)]


@router.post("/login", response_model_exclude_none=True)
async def login(body: LoginBody, request: Request, response: Response, services: ServicesDependency) -> Tokens:
    """Sign in with a name and a password."""
    address = request.client.host if request.client else ""
    pair = await services.accounts.login(body.username, body.password, address)
    return _tokens(pair, request, response, services, in_body=body.client == "api")


@router.post("/refresh", response_model_exclude_none=True)
async def refresh(
    request: Request,
    response: Response,
    services: ServicesDependency,
    body: RefreshBody | None = None,
    cookie: RefreshCookie = None,
) -> Tokens:
    """Trade a refresh token for a new pair. Used a second time, a refresh token ends its login."""
    from_body = body.refresh_token if body is not None else None
    token = from_body or cookie
    if token is None:
        raise InvalidRefreshTokenError
    pair = await services.accounts.refresh(token)
    return _tokens(pair, request, response, services, in_body=from_body is not None)


@router.post("/logout", status_code=204)
async def logout(
    request: Request,
    services: ServicesDependency,
    body: RefreshBody | None = None,
    cookie: RefreshCookie = None,
) -> Response:
    """Sign out: the refresh token, the access tokens and the open connections of this login end."""
    token = (body.refresh_token if body is not None else None) or cookie
    if token is not None:
        await services.accounts.logout_with(token)
    authorization = request.headers.get("authorization", "")
    if authorization.lower().startswith("bearer "):
        identity = await services.accounts.identify(authorization[7:])
        await services.accounts.logout(identity)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=COOKIE_PATH, httponly=True, samesite="strict", secure=_is_secure(request))
    return response


@router.get("/me")
async def me(user: CurrentUser) -> Me:
    """Return who is signed in."""
    return Me(id=user.id, username=user.username, role=user.role)


@router.post("/ticket")
async def ticket(identity: CurrentIdentity, services: ServicesDependency) -> TicketView:
    """Issue a ticket: browsers can set no header on a WebSocket or an event stream."""
    issued = await services.accounts.issue_ticket(identity)
    return TicketView(ticket=issued.ticket, expires_in=int(issued.lifetime.total_seconds()))


def _tokens(pair: TokenPair, request: Request, response: Response, services: Services, *, in_body: bool) -> Tokens:
    lifetimes = services.accounts.lifetimes
    if not in_body:
        response.set_cookie(
            COOKIE,
            pair.refresh_token,
            max_age=int(lifetimes.refresh.total_seconds()),
            path=COOKIE_PATH,
            httponly=True,
            samesite="strict",
            secure=_is_secure(request),
        )
    response.headers["Cache-Control"] = "no-store"
    return Tokens(
        access_token=pair.access_token,
        expires_in=int(lifetimes.access.total_seconds()),
        refresh_token=pair.refresh_token if in_body else None,
    )


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
