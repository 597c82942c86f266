"""How often anybody may ask for what: requests, new sessions, messages."""

import math

from claude_sdk_pattern.limits.buckets import Buckets, Rate
from claude_sdk_pattern.limits.errors import RateLimitedError

# A page that opens asks for several things at once, and somebody who clicks through their conversations does so again
# and again. Two minutes' worth may come together.
_BURST_MINUTES = 2

# A person who clicks in an app of a plugin, or an app that asks for news every few seconds.
_APP_CALLS = Rate(per_minute=60, burst=30)


class RateLimits:
    """The limits of a server. The numbers are what may be sustained; see the settings of the same names."""

    def __init__(
        self,
        buckets: Buckets,
        *,
        requests_per_minute: int,
        new_sessions_per_minute: int,
        session_messages_per_minute: int,
        user_messages_per_minute: int,
    ) -> None:
        self._buckets = buckets
        self._requests = Rate(per_minute=requests_per_minute, burst=_BURST_MINUTES * requests_per_minute)
        self._new_sessions = Rate(per_minute=new_sessions_per_minute, burst=new_sessions_per_minute)
        self._session_messages = Rate(per_minute=session_messages_per_minute, burst=session_messages_per_minute)
        self._user_messages = Rate(per_minute=user_messages_per_minute, burst=user_messages_per_minute)

    async def check_request(self, who: str) -> None:
        """Count a request of a user, or of an address nobody has signed in from.

        Raises:
            RateLimitedError: it is one too many, and does not count.
        """
        await self._take(f"requests:{who}", self._requests)

    async def check_new_session(self, user_id: str) -> None:
        """Count a session that a user makes, forks included.

        Raises:
            RateLimitedError: it is one too many, and does not count.
        """
        await self._take(f"new-sessions:{user_id}", self._new_sessions)

    async def check_message(self, user_id: str, session_id: str) -> None:
        """Count a message of a user to a session; each begins a turn.

        Raises:
            RateLimitedError: it is one too many for the session or for the user.
        """
        await self._take(f"session-messages:{session_id}", self._session_messages)
        await self._take(f"user-messages:{user_id}", self._user_messages)

    async def check_app_call(self, user_id: str, session_id: str) -> None:
        """Count what an app of a plugin asks of its plugin, for a user in a session.

        Raises:
            RateLimitedError: it is one too many, and does not count.
        """
        await self._take(f"app-calls:{session_id}:{user_id}", _APP_CALLS)

    async def _take(self, key: str, rate: Rate) -> None:
        wait_seconds = await self._buckets.take(key, rate)
        if wait_seconds:
            raise RateLimitedError(math.ceil(wait_seconds))
