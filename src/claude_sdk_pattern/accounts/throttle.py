"""Slowing down those who guess passwords.

Each pair of username and address may try :data:`BURST` times at once and then once every :data:`REFILL_SECONDS`. A
successful sign-in gives the tries back. It counts in the memory of one server, so several servers allow several times
as much, and a restart forgets; that still leaves a guesser some thousands of tries a day.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from claude_sdk_pattern.accounts.errors import TooManyAttemptsError

BURST = 10
REFILL_SECONDS = 30.0

# Guessers invent names; the ones that were heard of longest ago make room.
MAX_KEPT = 10_000


class LoginThrottle:
    """Counts tries per key. Tries count when they begin: many at once are as many as one after the other."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        # For each key, when its tries would all be back: one number does the work of a bucket and its last refill.
        self._full_at: OrderedDict[tuple[str, str], float] = OrderedDict()

    def begin(self, username: str, address: str) -> None:
        """Count a try.

        Raises:
            TooManyAttemptsError: there were too many; this one does not count.
        """
        key, now = (username, address), self._monotonic()
        full_at = max(self._full_at.get(key, now), now) + REFILL_SECONDS
        excess_seconds = full_at - now - BURST * REFILL_SECONDS
        if excess_seconds > 0:
            raise TooManyAttemptsError(math.ceil(excess_seconds))
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > MAX_KEPT:
            self._full_at.popitem(last=False)

    def succeeded(self, username: str, address: str) -> None:
        """Forget the tries of somebody who knew the password."""
        self._full_at.pop((username, address), None)

    @property
    def keys_kept(self) -> int:
        """How many pairs of name and address are remembered."""
        return len(self._full_at)
