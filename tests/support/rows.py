"""Rows with unremarkable values, for tests that need one to exist."""

from datetime import UTC, datetime

from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionRow, UserRow

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def a_user(user_id: str) -> UserRow:
    """Return a user who cannot sign in."""
    return UserRow(id=user_id, username=user_id, password_hash="", role="user", created_at=_EPOCH)


def a_session(session_id: str, *, owner_id: str) -> SessionRow:
    """Return a session of a user."""
    return SessionRow(
        id=session_id,
        owner_id=owner_id,
        title="",
        model="",
        permission_mode="default",
        created_at=_EPOCH,
        last_active_at=_EPOCH,
    )


async def store_sessions(database: Database, *session_ids: str, owner_id: str = "owner") -> None:
    """Store sessions of one user, who is stored too if need be."""
    async with database.sessions.begin() as session:
        if await session.get(UserRow, owner_id) is None:
            session.add(a_user(owner_id))
            await session.flush()
        session.add_all(a_session(session_id, owner_id=owner_id) for session_id in session_ids)
