"""What a client gets that has signed in: an access token in the body, and the refresh token as a cookie."""

from typing import Annotated, Literal

from fastapi import Request, Response
from pydantic import BaseModel, Field

from claude_sdk_pattern.accounts.accounts import TokenPair
from claude_sdk_pattern.accounts.logins import Origin
from claude_sdk_pattern.api.services import Services

AUTH_PATH = "/api/v1/auth"

COOKIE = "csp_refresh"
COOKIE_PATH = AUTH_PATH


class Tokens(BaseModel):
    """An access token, and for those who keep it themselves the refresh token."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the name of a kind of token
    expires_in: Annotated[int, Field(description="Life of the access token, in seconds.")]
    refresh_token: str | None = None


def origin_of(request: Request) -> Origin:
    """Return where a request comes from."""
    address = request.client.host if request.client else "unknown"
    return Origin(address=address, client=request.headers.get("user-agent", ""))


def tokens_answer(
    pair: TokenPair, request: Request, response: Response, services: Services, *, in_body: bool
) -> Tokens:
    """Put the refresh token into the response's cookie, and into the body if asked for; return the body."""
    lifetimes = services.accounts.lifetimes
    keep_refresh_token(pair, request, response, services)
    response.headers["Cache-Control"] = "no-store"
    return Tokens(
        access_token=pair.access_token,
        expires_in=int(lifetimes.access.total_seconds()),
        refresh_token=pair.refresh_token if in_body else None,
    )


def keep_refresh_token(pair: TokenPair, request: Request, response: Response, services: Services) -> None:
    """Put the refresh token into the response's cookie."""
    lifetime = services.accounts.lifetimes.refresh
    _set_cookie(request, response, pair.refresh_token, max_age_seconds=int(lifetime.total_seconds()))


def forget_refresh_token(request: Request, response: Response) -> None:
    """Delete the cookie."""
    _set_cookie(request, response, "", max_age_seconds=0)


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
