"""Who is asking, as parameters of routes.

A route that takes a :data:`CurrentUser` is for whoever is signed in, one that takes an :data:`OperatorUser` or
:data:`AdminUser` for those alone. A route that takes none of them is public.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection
from structlog.contextvars import bind_contextvars

from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError, NotAllowedError
from claude_sdk_pattern.accounts.identities import Identity
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.api.origins import is_allowed_origin, origin_not_allowed
from claude_sdk_pattern.api.services import ServicesDependency

# Its own answer to a missing token would not be a problem document, hence no automatic error.
_bearer = HTTPBearer(auto_error=False, description="The access token of `POST /api/v1/auth/login`.")

BearerToken = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
"""The ``Authorization`` header as it came; ``None`` without one. For the few routes that can do without."""


async def current_identity(credentials: BearerToken, services: ServicesDependency) -> Identity:
    """Return who carries the access token of the request, with the role they have now and not when they got it.

    Raises:
        InvalidAccessTokenError: there is no valid one.
    """
    if credentials is None:
        raise InvalidAccessTokenError
    return _noted(await services.accounts.identify(credentials.credentials))


CurrentIdentity = Annotated[Identity, Depends(current_identity)]


async def current_user(identity: CurrentIdentity) -> User:
    """Return the user who carries the access token of the request."""
    return identity.user


CurrentUser = Annotated[User, Depends(current_user)]


async def stream_identity(
    credentials: BearerToken,
    services: ServicesDependency,
    ticket: Annotated[
        str | None, Query(max_length=200, description="A ticket, for browsers, which can send no header here.")
    ] = None,
) -> Identity:
    """Return who opens a stream, with a token or else a ticket.

    Raises:
        InvalidAccessTokenError, InvalidTicketError: there is no valid one.
    """
    if ticket is not None and credentials is None:
        return _noted(await services.accounts.redeem_ticket(ticket))
    return await current_identity(credentials, services)


StreamIdentity = Annotated[Identity, Depends(stream_identity)]


async def stream_user(identity: StreamIdentity) -> User:
    """Return the user who opens a stream."""
    return identity.user


StreamUser = Annotated[User, Depends(stream_user)]


def require_role(role: Role) -> Callable[[User], Awaitable[User]]:
    """Return the dependency that lets only users pass whose role includes ``role``.

    It raises :class:`InvalidAccessTokenError` for nobody and :class:`NotAllowedError` for somebody else.
    """

    async def require(user: CurrentUser) -> User:
        if not user.role.includes(role):
            raise NotAllowedError(f"This needs the role {role}; yours is {user.role}.")
        return user

    return require


OperatorUser = Annotated[User, Depends(require_role(Role.OPERATOR))]
AdminUser = Annotated[User, Depends(require_role(Role.ADMIN))]


async def require_allowed_origin(connection: HTTPConnection, services: ServicesDependency) -> None:
    """Refuse pages of other origins: for routes that go by a cookie, which a browser sends along for any page.

    Raises:
        Problem: 403 ``origin_not_allowed``.
    """
    if not is_allowed_origin(connection, services.settings.allowed_origins):
        raise origin_not_allowed()


def _noted(identity: Identity) -> Identity:
    bind_contextvars(user_id=identity.user.id)
    return identity
