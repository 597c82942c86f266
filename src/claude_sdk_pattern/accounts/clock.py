"""What time it is, as something that can be handed in."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time, timezone-aware."""
    return datetime.now(UTC)
