"""A session's row as its conversation knows it: changed here first, then in the database."""

from dataclasses import replace
from typing import Any

from claude_sdk_pattern.sessions.background import Background
from claude_sdk_pattern.sessions.plugin_choice import PluginChoice
from claude_sdk_pattern.sessions.repository import Session, SessionRepository


class SessionState:
    """The row of a session that is open on this server, which alone changes it.

    Attributes:
        session: the row now.
    """

    def __init__(self, session: Session, repository: SessionRepository, background: Background) -> None:
        self.session = session
        self._repository = repository
        self._background = background

    async def change(self, **values: Any) -> None:
        """Set columns and wait until the database has them."""
        self.session = replace(self.session, **values)
        await self._repository.update(self.session.id, **values)

    async def change_plugins(self, choice: PluginChoice) -> None:
        """Set which plugins the session works with, and wait until the database has it."""
        self.session = replace(self.session, plugins=choice)
        await self._repository.update(self.session.id, plugins=choice.to_row())

    def change_soon(self, **values: Any) -> None:
        """Set columns; the database is told in the background, because an answer must not wait for it."""
        self.session = replace(self.session, **values)
        self._background.run(self._repository.update(self.session.id, **values))

    def record_turn(self, **values: Any) -> None:
        """Mark the session active now, and set columns, as :meth:`change_soon` does."""
        self.session = replace(self.session, **values)
        self._background.run(self._repository.record_turn(self.session.id, **values))
