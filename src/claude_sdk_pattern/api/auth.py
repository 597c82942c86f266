"""Signing in, staying signed in, signing out.

The refresh token is a cookie that no script can read and that the browser sends to these routes only. Clients that
are no browsers ask for it in the body. Pages of other origins are refused.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Cookie, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.errors import (
    InvalidAccessTokenError,
    InvalidRefreshTokenError,
    UnknownUserError,
    WrongCredentialsError,
)
from claude_sdk_pattern.accounts.rules import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api.dependencies import BearerToken, CurrentIdentity, require_allowed_origin
from claude_sdk_pattern.api.oidc import public_url
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.api.token_answers import (
    AUTH_PATH,
    COOKIE,
    Tokens,
    forget_refresh_token,
    origin_of,
    tokens_answer,
)

# Several times the length of one of ours.
_MAX_TOKEN_LENGTH = 200

router = APIRouter(
    prefix=AUTH_PATH,
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


class Me(BaseModel):
    """Who is signed in."""

    id: str
    username: str
    role: Role
    has_password: bool = Field(description="Without one, they sign in through the identity provider.")
    end_session_url: str | None = Field(description="Where to sign out of the identity provider as well, if anywhere.")


class TicketView(BaseModel):
    """A ticket that opens one WebSocket or event stream."""

    ticket: str
    expires_in: Annotated[int, Field(description="Life of the ticket, in seconds.")]


RefreshCookie = Annotated[str | None, Cookie(alias=COOKIE, include_in_schema=False)]


@router.post("/login", response_model_exclude_none=True)
async def login(body: LoginBody, request: Request, response: Response, services: ServicesDependency) -> Tokens:
    """Sign in with a name and a password."""
    origin = origin_of(request)
    try:
        pair = await services.accounts.login(
            body.username, body.password.get_secret_value(), origin.address, origin.client
        )
    except WrongCredentialsError:
        await services.audit.record(
            AuditAction.LOGIN_FAILED,
            actor=None,
            target=await _id_of(services, body.username),
            details={"address": origin.address},
        )
        raise
    await services.audit.record(
        AuditAction.LOGIN, actor=pair.user.id, details={"address": origin.address, "method": "password"}
    )
    return tokens_answer(pair, request, response, services, in_body=body.client == "api")


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
    return tokens_answer(pair, request, response, services, in_body=is_kept_by_client)


@router.post("/logout", status_code=204)
async def logout(
    request: Request,
    services: ServicesDependency,
    credentials: BearerToken,
    body: RefreshBody | None = None,
    cookie: RefreshCookie = None,
) -> Response:
    """Sign out with the access token, the refresh token or both: all tokens and open connections of the login end."""
    user_id: str | None = None
    token = _given_token(body, cookie)
    if token is not None:
        user_id = await services.accounts.logout_with(token)
    if credentials is not None:
        try:
            identity = await services.accounts.identify(credentials.credentials)
            await services.accounts.logout(identity)
        except InvalidAccessTokenError:
            # It expired while the page was asleep, or its login is the one that was ended just above.
            pass
        else:
            user_id = identity.user.id
    if user_id is None:
        raise InvalidAccessTokenError
    await services.audit.record(AuditAction.LOGOUT, actor=user_id)
    response = Response(status_code=204)
    forget_refresh_token(request, response)
    return response


@router.get("/me")
async def me(identity: CurrentIdentity, request: Request, services: ServicesDependency) -> Me:
    """Return who is signed in."""
    user = identity.user
    try:
        account = await services.accounts.administration.account(user.id)
    except UnknownUserError as error:
        # Deleted within the last second.
        raise InvalidAccessTokenError from error
    sign_in_page = f"{public_url(request, services)}/login"
    return Me(
        id=user.id,
        username=user.username,
        role=user.role,
        has_password=account.has_password,
        end_session_url=await services.accounts.end_session_url(identity, sign_in_page),
    )


@router.post("/ticket")
async def ticket(identity: CurrentIdentity, response: Response, services: ServicesDependency) -> TicketView:
    """Issue a ticket: browsers can set no header on a WebSocket or an event stream."""
    issued = await services.accounts.issue_ticket(identity)
    response.headers["Cache-Control"] = "no-store"
    return TicketView(ticket=issued.ticket, expires_in=int(issued.lifetime.total_seconds()))


async def _id_of(services: Services, username: str) -> str | None:
    """Return the id of the user of this name. The name itself is not kept: people type their password there."""
    try:
        return (await services.accounts.users.find(username)).user.id
    except UnknownUserError:
        return None


def _given_token(body: RefreshBody | None, cookie: str | None) -> str | None:
    if body is not None and body.refresh_token is not None:
        return body.refresh_token.get_secret_value()
    return cookie
