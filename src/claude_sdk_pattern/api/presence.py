"""Who has which session open, over all connections of this server."""

from collections.abc import Callable
from typing import Literal

from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.api.frames import Participant, PresenceUpdate

type PresenceState = Literal["active", "idle", "typing"]

_LIVELINESS: dict[PresenceState, int] = {"idle": 0, "active": 1, "typing": 2}


class Presence:
    """The connections of every session, and what the person behind each is doing."""

    def __init__(self) -> None:
        self._rooms: dict[str, dict[Connection, PresenceState]] = {}

    def join(self, session_id: str, connection: "Connection") -> None:
        """Add a connection and tell the others."""
        self._rooms.setdefault(session_id, {})[connection] = "active"
        self._announce(session_id, but=connection)

    def leave(self, session_id: str, connection: "Connection") -> None:
        """Remove a connection and tell the others."""
        room = self._rooms.get(session_id, {})
        room.pop(connection, None)
        if not room:
            self._rooms.pop(session_id, None)
        self._announce(session_id)

    def set_state(self, session_id: str, connection: "Connection", state: PresenceState) -> None:
        """Note what a person is doing and tell everybody if that is news."""
        room = self._rooms.get(session_id, {})
        if room.get(connection, state) != state:
            room[connection] = state
            self._announce(session_id)

    def participants(self, session_id: str) -> tuple[Participant, ...]:
        """Return everybody here once, however many tabs they have open."""
        states: dict[str, tuple[User, PresenceState]] = {}
        for connection, state in self._rooms.get(session_id, {}).items():
            user = connection.user
            known = states.get(user.id)
            if known is None or _LIVELINESS[state] > _LIVELINESS[known[1]]:
                states[user.id] = (user, state)
        return tuple(Participant(id=user.id, username=user.username, state=state) for user, state in states.values())

    @property
    def connections(self) -> int:
        """How many connections there are, over all sessions."""
        return sum(len(room) for room in self._rooms.values())

    def tell(self, frame: str, *, but: Callable[[str], bool]) -> None:
        """Send a frame to everybody, except in the sessions for which ``but`` holds."""
        for session_id, room in self._rooms.items():
            if not but(session_id):
                for connection in room:
                    connection.post(frame)

    def _announce(self, session_id: str, *, but: "Connection | None" = None) -> None:
        frame = PresenceUpdate(participants=self.participants(session_id)).encode()
        for connection in self._rooms.get(session_id, {}):
            if connection is not but:
                connection.post(frame)


class Connection:
    """One WebSocket, as far as others may know it. ``post`` queues a frame for it without waiting."""

    def __init__(self, user: User, post: Callable[[str], None]) -> None:
        self.user = user
        self.post = post
