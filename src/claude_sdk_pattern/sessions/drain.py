"""How the sessions of a server come to rest when it is told to stop."""

import asyncio
from collections.abc import Collection
from typing import Any

import structlog

from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.turns import StopReason

logger = structlog.get_logger(__name__)

# What turns get that are interrupted in a hurry: an agent that obeys does so in far less.
_HURRIED_SECONDS = 2.0

# The part of the grace period in which turns may end by themselves.
_UNDISTURBED = 0.5


class Drain:
    """The grace period: it counts from :meth:`begin`, and turns that still run at half of it are interrupted.

    Args:
        grace_seconds: how long all running turns together may take to end.
    """

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._begun_at: float | None = None
        self._hurried = asyncio.Event()

    @property
    def is_begun(self) -> bool:
        """Whether the server is stopping."""
        return self._begun_at is not None

    def begin(self, conversations: Collection[Conversation]) -> None:
        """Start the grace period and tell every conversation. Safe to call twice."""
        if self._begun_at is not None:
            return
        self._begun_at = asyncio.get_running_loop().time()
        busy = sum(conversation.is_busy for conversation in conversations)
        logger.info("draining", grace_seconds=self._grace_seconds, sessions=len(conversations), busy=busy)
        for conversation in conversations:
            conversation.announce_shutdown(interrupt_after_seconds=_UNDISTURBED * self._grace_seconds)

    def hurry(self) -> None:
        """Cut the grace period short: interrupt now, and wait only as long as an obedient agent takes."""
        self._hurried.set()

    async def wait_rested(self, conversations: Collection[Conversation]) -> None:
        """Wait until no turn runs any more or the grace period is over; only after :meth:`begin`."""
        if self._begun_at is None:
            raise RuntimeError("begin the drain before waiting for it")
        rested = asyncio.gather(*(conversation.wait_rested() for conversation in conversations))
        hurried = asyncio.create_task(self._hurried.wait())
        half, end = (self._begun_at + part * self._grace_seconds for part in (_UNDISTURBED, 1.0))
        try:
            await _wait_until(half, rested, hurried)
            if rested.done():
                return
            for conversation in conversations:
                conversation.stop_turn(StopReason.SHUTDOWN)
            if not hurried.done():
                await _wait_until(end, rested, hurried)
            if hurried.done():
                await _wait_until(min(end, asyncio.get_running_loop().time() + _HURRIED_SECONDS), rested)
        finally:
            for waiting in (rested, hurried):
                waiting.cancel()
            await asyncio.gather(rested, hurried, return_exceptions=True)


async def _wait_until(moment: float, *awaited: asyncio.Future[Any]) -> None:
    """Wait for the first of several, at most until a moment on the event loop's clock."""
    seconds = max(0.0, moment - asyncio.get_running_loop().time())
    await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
