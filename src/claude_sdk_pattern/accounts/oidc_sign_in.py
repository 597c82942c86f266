"""Signing in through an identity provider: who may, as whom, and in which role."""

import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import jwt
import structlog

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import (
    InvalidUsernameError,
    LastAdminError,
    ProviderSignInError,
    UsernameTakenError,
)
from claude_sdk_pattern.accounts.external_users import ExternalUsers
from claude_sdk_pattern.accounts.oidc_provider import Attempt, OidcProvider
from claude_sdk_pattern.accounts.rules import MAX_USERNAME_LENGTH
from claude_sdk_pattern.accounts.users import Account, Role, User, Users

logger = structlog.get_logger(__name__)

# How long somebody may take to sign in at the provider.
ATTEMPT_LIFETIME = timedelta(minutes=10)

_ALGORITHM = "HS256"

# In the mapping of roles: whoever has none of the other values.
ANYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcPolicy:
    """Who may sign in.

    Args:
        role_claim: the claim that holds a person's groups, a path with dots; ``None``: roles are given here.
        roles: which of its values gives which role; :data:`ANYBODY` stands for all others.
        allowed_domains: with these or ``allowed_emails``, only verified addresses of them may sign in.
        auto_create: whether somebody unknown becomes a user by signing in.
    """

    role_claim: str | None = None
    roles: Mapping[str, Role]
    allowed_domains: Collection[str] = ()
    allowed_emails: Collection[str] = ()
    auto_create: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Where to send the browser, and what it has to bring back in a cookie."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Whom the provider vouched for, and where they wanted to go. ``is_new``: the user was made by this."""

    user: User
    next_path: str
    is_new: bool


