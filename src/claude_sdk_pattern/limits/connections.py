"""How many connections one person may keep open: WebSockets and event streams together, on this server."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from claude_sdk_pattern.limits.errors import TooManyConnectionsError


class ConnectionLimit:
    """Counts open connections by user."""

    def __init__(self, most_per_user: int) -> None:
        self._most = most_per_user
        self._open: Counter[str] = Counter()

    @contextmanager
    def connected(self, user_id: str) -> Generator[None]:
        """Count a connection for as long as the context lasts.

        Raises:
            TooManyConnectionsError: the user has as many as one may have.
        """
        if self._open[user_id] >= self._most:
            raise TooManyConnectionsError(self._most)
        self._open[user_id] += 1
        try:
            yield
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]

    def open_by(self, user_id: str) -> int:
        """Return how many connections a user has open."""
        return self._open.get(user_id, 0)
