"""Signing in through an identity provider: the way there, and the way back."""

from typing import Annotated
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Cookie, Query, Request
from fastapi.responses import RedirectResponse

from claude_sdk_pattern.accounts.errors import ProviderSignInError
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.api.token_answers import AUTH_PATH, keep_refresh_token, origin_of

PATH = f"{AUTH_PATH}/oidc"
COOKIE = "csp_oidc"

logger = structlog.get_logger(__name__)

router = APIRouter(prefix=PATH, tags=["auth"], responses=PROBLEM_RESPONSES)

_COOKIE_SECONDS = 600


@router.get("/login", status_code=303, response_class=RedirectResponse)
async def begin(
    request: Request,
    services: ServicesDependency,
    next_path: Annotated[
        str, Query(alias="next", max_length=500, description="Where in the web app to go afterwards.")
    ] = "/",
) -> RedirectResponse:
    """Send the browser to the identity provider."""
    oidc = services.accounts.oidc
    if oidc is None:
        raise Problem(404, "no_identity_provider", "No identity provider", "This server has no identity provider.")
    try:
        begun = await oidc.begin(redirect_uri=_callback(request, services), next_path=_own_path(next_path))
    except ProviderSignInError as error:
        return _back_to_sign_in(error)
    response = RedirectResponse(begun.url, status_code=303)
    response.set_cookie(
        COOKIE,
        begun.cookie,
        max_age=_COOKIE_SECONDS,
        path=PATH,
        httponly=True,
        # The way back is a link from the provider's page; a stricter cookie would not come along.
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/callback", status_code=303, response_class=RedirectResponse)
async def finish(
    request: Request,
    services: ServicesDependency,
    state: Annotated[str, Query(max_length=2000)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    error: Annotated[str | None, Query(max_length=200)] = None,
    cookie: Annotated[str | None, Cookie(alias=COOKIE, include_in_schema=False)] = None,
) -> RedirectResponse:
    """Take the identity provider's answer and sign in, or say on the sign-in page why not."""
    if services.accounts.oidc is None:
        raise Problem(404, "no_identity_provider", "No identity provider", "This server has no identity provider.")
    answer = {"state": state, "code": code, **({} if error is None else {"error": error})}
    try:
        pair, next_path = await services.accounts.login_with_provider(answer, cookie, origin_of(request))
    except ProviderSignInError as refused:
        return _back_to_sign_in(refused)
    response = RedirectResponse(next_path, status_code=303)
    keep_refresh_token(pair, request, response, services)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def public_url(request: Request, services: Services) -> str:
    """Return the address under which people reach this server, without a slash at its end."""
    return services.settings.public_url or str(request.base_url).rstrip("/")


def _callback(request: Request, services: Services) -> str:
    return f"{public_url(request, services)}{PATH}/callback"


def _back_to_sign_in(error: ProviderSignInError) -> RedirectResponse:
    logger.warning("provider_sign_in_failed", code=error.code, reason=str(error))
    response = RedirectResponse(f"/login?{urlencode({'problem': error.code})}", status_code=303)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def _own_path(path: str) -> str:
    """Return the path if it is one of this web app, and its start otherwise: a link here must not lead elsewhere."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own else "/"
