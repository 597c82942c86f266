"""REST routes with which administrators manage users."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from claude_sdk_pattern.accounts.one_time_links import OneTimeLink
from claude_sdk_pattern.accounts.rules import MAX_PASSWORD_LENGTH, MAX_USERNAME_LENGTH
from claude_sdk_pattern.accounts.users import Account, Role
from claude_sdk_pattern.api.account import SignInView, sign_in_view
from claude_sdk_pattern.api.cursors import decoded, encoded
from claude_sdk_pattern.api.dependencies import AdminUser, require_role
from claude_sdk_pattern.api.oidc import public_url
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import Services, ServicesDependency

router = APIRouter(
    prefix="/api/v1/admin/users",
    tags=["admin"],
    responses=PROBLEM_RESPONSES,
    dependencies=[Depends(require_role(Role.ADMIN))],
)

MAX_PAGE = 200


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class UserView(_Body):
    """A user. Disabled ones cannot sign in; those without a password use the identity provider or a link."""

    id: str
    username: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    has_password: bool


class UserPage(_Body):
    """One page of users, by name. ``next_cursor`` asks for the next one; null on the last."""

    items: list[UserView]
    next_cursor: str | None


class NewUser(_Body):
    """A user to make. Without a password the answer holds a link with which they choose one."""

    username: Annotated[str, Field(max_length=MAX_USERNAME_LENGTH)]
    role: Role = Role.USER
    password: Annotated[SecretStr | None, Field(max_length=MAX_PASSWORD_LENGTH)] = None


class UserChange(_Body):
    """What to change; what is left out stays. A new role and disabling end the user's sign-ins."""

    role: Role | None = None
    disabled: bool | None = None


class PasswordLink(_Body):
    """A link with which a user chooses a password; once, and until it expires. Nobody can look it up again."""

    url: str
    expires_at: datetime


class MadeUser(_Body):
    """The user who was made, and for one without a password the link to give them."""

    user: UserView
    link: PasswordLink | None


async def _wanted(user_id: str, services: ServicesDependency) -> Account:
    return await services.accounts.administration.account(user_id)


Wanted = Annotated[Account, Depends(_wanted)]


@router.get("")
async def list_users(
    services: ServicesDependency,
    q: Annotated[
        # PostgreSQL takes no NUL.
        str | None, Query(max_length=64, pattern=r"^[^\x00]*$", description="Text to look for in usernames.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> UserPage:
    """List users by name."""
    after = None if cursor is None else decoded(cursor, str)[0]
    found = await services.accounts.users.list(query=q, after=after, limit=limit + 1)
    page = found[:limit]
    return UserPage(
        items=[_view(account) for account in page],
        next_cursor=encoded(page[-1].user.username) if len(found) > limit else None,
    )


@router.post("", status_code=201)
async def add_user(body: NewUser, admin: AdminUser, request: Request, services: ServicesDependency) -> MadeUser:
    """Make a user."""
    password = None if body.password is None else body.password.get_secret_value()
    administration = services.accounts.administration
    user = await administration.add(body.username, password, body.role, actor=admin.id)
    link = None
    if password is None:
        link = _link(await administration.reset_password(user.username, actor=admin.id), request, services)
    return MadeUser(user=_view(await administration.account(user.id)), link=link)


@router.get("/{user_id}")
async def get_user(account: Wanted) -> UserView:
    """Return one user."""
    return _view(account)


@router.patch("/{user_id}")
async def update_user(body: UserChange, account: Wanted, admin: AdminUser, services: ServicesDependency) -> UserView:
    """Change a user's role, or keep them out, or let them in again. The last administrator stays one."""
    administration, name = services.accounts.administration, account.user.username
    if body.role is not None:
        await administration.set_role(name, body.role, actor=admin.id)
    if body.disabled is not None and body.disabled != (account.disabled_at is not None):
        change = administration.disable if body.disabled else administration.enable
        await change(name, actor=admin.id)
    return _view(await administration.account(account.user.id))


@router.delete("/{user_id}", status_code=204)
async def delete_user(account: Wanted, admin: AdminUser, services: ServicesDependency) -> Response:
    """Delete a user and all their sessions with their files. To keep those, disable the user instead."""
    administration, user = services.accounts.administration, account.user
    # First, so that they begin nothing new meanwhile; and the last administrator is refused before anything is lost.
    await administration.disable(user.username, actor=admin.id)
    await services.manager.delete_all_of(user.id)
    await administration.delete(user.username, actor=admin.id)
    return Response(status_code=204)


@router.post("/{user_id}/password-reset", status_code=201)
async def reset_password(
    account: Wanted, admin: AdminUser, request: Request, services: ServicesDependency
) -> PasswordLink:
    """Make a link with which the user chooses a new password. Until then the old one is good."""
    link = await services.accounts.administration.reset_password(account.user.username, actor=admin.id)
    return _link(link, request, services)


@router.get("/{user_id}/sign-ins")
async def list_sign_ins(account: Wanted, services: ServicesDependency) -> list[SignInView]:
    """List where a user is signed in, the one last used first."""
    return [sign_in_view(login) for login in await services.accounts.logins.of_user(account.user.id)]


@router.delete("/{user_id}/sign-ins", status_code=204)
async def end_sign_ins(account: Wanted, admin: AdminUser, services: ServicesDependency) -> Response:
    """Sign a user out everywhere."""
    await services.accounts.administration.sign_out(account.user.username, actor=admin.id)
    return Response(status_code=204)


def _view(account: Account) -> UserView:
    return UserView(
        id=account.user.id,
        username=account.user.username,
        role=account.user.role,
        created_at=account.created_at,
        disabled_at=account.disabled_at,
        has_password=account.has_password,
    )


def _link(link: OneTimeLink, request: Request, services: Services) -> PasswordLink:
    return PasswordLink(url=public_url(request, services) + link.path, expires_at=link.expires_at)
