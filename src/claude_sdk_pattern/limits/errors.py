"""What is refused because it would be too much.

::

    LimitError
    ├── RateLimitedError          too often; try again after ``retry_after_seconds``
    └── TooManyConnectionsError   too many at once; close one
"""


class LimitError(Exception):
    """Base of all errors of this room; their messages are written for the person who gets them."""


class RateLimitedError(LimitError):
    """Too many requests or messages; the next is taken after ``retry_after_seconds``, at least one."""

    def __init__(self, retry_after_seconds: int) -> None:
        seconds = "one second" if retry_after_seconds == 1 else f"{retry_after_seconds} seconds"
        super().__init__(f"Too many requests. Try again in {seconds}.")
        self.retry_after_seconds = retry_after_seconds


class TooManyConnectionsError(LimitError):
    """This person has as many connections open as one may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You have {most} connections open, which is as many as one may have. Close one of them.")
