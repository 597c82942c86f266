"""Who may do what to which session. REST, WebSocket and event streams all ask here."""

from enum import StrEnum

from claude_sdk_pattern.accounts.errors import NotAllowedError, SessionHiddenError
from claude_sdk_pattern.accounts.users import Role, User


class SessionRole(StrEnum):
    """What somebody is in a session. Each includes the ones below it."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"

    def includes(self, other: "SessionRole") -> bool:
        """Return whether this role may do what ``other`` may."""
        return _RANK[self] >= _RANK[other]


_RANK = {SessionRole.VIEWER: 0, SessionRole.EDITOR: 1, SessionRole.OWNER: 2}


class SessionAction(StrEnum):
    """What can be done to a session."""

    READ = "read"
    """See it: settings, tape, streams. Also fork it, which makes a session of one's own."""
    WRITE = "write"
    """Take part: send messages, interrupt, answer permission requests, attach files."""
    MANAGE = "manage"
    """Change what it is: rename, delete, settings, who takes part."""


_NEEDED = {
    SessionAction.READ: SessionRole.VIEWER,
    SessionAction.WRITE: SessionRole.EDITOR,
    SessionAction.MANAGE: SessionRole.OWNER,
}


def session_role(user: User, owner_id: str) -> SessionRole | None:
    """Return what a user is in a session, ``None`` for somebody with no part in it. Admins own every session."""
    if user.id == owner_id or user.role.includes(Role.ADMIN):
        return SessionRole.OWNER
    return None


def authorize(user: User, action: SessionAction, owner_id: str) -> SessionRole:
    """Return what the user is in a session if they may do this to it.

    Raises:
        SessionHiddenError: they have no part in it. Answer exactly as if there were no such session.
        NotAllowedError: they may see it but not do this.
    """
    role = session_role(user, owner_id)
    if role is None:
        raise SessionHiddenError
    if not role.includes(_NEEDED[action]):
        raise NotAllowedError(f"This needs the role {_NEEDED[action]} in the session; yours is {role}.")
    return role
