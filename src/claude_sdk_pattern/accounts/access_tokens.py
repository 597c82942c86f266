"""Access tokens: signed, short-lived, carried in the ``Authorization`` header."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import jwt
from uuid_utils import uuid4

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.accounts.signing_keys import KeyRing
from claude_sdk_pattern.accounts.users import User

ALGORITHM = "HS256"
ISSUER = "claude_sdk_pattern"
AUDIENCE = "claude_sdk_pattern/api"

# Servers that share a database also share their time to within a few seconds.
LEEWAY = timedelta(seconds=10)

# All of them, so that a token that lacks one is refused rather than checked for less.
_REQUIRED_CLAIMS = ("sub", "sid", "role", "iat", "exp", "jti", "iss", "aud")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessClaims:
    """What a valid token says. Whether that still holds only the database knows."""

    user_id: str
    login_id: str


class AccessTokens:
    """Signs access tokens with the newest key and takes those of every key that is still good."""

    def __init__(self, keys: Callable[[], Awaitable[KeyRing]], *, lifetime: timedelta, now: Clock = utc_now) -> None:
        self._keys = keys
        self.lifetime = lifetime
        self._now = now

    async def issue(self, user: User, login_id: str) -> str:
        """Return a token for a user that is good as long as their login, and no longer than ``lifetime``."""
        now, ring = self._now(), await self._keys()
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": user.id,
            "sid": login_id,
            # For clients to show the right buttons. The server goes by the database.
            "role": user.role.value,
            "iat": now,
            "exp": now + self.lifetime,
            "jti": str(uuid4()),
        }
        return jwt.encode(claims, ring.keys[ring.kid], algorithm=ALGORITHM, headers={"kid": ring.kid})

    async def check(self, token: str) -> AccessClaims:
        """Return what a token says.

        Raises:
            InvalidAccessTokenError: it is not one of ours, not for this API, expired or not valid yet.
        """
        ring = await self._keys()
        try:
            key = ring.keys.get(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                raise InvalidAccessTokenError
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                leeway=LEEWAY,
                options={"require": list(_REQUIRED_CLAIMS)},
            )
        except jwt.InvalidTokenError as error:
            raise InvalidAccessTokenError from error
        user_id, login_id = claims["sub"], claims["sid"]
        if not isinstance(user_id, str) or not isinstance(login_id, str):
            raise InvalidAccessTokenError
        return AccessClaims(user_id=user_id, login_id=login_id)
