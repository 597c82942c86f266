"""Permission requests of one session that wait for a person."""

import asyncio
from dataclasses import dataclass
from typing import Any

from claude_sdk_pattern.events.types import PermissionDecision
from claude_sdk_pattern.sessions.errors import RequestNotPendingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a request was decided. ``by`` is a user's id, or ``system`` where nobody answered."""

    decision: PermissionDecision
    by: str
    message: str | None = None
    updated_input: dict[str, Any] | None = None
    remember: bool = False


class Approvals:
    """The requests that are pending now. The first answer decides; later ones are told so."""

    def __init__(self) -> None:
        self._pending: dict[str, asyncio.Future[Answer]] = {}

    async def wait(self, request_id: str, *, timeout_seconds: float) -> Answer:
        """Wait for the answer to a request; no answer in time is a denial."""
        future = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        try:
            async with asyncio.timeout(timeout_seconds):
                return await future
        except TimeoutError:
            return Answer(decision="deny", by="system", message=f"Nobody answered within {timeout_seconds:g} seconds.")
        finally:
            del self._pending[request_id]

    def answer(self, request_id: str, answer: Answer) -> None:
        """Decide a request.

        Raises:
            RequestNotPendingError: it was answered, has expired, or never was.
        """
        future = self._pending.get(request_id)
        if future is None or future.done():
            raise RequestNotPendingError(request_id)
        future.set_result(answer)

    def deny_all(self, message: str) -> None:
        """Deny whatever is pending, because its turn is over."""
        for future in self._pending.values():
            if not future.done():
                future.set_result(Answer(decision="deny", by="system", message=message))

    @property
    def pending(self) -> bool:
        """Whether anything waits for a person."""
        return any(not future.done() for future in self._pending.values())
