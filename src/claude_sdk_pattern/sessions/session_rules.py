"""What the permission gate needs to know about a session and has to ask the database for."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from claude_sdk_pattern.policy.model import RoleName, Rule
from claude_sdk_pattern.policy.rule_store import RuleStore

# How long a rule that another server stored, or a new role, may take to hold. What this server stores holds at once.
_FRESH_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The role of a session's owner, and the rules that were stored for the session."""

    role: RoleName
    rules: tuple[Rule, ...]


class SessionRules:
    """Reads the standing of one session, and keeps it for a moment: a turn can make many calls."""

    def __init__(
        self, session_id: str, *, owner_id: str, store: RuleStore, role_of: Callable[[str], Awaitable[RoleName]]
    ) -> None:
        self._session_id = session_id
        self._owner_id = owner_id
        self._store = store
        self._role_of = role_of
        self._standing: Standing | None = None
        self._revision: int | None = None
        self._read_at = 0.0

    async def standing(self) -> Standing:
        """Return the standing, at most a moment old.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: it cannot be read. Whoever decides by it has to deny.
        """
        revision = self._store.revision
        is_fresh = time.monotonic() - self._read_at < _FRESH_SECONDS and revision == self._revision
        if self._standing is None or not is_fresh:
            role = await self._role_of(self._owner_id)
            stored = await self._store.for_session(self._session_id, owner_id=self._owner_id, role=role)
            self._standing = Standing(role=role, rules=tuple(item.rule for item in stored))
            self._revision, self._read_at = revision, time.monotonic()
        return self._standing