class OidcSignIn:
    """Begins and finishes sign-ins. What must be remembered in between is in a signed cookie of the browser that began.

    So a code that somebody else brings back, in a link or a hidden frame, signs nobody in.
    """

    def __init__(
        self,
        provider: OidcProvider,
        policy: OidcPolicy,
        *,
        name: str,
        users: Users,
        external: ExternalUsers,
        key: bytes,
        now: Clock = utc_now,
    ) -> None:
        self.provider = provider
        self.name = name
        self._policy = policy
        self._users = users
        self._external = external
        self._key = key
        self._now = now

    async def begin(self, *, redirect_uri: str, next_path: str) -> Begun:
        """Begin a sign-in.

        Args:
            redirect_uri: where the provider sends the browser back to.
            next_path: where in the web app the person wants to go.

        Raises:
            ProviderSignInError: the provider cannot be used.
        """
        attempt = Attempt(
            state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), code_verifier=secrets.token_urlsafe(48)
        )
        url = await self.provider.authorization_url(attempt, redirect_uri)
        content: dict[str, Any] = {
            "state": attempt.state,
            "nonce": attempt.nonce,
            "verifier": attempt.code_verifier,
            "redirect": redirect_uri,
            "next": next_path,
            "exp": self._now() + ATTEMPT_LIFETIME,
        }
        return Begun(url=url, cookie=jwt.encode(content, self._key, algorithm=_ALGORITHM))

    async def finish(self, answer: Mapping[str, str], cookie: str | None) -> Vouched:
        """Finish a sign-in with what the provider sent along.

        Raises:
            ProviderSignInError: nobody is signed in; ``code`` says why.
        """
        begun = self._begun(cookie)
        if not hmac.compare_digest(answer.get("state", "").encode(), begun["state"].encode()):
            raise _expired()
        if "error" in answer:
            logger.warning("oidc_denied", error=answer["error"][:100])
            raise ProviderSignInError("oidc_denied", "The identity provider did not sign you in.")
        attempt = Attempt(state=begun["state"], nonce=begun["nonce"], code_verifier=begun["verifier"])
        claims = await self.provider.claims_for(answer.get("code", ""), attempt, begun["redirect"])
        user, is_new = await self._user(claims)
        return Vouched(user=user, next_path=begun["next"], is_new=is_new)

    def _begun(self, cookie: str | None) -> Mapping[str, str]:
        try:
            return jwt.decode(cookie or "", self._key, algorithms=[_ALGORITHM], options={"require": ["exp"]})
        except jwt.InvalidTokenError as error:
            raise _expired() from error

    async def _user(self, claims: Mapping[str, Any]) -> tuple[User, bool]:
        self._require_allowed(claims)
        role = self._role(claims)
        issuer, subject = self.provider.issuer, cast("str", claims["sub"])
        account = await self._external.find(issuer, subject)
        if account is None:
            return await self._new_user(claims, subject, role or Role.USER), True
        if account.disabled_at is not None:
            raise ProviderSignInError("oidc_disabled", "Your account here is disabled. Ask an administrator.")
        return await self._in_role(account, role), False

    async def _new_user(self, claims: Mapping[str, Any], subject: str, role: Role) -> User:
        if not self._policy.auto_create:
            logger.warning("oidc_unknown_user", subject=subject)
            raise ProviderSignInError(
                "oidc_unknown_user",
                f"You have no account here. Ask an administrator for one, and tell them your subject: {subject}",
            )
        try:
            return await self._external.add(self.provider.issuer, subject, _username(claims), role)
        except (InvalidUsernameError, UsernameTakenError) as error:
            raise ProviderSignInError(
                "oidc_no_username", "No username could be made of what the identity provider says of you."
            ) from error

    async def _in_role(self, account: Account, role: Role | None) -> User:
        """Give a user the role the provider says they have now."""
        if role is None or role is account.user.role:
            return account.user
        try:
            return await self._users.set_role(account.user.username, role)
        except LastAdminError:
            logger.warning("oidc_last_admin_kept", user_id=account.user.id)
            return account.user

    def _require_allowed(self, claims: Mapping[str, Any]) -> None:
        policy = self._policy
        if not policy.allowed_domains and not policy.allowed_emails:
            return
        email = str(claims.get("email", "")).lower()
        # A provider that lets people name any address says so here.
        is_verified = claims.get("email_verified") is True
        is_listed = email in policy.allowed_emails or email.rpartition("@")[2] in policy.allowed_domains
        if not (is_verified and is_listed):
            logger.warning("oidc_not_allowed", subject=claims["sub"], email_verified=is_verified)
            raise ProviderSignInError("oidc_not_allowed", "Your account may not be used here. Ask an administrator.")

    def _role(self, claims: Mapping[str, Any]) -> Role | None:
        """Return the highest role the claims give; ``None`` if roles are not the provider's business."""
        if self._policy.role_claim is None:
            return None
        held = _values(claims, self._policy.role_claim)
        roles = [role for value, role in self._policy.roles.items() if value in held or value == ANYBODY]
        if not roles:
            logger.warning("oidc_no_role", subject=claims["sub"])
            raise ProviderSignInError("oidc_not_allowed", "Your account may not be used here. Ask an administrator.")
        return next(role for role in Role if role in roles)


def _expired() -> ProviderSignInError:
    return ProviderSignInError("oidc_expired", "The sign-in took too long or was begun elsewhere. Try again.")


def _username(claims: Mapping[str, Any]) -> str:
    """Return a name made of what the provider says, in the letters that usernames have."""
    for claim in ("preferred_username", "email", "sub"):
        value = claims.get(claim)
        if isinstance(value, str):
            kept = "".join(
                letter for letter in value.lower() if letter.isascii() and (letter.isalnum() or letter in "._@+-")
            )
            if name := kept.lstrip("._@+-")[: MAX_USERNAME_LENGTH - 3]:
                return name
    return ""


def _values(claims: Mapping[str, Any], path: str) -> Sequence[str]:
    """Return the texts at a path of claims, such as ``realm_access.roles``; one text counts as a list of one."""
    # A claim's own name may hold dots: those of many providers are addresses.
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for part in path.split("."):
            found = cast("Mapping[str, Any]", found).get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return [found]
    return [value for value in cast("list[Any]", found) if isinstance(value, str)] if isinstance(found, list) else []
