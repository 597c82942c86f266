"""Bookkeeping of one session that nobody waits for now."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

logger = structlog.get_logger(__name__)


class Background:
    """Runs it, and is done only when all of it is.

    Args:
        session_id: the session.
        may_write: whether the session is this server's; work that begins when it is not is left to its owner.
    """

    def __init__(self, session_id: str, *, may_write: Callable[[], bool]) -> None:
        self._session_id = session_id
        self._may_write = may_write
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Begin ``work``; what goes wrong with it is logged."""
        task = asyncio.create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self) -> None:
        """Wait until nothing is under way."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        if not self._may_write():
            work.close()
            return
        try:
            await work
        except Exception:
            # Whatever it was, the conversation does not depend on it.
            logger.exception("session_bookkeeping_failed", session_id=self._session_id)
