"""The room's front: what the edge asks for, made of the parts behind it."""

from dataclasses import dataclass
from datetime import timedelta

from claude_sdk_pattern.accounts.access_tokens import AccessClaims, AccessTokens
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError, InvalidTicketError
from claude_sdk_pattern.accounts.identities import Identities, Identity
from claude_sdk_pattern.accounts.keys import derive_key
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.refresh_tokens import IssuedRefreshToken, RefreshTokens
from claude_sdk_pattern.accounts.sign_in import SignIn
from claude_sdk_pattern.accounts.throttle import LoginThrottle
from claude_sdk_pattern.accounts.tickets import Ticket, Tickets
from claude_sdk_pattern.accounts.users import User, Users
from claude_sdk_pattern.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLifetimes:
    """How long each kind of token is good for."""

    access: timedelta = timedelta(minutes=15)
    refresh: timedelta = timedelta(days=7)
    ticket: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPair:
    """What a client gets that has signed in or come back."""

    user: User
    access_token: str
    refresh_token: str


class Accounts:
    """Signing in and out, and finding out who asks. ``users`` manages who there is. Holds nothing to close."""

    def __init__(
        self,
        database: Database,
        *,
        secret_key: str,
        lifetimes: TokenLifetimes | None = None,
        passwords: Passwords | None = None,
        now: Clock = utc_now,
    ) -> None:
        passwords = passwords or Passwords()
        self.lifetimes = lifetimes or TokenLifetimes()
        self.users = Users(database, passwords, now)
        self._sign_in = SignIn(database, self.users, passwords, LoginThrottle())
        self._access_tokens = AccessTokens(
            key=derive_key(secret_key, "access-token"), lifetime=self.lifetimes.access, now=now
        )
        self.refresh_tokens = RefreshTokens(
            database, key=derive_key(secret_key, "refresh-token"), lifetime=self.lifetimes.refresh, now=now
        )
        self._tickets = Tickets(database, lifetime=self.lifetimes.ticket, now=now)
        self._identities = Identities(database, now)

    async def login(self, username: str, password: str, address: str) -> TokenPair:
        """Begin a login. ``address`` is where the attempt came from.

        Raises:
            WrongCredentialsError: no enabled user has this name and password.
            TooManyAttemptsError, SignInOverloadedError: try again later.
        """
        proven = await self._sign_in.check(username, password, address)
        return self._pair(await self.refresh_tokens.start(proven.user_id, proven.password_hash))

    async def refresh(self, refresh_token: str) -> TokenPair:
        """Continue a login with a token that is spent by this.

        Raises:
            InvalidRefreshTokenError: see :meth:`RefreshTokens.rotate`.
        """
        return self._pair(await self.refresh_tokens.rotate(refresh_token))

    async def logout(self, identity: Identity) -> None:
        """End a login: its refresh token, its access tokens and, within a second, its open connections."""
        await self.refresh_tokens.end_login(identity.user.id, identity.login_id)
        self._identities.forget(identity.login_id)

    async def logout_with(self, refresh_token: str) -> bool:
        """End the login of a refresh token, spent or not; return whether there is one."""
        login_id = await self.refresh_tokens.end(refresh_token)
        if login_id is None:
            return False
        self._identities.forget(login_id)
        return True

    async def identify(self, access_token: str) -> Identity:
        """Return who carries an access token.

        Raises:
            InvalidAccessTokenError: it is not valid, or not any more.
        """
        return await self._identities.check(self._access_tokens.check(access_token))

    async def recheck(self, identity: Identity) -> Identity:
        """Return the same login with the role its user has now; for connections that stay open.

        Cheap enough to call once a second and before each command.

        Raises:
            InvalidAccessTokenError: it has ended, or its user was disabled; the connection must be closed.
        """
        return await self._identities.check(AccessClaims(user_id=identity.user.id, login_id=identity.login_id))

    async def issue_ticket(self, identity: Identity) -> Ticket:
        """Return a ticket that opens one connection for this login."""
        return await self._tickets.issue(identity.user.id, identity.login_id)

    async def redeem_ticket(self, ticket: str) -> Identity:
        """Use up a ticket and return whose it is.

        Raises:
            InvalidTicketError: it is unknown, used, expired, or its login has ended.
        """
        claims = await self._tickets.take(ticket)
        try:
            return await self._identities.check(claims)
        except InvalidAccessTokenError as error:
            raise InvalidTicketError from error

    def _pair(self, issued: IssuedRefreshToken) -> TokenPair:
        return TokenPair(
            user=issued.user,
            access_token=self._access_tokens.issue(issued.user, issued.login_id),
            refresh_token=issued.token,
        )
