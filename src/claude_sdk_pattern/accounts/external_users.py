"""Users whom an identity provider vouches for, found by what it calls them and never by their mail address."""

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from claude_sdk_pattern.accounts.clock import Clock, utc_now
from claude_sdk_pattern.accounts.errors import UnknownUserError, UsernameTakenError
from claude_sdk_pattern.accounts.logins import locked_user
from claude_sdk_pattern.accounts.rules import normal_username
from claude_sdk_pattern.accounts.users import Account, Role, User, Users, account_of, insert_user, user_of
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import ExternalIdentityRow, UserRow

# How many numbers are tried behind a name that is taken.
_NAMES_TRIED = 20


class ExternalUsers:
    """Finds, makes and links them."""

    def __init__(self, database: Database, users: Users, now: Clock = utc_now) -> None:
        self._database = database
        self._users = users
        self._now = now

    async def find(self, issuer: str, subject: str) -> Account | None:
        """Return the user the provider knows by this subject, disabled or not; ``None`` for nobody."""
        query = (
            select(UserRow)
            .join(ExternalIdentityRow, ExternalIdentityRow.user_id == UserRow.id)
            .where(ExternalIdentityRow.issuer == issuer, ExternalIdentityRow.subject == subject)
        )
        async with self._database.reading() as session:
            row = await session.scalar(query)
        return None if row is None else account_of(row)

    async def add(self, issuer: str, subject: str, username: str, role: Role) -> User:
        """Make a user without a password; under another name like it if the name is taken.

        Two first sign-ins of one person at the same time make one user.

        Raises:
            InvalidUsernameError: no username can be made of the name.
            UsernameTakenError: neither of that nor of the names like it.
        """
        for number in range(1, _NAMES_TRIED + 1):
            row = await self._users.new_row(username if number == 1 else f"{username}-{number}", None, role)
            try:
                async with self._database.sessions.begin() as session:
                    await insert_user(session, row)
                    session.add(self._identity(issuer, subject, row.id))
            except UsernameTakenError:
                # Perhaps by the other of two first sign-ins.
                if (found := await self.find(issuer, subject)) is not None:
                    return found.user
            except IntegrityError:
                found = await self.find(issuer, subject)
                if found is None:
                    raise
                return found.user
            else:
                return user_of(row)
        raise UsernameTakenError(username)

    async def link(self, username: str, issuer: str, subject: str) -> User:
        """Let a user sign in as this subject, and nobody else any more.

        Raises:
            UnknownUserError: there is no such user.
        """
        name = normal_username(username)
        async with self._database.sessions.begin() as session:
            row = await session.scalar(locked_user(UserRow.username == name))
            if row is None:
                raise UnknownUserError(name)
            identity = await session.get(ExternalIdentityRow, (issuer, subject))
            if identity is None:
                session.add(self._identity(issuer, subject, row.id))
            else:
                identity.user_id = row.id
        return user_of(row)

    def _identity(self, issuer: str, subject: str, user_id: str) -> ExternalIdentityRow:
        return ExternalIdentityRow(issuer=issuer, subject=subject, user_id=user_id, created_at=self._now())
