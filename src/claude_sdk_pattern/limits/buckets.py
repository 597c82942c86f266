"""Token buckets, each kept as one number: when it would be full again.

Taking a token moves that moment one token's worth into the future; the bucket is empty when it lies further ahead than
all its tokens take to come back. One number needs one read-and-write, which in a database is one statement.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

# Attackers have many addresses; the ones heard of longest ago make room.
_MAX_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A bucket's size and how fast it fills: ``burst`` at once, then ``per_minute``."""

    per_minute: float
    burst: int

    @property
    def token_seconds(self) -> float:
        """How long one token takes to come back."""
        return 60.0 / self.per_minute

    @property
    def full_seconds(self) -> float:
        """How long an empty bucket takes to be full."""
        return self.burst * self.token_seconds


class Buckets(Protocol):
    """Buckets by key; one that was never heard of is full."""

    async def take(self, key: str, rate: Rate) -> float:
        """Take a token; return 0, or the seconds until there is one, and then none was taken."""
        ...


class TokenBucket:
    """One bucket, for one connection."""

    def __init__(self, rate: Rate, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._monotonic = monotonic
        self._full_at = -math.inf

    def take(self) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        now = self._monotonic()
        full_at = max(self._full_at, now) + self._rate.token_seconds
        excess_seconds = full_at - now - self._rate.full_seconds
        if excess_seconds > _ROUNDING_SECONDS:
            return excess_seconds
        self._full_at = full_at
        return 0.0


# What adding up fractions of a second may be off by.
_ROUNDING_SECONDS: Final = 1e-6


class MemoryBuckets:
    """Buckets in the memory of this server."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    async def take(self, key: str, rate: Rate) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        bucket = self._buckets.setdefault(key, TokenBucket(rate, self._monotonic))
        self._buckets.move_to_end(key)
        if len(self._buckets) > _MAX_KEPT:
            self._buckets.popitem(last=False)
        return bucket.take()
