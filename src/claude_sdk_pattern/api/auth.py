"""Signing in, staying signed in, signing out.

The refresh token is a cookie that no script can read and that the browser sends to these routes only. Clients that
are no browsers ask for it in the body. Pages of other origins are refused.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Cookie, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from claude_sdk_pattern.accounts.accounts import TokenPair
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError, InvalidRefreshTokenError
from claude_sdk_pattern.accounts.rules import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api.dependencies import BearerToken, CurrentIdentity, CurrentUser, require_allowed_origin
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import Services, ServicesDependency

COOKIE = "csp_refresh"
COOKIE_PATH = "/api/v1/auth"

# Several times the length of one of ours.
_MAX_TOKEN_LENGTH = 200

router = APIRouter(
    prefix=COOKIE_PATH,
    tags=["auth"],
    responses=PROBLEM_RESPONSES,
    dependencies=[Depends(require_allowed_origin)],
)


class LoginBody(BaseModel):
    """Name and password."""

    model_config = ConfigDict(extra="forbid")

    username: Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]
    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD_LENGTH)]
    client: Annotated[
        Literal["browser", "api"],
        Field(description="`api` asks for the refresh token in the body as well, for programs without cookies."),
    ] = "browser"


class RefreshBody(BaseModel):
    """The refresh token, for programs; browsers send it as a cookie."""

    model_config = ConfigDict(extra="forbid")

    refresh_token: Annotated[SecretStr | None, Field(max_length=_MAX_TOKEN_LENGTH)] = None


class Tokens(BaseModel):
    """An access token, and for those who keep it themselves the refresh token."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the name of a kind of token
    expires_in: Annotated[int, Field(description="Life of the access token, in seconds.")]
    refresh_token: str | None = None


class Me(BaseModel):
    """Who is signed in."""

    id: str
    username: str
    role: Role


class TicketView(BaseModel):
    """A ticket that opens one WebSocket or event stream."""

    ticket: str
    expires_in: Annotated[int, Field(description="Life of the ticket, in seconds.")]


RefreshCookie = Annotated[str | None, Cookie(alias=COOKIE, include_in_schema=False)]


@router.post("/login", response_model_exclude_none=True)
async def login(body: LoginBody, request: Request, response: Response, services: ServicesDependency) -> Tokens:
    """Sign in with a name and a password."""
    address = request.client.host if request.client else "unknown"
    pair = await services.accounts.login(body.username, body.password.get_secret_value(), address)
    return _tokens(pair, request, response, services, in_body=body.client == "api")


@router.post("/refresh", response_model_exclude_none=True)
async def refresh(
    request: Request,
    response: Response,
    services: ServicesDependency,
    body: RefreshBody | None = None,
    cookie: RefreshCookie = None,
) -> Tokens:
    """Trade the refresh token of the body, or else of the cookie, for a new pair. Spent twice, it ends its login."""
    token = _given_token(body, cookie)
    if token is None:
        raise InvalidRefreshTokenError
    pair = await services.accounts.refresh(token)
    is_kept_by_client = body is not None and body.refresh_token is not None
    return _tokens(pair, request, response, services, in_body=is_kept_by_client)


@router.post("/logout", status_code=204)
async def logout(
    request: Request,
    services: ServicesDependency,
    credentials: BearerToken,
    body: RefreshBody | None = None,
    cookie: RefreshCookie = None,
) -> Response:
    """Sign out with the access token, the refresh token or both: all tokens and open connections of the login end."""
    has_ended = False
    token = _given_token(body, cookie)
    if token is not None:
        has_ended = await services.accounts.logout_with(token)
    if credentials is not None:
        try:
            await services.accounts.logout(await services.accounts.identify(credentials.credentials))
        except InvalidAccessTokenError:
            # It expired while the page was asleep, or its login is the one that was ended just above.
            pass
        else:
            has_ended = True
    if not has_ended:
        raise InvalidAccessTokenError
    response = Response(status_code=204)
    _set_cookie(request, response, "", max_age_seconds=0)
    return response


@router.get("/me")
async def me(user: CurrentUser) -> Me:
    """Return who is signed in."""
    return Me(id=user.id, username=user.username, role=user.role)


@router.post("/ticket")
async def ticket(identity: CurrentIdentity, response: Response, services: ServicesDependency) -> TicketView:
    """Issue a ticket: browsers can set no header on a WebSocket or an event stream."""
    issued = await services.accounts.issue_ticket(identity)
    response.headers["Cache-Control"] = "no-store"
    return TicketView(ticket=issued.ticket, expires_in=int(issued.lifetime.total_seconds()))


def _given_token(body: RefreshBody | None, cookie: str | None) -> str | None:
    if body is not None and body.refresh_token is not None:
        return body.refresh_token.get_secret_value()
    return cookie


def _tokens(pair: TokenPair, request: Request, response: Response, services: Services, *, in_body: bool) -> Tokens:
    lifetimes = services.accounts.lifetimes
    _set_cookie(request, response, pair.refresh_token, max_age_seconds=int(lifetimes.refresh.total_seconds()))
    response.headers["Cache-Control"] = "no-store"
    return Tokens(
        access_token=pair.access_token,
        expires_in=int(lifetimes.access.total_seconds()),
        refresh_token=pair.refresh_token if in_body else None,
    )


def _set_cookie(request: Request, response: Response, value: str, *, max_age_seconds: int) -> None:
    """Set or, with no time to live, delete the cookie. The attributes must be the same, or the old one stays."""
    response.set_cookie(
        COOKIE,
        value,
        max_age=max_age_seconds,
        path=COOKIE_PATH,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
