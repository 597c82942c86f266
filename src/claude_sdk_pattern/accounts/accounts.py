"""The room's front: what the edge asks for, made of the parts behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from claude_sdk_pattern.accounts.access_tokens import AccessClaims, AccessTokens
from claude_sdk_pattern.accounts.administration import Administration
from claude_sdk_pattern.accounts.audit import AuditAction, AuditLog
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import (
    InvalidAccessTokenError,
    InvalidTicketError,
    ProviderSignInError,
    WrongCredentialsError,
)
from claude_sdk_pattern.accounts.identities import Identities, Identity
from claude_sdk_pattern.accounts.keys import derive_key
from claude_sdk_pattern.accounts.logins import LoginMethod, Origin
from claude_sdk_pattern.accounts.oidc_provider import Client, OidcProvider
from claude_sdk_pattern.accounts.oidc_sign_in import OidcPolicy, OidcSignIn, Vouched
from claude_sdk_pattern.accounts.one_time_links import OneTimeLink
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.refresh_tokens import IssuedRefreshToken, RefreshTokens
from claude_sdk_pattern.accounts.sign_in import SignIn
from claude_sdk_pattern.accounts.signing_keys import KeyRings, SigningKeys
from claude_sdk_pattern.accounts.throttle import SignInThrottle
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
class OidcConfig:
    """The identity provider of this server; ``name`` is what people know it by."""

    issuer: str
    name: str
    client: Client
    policy: OidcPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPair:
    """What a client gets that has signed in or come back."""

    user: User
    access_token: str
    refresh_token: str


class Accounts:
    """Signing in and out, and finding out who asks. ``administration`` manages who there is. Holds nothing to close."""

    def __init__(
        self,
        database: Database,
        *,
        secret_key: str,
        previous_secret_key: str | None = None,
        lifetimes: TokenLifetimes | None = None,
        passwords: Passwords | None = None,
        audit: AuditLog | None = None,
        oidc: OidcConfig | None = None,
        now: Clock = utc_now,
    ) -> None:
        passwords = passwords or Passwords()
        self.lifetimes = lifetimes or TokenLifetimes()
        self._audit = audit or AuditLog(database)
        self.administration = Administration(database, self._audit, passwords=passwords, now=now)
        self.links = self.administration.links
        self.logins = self.administration.logins
        self._sign_in = SignIn(database, self.users, passwords, SignInThrottle(database, now))
        rings = KeyRings(SigningKeys(database, now), secret=secret_key, previous_secret=previous_secret_key)
        self._access_tokens = AccessTokens(rings.current, lifetime=self.lifetimes.access, now=now)
        self.refresh_tokens = RefreshTokens(
            database, key=derive_key(secret_key, "refresh-token"), lifetime=self.lifetimes.refresh, now=now
        )
        self._tickets = Tickets(database, lifetime=self.lifetimes.ticket, now=now)
        self._identities = Identities(database, now)
        self.oidc = None if oidc is None else self._oidc(oidc, derive_key(secret_key, "oidc-attempt"), now)
        """Signing in through an identity provider, where there is one."""

    @property
    def users(self) -> Users:
        """Who there is."""
        return self.administration.users

    # --- signing in and out -------------------------------------------------------------------------------------

    async def login(self, username: str, password: str, address: str, client: str = "") -> TokenPair:
        """Begin a login. ``address`` is where the attempt came from, ``client`` what the client calls itself.

        Raises:
            WrongCredentialsError: no enabled user has this name and password.
            TooManyAttemptsError, SignInOverloadedError: try again later.
        """
        origin = Origin(address=address, client=client)
        proven = await self._sign_in.check(username, password, origin)
        return await self._start(proven.user_id, "password", origin, password_hash=proven.password_hash)

    async def login_with_link(self, token: str, password: str, origin: Origin) -> TokenPair:
        """Give the user a one-time link is for a new password, and begin a login.

        Raises:
            InvalidLinkError: the link is unknown, expired or used, or its user disabled.
            WeakPasswordError: the password breaks the rules; the link stays good.
        """
        user = await self.users.set_password_by_link(self.links, token, password)
        await self._audit.record(AuditAction.PASSWORD_CHANGED, actor=user.id, target=user.id, details={"by": "link"})
        return await self._start_recorded(user.id, "link", origin)

    async def set_up(self, token: str, username: str, password: str, origin: Origin) -> TokenPair:
        """Make the first user, an administrator, with the link of :meth:`setup_link`, and begin a login.

        Raises:
            InvalidLinkError: the link is unknown, expired or used.
            SetupDoneError: there is a user already.
            InvalidUsernameError, WeakPasswordError: the name or the password breaks the rules; the link stays good.
        """
        user = await self.users.add_first(self.links, token, username, password)
        details = {"username": user.username, "role": user.role.value, "by": "setup link"}
        await self._audit.record(AuditAction.USER_CREATED, actor=user.id, target=user.id, details=details)
        return await self._start_recorded(user.id, "link", origin)

    async def login_with_provider(
        self, answer: Mapping[str, str], cookie: str | None, origin: Origin
    ) -> tuple[TokenPair, str]:
        """Finish a sign-in through the identity provider; return the tokens and where the person wanted to go.

        Raises:
            ProviderSignInError: nobody is signed in; ``code`` says why.
        """
        if self.oidc is None:
            raise WrongCredentialsError
        vouched: Vouched = await self.oidc.finish(answer, cookie)
        if vouched.is_new:
            details = {"username": vouched.user.username, "role": vouched.user.role.value, "by": "identity provider"}
            await self._audit.record(
                AuditAction.USER_CREATED, actor=vouched.user.id, target=vouched.user.id, details=details
            )
        return await self._start_recorded(vouched.user.id, "oidc", origin), vouched.next_path

    async def end_session_url(self, identity: Identity, return_to: str) -> str | None:
        """Return where a browser signs out of the identity provider, if this login came from there."""
        if self.oidc is None or await self.logins.method(identity.login_id) != "oidc":
            return None
        try:
            return await self.oidc.provider.end_session_url(return_to)
        except ProviderSignInError:
            # Signing out here must work without it.
            return None

    async def setup_link(self) -> OneTimeLink | None:
        """Return a link that makes the first user; ``None`` if there is one."""
        return None if await self.users.exist() else await self.links.for_setup()

    async def change_password(self, identity: Identity, current: str, new: str, origin: Origin) -> TokenPair:
        """Change one's own password. All of one's logins end, and a new one begins.

        Raises:
            WrongCredentialsError: ``current`` is not the password.
            WeakPasswordError: ``new`` breaks the rules.
            TooManyAttemptsError, SignInOverloadedError: try again later.
        """
        await self._sign_in.check(identity.user.username, current, origin)
        user = await self.administration.set_password(identity.user.username, new, actor=identity.user.id)
        self._identities.forget(identity.login_id)
        return await self._start(user.id, "password", origin)

    async def refresh(self, refresh_token: str) -> TokenPair:
        """Continue a login with a token that is spent by this.

        Raises:
            InvalidRefreshTokenError: see :meth:`RefreshTokens.rotate`.
        """
        return await self._pair(await self.refresh_tokens.rotate(refresh_token))

    async def logout(self, identity: Identity) -> None:
        """End a login: its refresh token, its access tokens and, within a second, its open connections."""
        await self.refresh_tokens.end_login(identity.user.id, identity.login_id)
        self._identities.forget(identity.login_id)

    async def logout_everywhere(self, identity: Identity) -> None:
        """End all logins of a user, this one at once and the others within a second."""
        await self.logins.end_all(identity.user.id)
        self._identities.forget(identity.login_id)

    async def logout_with(self, refresh_token: str) -> str | None:
        """End the login of a refresh token, spent or not; return the id of its user, ``None`` if there is none."""
        ended = await self.refresh_tokens.end(refresh_token)
        if ended is None:
            return None
        self._identities.forget(ended.login_id)
        return ended.user_id

    # --- who asks -----------------------------------------------------------------------------------------------

    async def claimed_user_id(self, access_token: str) -> str:
        """Return whose an access token is by its signature alone; its login may have ended. Asks no database.

        Raises:
            InvalidAccessTokenError: we did not sign it, or it has expired.
        """
        return (await self._access_tokens.check(access_token)).user_id

    async def identify(self, access_token: str) -> Identity:
        """Return who carries an access token.

        Raises:
            InvalidAccessTokenError: it is not valid, or not any more.
        """
        return await self._identities.check(await self._access_tokens.check(access_token))

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

    def _oidc(self, config: OidcConfig, key: bytes, now: Clock) -> OidcSignIn:
        return OidcSignIn(
            OidcProvider(config.issuer, config.client),
            config.policy,
            name=config.name,
            users=self.users,
            external=self.administration.external,
            key=key,
            now=now,
        )

    async def _start_recorded(self, user_id: str, method: LoginMethod, origin: Origin) -> TokenPair:
        pair = await self._start(user_id, method, origin)
        details = {"address": origin.address, "method": method}
        await self._audit.record(AuditAction.LOGIN, actor=user_id, details=details)
        return pair

    async def _start(
        self, user_id: str, method: LoginMethod, origin: Origin, *, password_hash: str | None = None
    ) -> TokenPair:
        return await self._pair(await self.refresh_tokens.start(user_id, method, origin, password_hash=password_hash))

    async def _pair(self, issued: IssuedRefreshToken) -> TokenPair:
        return TokenPair(
            user=issued.user,
            access_token=await self._access_tokens.issue(issued.user, issued.login_id),
            refresh_token=issued.token,
        )
