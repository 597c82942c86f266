"""A login: all refresh tokens that descend from one sign-in, under one ``family_id``. It lives until it is ended.

Whatever starts, continues or ends a login first locks the row of its user. Without that, a token handed out in the
same moment as the login is ended would outlive it: ending updates the rows it can see, and the new one is not
among them yet.
"""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from claude_sdk_pattern.storage.tables import RefreshTokenRow, UserRow


def locked_user(*criteria: ColumnElement[bool]) -> Select[UserRow]:
    """Return the query for one user that holds off other writers of the same user until the transaction ends.

    SQLite knows no row locks and needs none: its write transactions come one after the other.
    """
    # The weaker of the two write locks: the other one would also wait for inserts that refer to the user.
    return select(UserRow).where(*criteria).with_for_update(key_share=True)


async def end_login(session: AsyncSession, family_id: str, at: datetime) -> None:
    """End one login. The caller holds the lock of its user."""
    await session.execute(
        update(RefreshTokenRow)
        .where(RefreshTokenRow.family_id == family_id, RefreshTokenRow.revoked_at.is_(None))
        .values(revoked_at=at)
    )


async def end_logins_of(session: AsyncSession, user_id: str, at: datetime) -> None:
    """End all logins of a user. The caller holds the user's lock."""
    await session.execute(
        update(RefreshTokenRow)
        .where(RefreshTokenRow.user_id == user_id, RefreshTokenRow.revoked_at.is_(None))
        .values(revoked_at=at)
    )


def is_live(user_id: str, family_id: str, now: datetime) -> ColumnElement[bool]:
    """Return the condition that a login has not ended and its newest token has not expired."""
    return exists().where(
        RefreshTokenRow.family_id == family_id,
        RefreshTokenRow.user_id == user_id,
        RefreshTokenRow.revoked_at.is_(None),
        RefreshTokenRow.expires_at > now,
    )
