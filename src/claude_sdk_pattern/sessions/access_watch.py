"""Stops what people asked for who may not ask any more: disabled and deleted users.

Their connections are closed where they are held; this is for turns, which go on without anybody connected.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import structlog
from sqlalchemy.exc import DBAPIError

from claude_sdk_pattern.events.recorded import user_actor
from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.turns import StopReason

logger = structlog.get_logger(__name__)

# One small query each time, and none while no turn runs.
_LOOK_SECONDS = 1.0

_USER = user_actor("")


class AccessWatch:
    """Looks again and again until :meth:`run` is cancelled.

    Args:
        conversations: returns the conversations there are on this server.
        without_access: returns those of some users, by id, who may not ask any more.
    """

    def __init__(
        self,
        conversations: Callable[[], Iterable[Conversation]],
        without_access: Callable[[Iterable[str]], Awaitable[set[str]]],
    ) -> None:
        self._conversations = conversations
        self._without_access = without_access

    async def run(self) -> None:
        """Look at all turns, again and again."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.look()
            except DBAPIError as error:
                # What cannot be found out now is found out the next time.
                logger.warning("access_not_looked_at", error=str(error).partition("\n")[0])

    async def look(self) -> None:
        """Look at all turns once, and stop those that must not go on."""
        asking = {actor for conversation in self._conversations() for actor in conversation.asking}
        users = {actor.removeprefix(_USER) for actor in asking if actor.startswith(_USER)}
        if not users:
            return
        for user_id in await self._without_access(users):
            logger.info("turns_stopped", user_id=user_id)
            for conversation in self._conversations():
                conversation.stop_turns_of(user_actor(user_id), StopReason.ACCESS_ENDED)
