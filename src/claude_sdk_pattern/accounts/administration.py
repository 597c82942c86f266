"""What is done to users by others: over REST, on the command line, and on the page. All of it is in the audit log."""

from collections.abc import Sequence
from datetime import timedelta

from claude_sdk_pattern.accounts.audit import AuditAction, AuditLog
from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.external_users import ExternalUsers
from claude_sdk_pattern.accounts.logins import Login, Logins
from claude_sdk_pattern.accounts.one_time_links import OneTimeLink, OneTimeLinks
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.signing_keys import SigningKey, SigningKeys
from claude_sdk_pattern.accounts.users import Account, Role, User, Users
from claude_sdk_pattern.storage.database import Database


class Administration:
    """Changes users in somebody's name. ``actor`` is the id of a user, or that of the command line.

    Users go by their names, which never change. Where one is not there, all methods raise :class:`UnknownUserError`.
    """

    def __init__(
        self, database: Database, audit: AuditLog, *, passwords: Passwords | None = None, now: Clock = utc_now
    ) -> None:
        self.users = Users(database, passwords or Passwords(), now)
        self.external = ExternalUsers(database, self.users, now)
        self.links = OneTimeLinks(database, now)
        self.logins = Logins(database, now)
        self._keys = SigningKeys(database, now)
        self._audit = audit

    async def add(self, username: str, password: str | None, role: Role, *, actor: str) -> User:
        """Make a user; see :meth:`Users.add`."""
        user = await self.users.add(username, password, role)
        await self._audit.record(
            AuditAction.USER_CREATED, actor=actor, target=user.id, details={"username": user.username, "role": role}
        )
        return user

    async def set_role(self, username: str, role: Role, *, actor: str) -> User:
        """Change a role and end the user's sign-ins, unless they have the role already. Raises LastAdminError."""
        before = (await self.users.find(username)).user
        user = await self.users.set_role(username, role)
        if before.role is not role:
            details = {"from": before.role.value, "to": role.value}
            await self._audit.record(AuditAction.USER_ROLE_CHANGED, actor=actor, target=user.id, details=details)
        return user

    async def set_password(self, username: str, password: str, *, actor: str) -> User:
        """Change a password and end the user's sign-ins. Raises WeakPasswordError."""
        user = await self.users.set_password(username, password)
        await self._audit.record(AuditAction.PASSWORD_CHANGED, actor=actor, target=user.id)
        return user

    async def reset_password(self, username: str, *, actor: str) -> OneTimeLink:
        """Return a link with which the user chooses a new password; the old one is good until they do."""
        user = (await self.users.find(username)).user
        link = await self.links.for_password(user.id)
        await self._audit.record(AuditAction.PASSWORD_LINK_MADE, actor=actor, target=user.id)
        return link

    async def disable(self, username: str, *, actor: str) -> User:
        """Keep a user out: their sign-ins end, their running turns are stopped. Raises LastAdminError."""
        user = await self.users.disable(username)
        await self._audit.record(AuditAction.USER_DISABLED, actor=actor, target=user.id)
        return user

    async def enable(self, username: str, *, actor: str) -> User:
        """Let a disabled user in again."""
        user = await self.users.enable(username)
        await self._audit.record(AuditAction.USER_ENABLED, actor=actor, target=user.id)
        return user

    async def delete(self, username: str, *, actor: str) -> None:
        """Delete a user without sessions. Raises LastAdminError, UserOwnsSessionsError."""
        user = (await self.users.find(username)).user
        await self.users.delete(username)
        details = {"username": user.username}
        await self._audit.record(AuditAction.USER_DELETED, actor=actor, target=user.id, details=details)

    async def link(self, username: str, issuer: str, subject: str, *, actor: str) -> User:
        """Let a user sign in as a subject of an identity provider."""
        user = await self.external.link(username, issuer, subject)
        details = {"issuer": issuer, "subject": subject}
        await self._audit.record(AuditAction.USER_LINKED, actor=actor, target=user.id, details=details)
        return user

    async def sign_ins(self, username: str) -> Sequence[Login]:
        """Return a user's sign-ins that are good now."""
        return await self.logins.of_user((await self.users.find(username)).user.id)

    async def sign_out(self, username: str, *, actor: str) -> User:
        """End all sign-ins of a user."""
        user = (await self.users.find(username)).user
        await self.logins.end_all(user.id)
        await self._audit.record(AuditAction.USER_SIGNED_OUT, actor=actor, target=user.id)
        return user

    async def account(self, user_id: str) -> Account:
        """Return the user with this id."""
        return await self.users.get(user_id)

    async def rotate_keys(self, *, token_lifetime: timedelta, actor: str) -> SigningKey:
        """Make a new signing key; see :meth:`SigningKeys.rotate`."""
        key = await self._keys.rotate(token_lifetime=token_lifetime)
        await self._audit.record(AuditAction.KEYS_ROTATED, actor=actor, target=key.id)
        return key

    async def keys(self) -> Sequence[SigningKey]:
        """Return the signing keys that are good now, the newest first."""
        return await self._keys.list()
