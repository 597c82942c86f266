"""What people do about their own account: how one can sign in here, passwords, links, and where one is signed in."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.logins import Login, LoginMethod
from claude_sdk_pattern.accounts.rules import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from claude_sdk_pattern.api.dependencies import CurrentIdentity, require_allowed_origin
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.api.token_answers import AUTH_PATH, Tokens, forget_refresh_token, origin_of, tokens_answer
from claude_sdk_pattern.sessions.ledger import BUDGET_HOURS

router = APIRouter(
    prefix=AUTH_PATH,
    tags=["auth"],
    responses=PROBLEM_RESPONSES,
    dependencies=[Depends(require_allowed_origin)],
)

# Several times the length of one of ours.
_MAX_LINK_TOKEN_LENGTH = 200

Password = Annotated[SecretStr, Field(max_length=MAX_PASSWORD_LENGTH)]
LinkToken = Annotated[SecretStr, Field(max_length=_MAX_LINK_TOKEN_LENGTH, description="What stands behind the `#`.")]
ClientKind = Annotated[
    Literal["browser", "api"],
    Field(description="`api` asks for the refresh token in the body as well, for programs without cookies."),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SignInMethods(_Body):
    """How one can sign in here besides with a password."""

    provider: str | None = Field(description="Name of the identity provider; null if there is none.")


class ChangePassword(_Body):
    """The password one has and the one one wants."""

    current_password: Password
    new_password: Password
    client: ClientKind = "browser"


class SetUp(_Body):
    """The first user's name and password."""

    token: LinkToken
    username: Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]
    password: Password
    client: ClientKind = "browser"


class ChoosePassword(_Body):
    """The password somebody chooses who was given a link."""

    token: LinkToken
    password: Password
    client: ClientKind = "browser"


class SpendingView(_Body):
    """What one's sessions have spent on the model within the last hours."""

    hours: int
    spent_usd: float
    budget_usd: float | None = Field(description="What they may spend in that time; null for no limit.")


class SignInView(_Body):
    """Somewhere one is signed in."""

    id: str
    method: LoginMethod
    address: str
    client: str = Field(description="What the client calls itself.")
    started_at: datetime
    last_used_at: datetime
    is_current: bool = Field(description="Whether this very request belongs to it.")


@router.get("/methods")
async def sign_in_methods(services: ServicesDependency) -> SignInMethods:
    """Return how one can sign in besides with a password."""
    oidc = services.accounts.oidc
    return SignInMethods(provider=None if oidc is None else oidc.name)


@router.post("/setup", response_model_exclude_none=True)
async def set_up(body: SetUp, request: Request, response: Response, services: ServicesDependency) -> Tokens:
    """Make the first user, an administrator, with the link the server printed when it started; sign in."""
    pair = await services.accounts.set_up(
        body.token.get_secret_value(), body.username, body.password.get_secret_value(), origin_of(request)
    )
    return tokens_answer(pair, request, response, services, in_body=body.client == "api")


@router.post("/choose-password", response_model_exclude_none=True)
async def choose_password(
    body: ChoosePassword, request: Request, response: Response, services: ServicesDependency
) -> Tokens:
    """Choose a password with a link from an administrator; sign in. All other sign-ins of the user end."""
    pair = await services.accounts.login_with_link(
        body.token.get_secret_value(), body.password.get_secret_value(), origin_of(request)
    )
    return tokens_answer(pair, request, response, services, in_body=body.client == "api")


@router.post("/password", response_model_exclude_none=True)
async def change_password(
    body: ChangePassword,
    identity: CurrentIdentity,
    request: Request,
    response: Response,
    services: ServicesDependency,
) -> Tokens:
    """Change one's own password. All sign-ins end; this client gets a new one."""
    pair = await services.accounts.change_password(
        identity, body.current_password.get_secret_value(), body.new_password.get_secret_value(), origin_of(request)
    )
    return tokens_answer(pair, request, response, services, in_body=body.client == "api")


@router.get("/spending")
async def show_spending(identity: CurrentIdentity, services: ServicesDependency) -> SpendingView:
    """Say what one's sessions have spent lately, and what they may."""
    spent = await services.manager.ledger.spent([identity.user.id])
    return SpendingView(
        hours=BUDGET_HOURS,
        spent_usd=spent.get(identity.user.id, 0.0),
        budget_usd=services.settings.max_user_budget_usd,
    )


@router.get("/sign-ins")
async def list_sign_ins(identity: CurrentIdentity, services: ServicesDependency) -> list[SignInView]:
    """List where one is signed in, the one last used first."""
    logins = await services.accounts.logins.of_user(identity.user.id)
    return [sign_in_view(login, current_id=identity.login_id) for login in logins]


@router.delete("/sign-ins", status_code=204)
async def end_sign_ins(identity: CurrentIdentity, request: Request, services: ServicesDependency) -> Response:
    """Sign out everywhere, here too."""
    await services.accounts.logout_everywhere(identity)
    await services.audit.record(AuditAction.USER_SIGNED_OUT, actor=identity.user.id, target=identity.user.id)
    response = Response(status_code=204)
    forget_refresh_token(request, response)
    return response


@router.delete("/sign-ins/{sign_in_id}", status_code=204)
async def end_sign_in(sign_in_id: str, identity: CurrentIdentity, services: ServicesDependency) -> Response:
    """Sign out in one place."""
    if "\0" in sign_in_id or not await services.accounts.logins.end(identity.user.id, sign_in_id):
        raise Problem(404, "sign_in_not_found", "No such sign-in", "There is no such sign-in, or it has ended.")
    await services.audit.record(AuditAction.LOGOUT, actor=identity.user.id)
    return Response(status_code=204)


def sign_in_view(login: Login, *, current_id: str | None = None) -> SignInView:
    """Return a sign-in as people see it."""
    return SignInView(
        id=login.id,
        method=login.method,
        address=login.origin.address,
        client=login.origin.client,
        started_at=login.started_at,
        last_used_at=login.last_used_at,
        is_current=login.id == current_id,
    )
