"""Hashing passwords with Argon2, off the event loop and a few at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from pwdlib import PasswordHash
from pwdlib.exceptions import UnknownHashError

from claude_sdk_pattern.accounts.errors import SignInOverloadedError

T = TypeVar("T")

NO_PASSWORD = ""
"""Stands where a hash would for a user who has none and signs in in another way."""

# Each hash takes 64 MiB and a core for a fifth of a second: two keep the server's memory and its other work safe.
MAX_CONCURRENT_HASHES = 2

# At two at a time, about six seconds of work: longer than that nobody should wait to be told to come back.
MAX_WAITING_HASHES = 64

OVERLOAD_RETRY_AFTER_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordCheck:
    """Whether the password was right; ``upgraded_hash`` replaces a hash made with parameters that are outdated."""

    is_correct: bool
    upgraded_hash: str | None


class Passwords:
    """Makes and checks password hashes. One per process: it is what bounds the memory they take."""

    def __init__(self, hasher: PasswordHash | None = None) -> None:
        self._hasher = hasher or PasswordHash.recommended()
        self._limiter = CapacityLimiter(MAX_CONCURRENT_HASHES)
        self._pending = 0
        self._decoy: str | None = None

    async def hash(self, password: str) -> str:
        """Return a salted hash of ``password``.

        Raises:
            SignInOverloadedError: too many wait already.
        """
        return await self._run(lambda: self._hasher.hash(password))

    async def check(self, password: str, stored_hash: str | None) -> PasswordCheck:
        """Compare a password with a stored hash; ``None`` is for no such user.

        Without a hash, or with :data:`NO_PASSWORD`, the answer is no and takes just as long.

        Raises:
            SignInOverloadedError: too many wait already.
        """
        return await self._run(lambda: self._check(password, stored_hash))

    def _check(self, password: str, stored_hash: str | None) -> PasswordCheck:
        # Made on the first check of either kind, so that it costs a known user as much as an unknown one.
        if self._decoy is None:
            self._decoy = self._hasher.hash("the password of nobody")
        try:
            is_equal, upgraded = self._hasher.verify_and_update(password, stored_hash or self._decoy)
        except UnknownHashError:
            return PasswordCheck(is_correct=False, upgraded_hash=None)
        if not stored_hash:
            return PasswordCheck(is_correct=False, upgraded_hash=None)
        return PasswordCheck(is_correct=is_equal, upgraded_hash=upgraded)

    async def _run(self, work: Callable[[], T]) -> T:
        # Counted here and not read off the limiter: those who arrive together have not begun to wait for it yet.
        if self._pending >= MAX_CONCURRENT_HASHES + MAX_WAITING_HASHES:
            raise SignInOverloadedError(OVERLOAD_RETRY_AFTER_SECONDS)
        self._pending += 1
        try:
            return await to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._pending -= 1
