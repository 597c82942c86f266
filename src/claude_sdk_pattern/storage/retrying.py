"""Trying again while the database does not answer: restarts and locks pass, and what waits must not be lost."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to keep trying.

    Retries begin after ``first_seconds``, each waits twice as long as the one before up to ``longest_seconds``, and
    the last is made ``give_up_after_seconds`` after the first attempt.
    """

    first_seconds: float
    longest_seconds: float
    give_up_after_seconds: float


async def retried[T](
    attempt: Callable[[], Awaitable[T]],
    patience: Patience,
    *,
    on: tuple[type[Exception], ...],
    before_retry: Callable[[Exception, float], None],
) -> T:
    """Return what ``attempt`` returns, trying again after the errors ``on``; raise the last of them in the end.

    ``before_retry`` is called with the error and the seconds until the next attempt.
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + patience.give_up_after_seconds
    delay = patience.first_seconds
    while True:
        try:
            return await attempt()
        except on as error:
            if loop.time() + delay > give_up_at:
                raise
            before_retry(error, delay)
        await asyncio.sleep(delay)
        delay = min(2 * delay, patience.longest_seconds)
