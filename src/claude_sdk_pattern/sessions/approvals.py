"""Permission requests of one session: put to the people in it, decided by the first answer, denied without one."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from claude_agent_sdk import PermissionResult, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from uuid_utils import uuid4

from claude_sdk_pattern.events.types import Event, PermissionDecision, PermissionRequest, PermissionResolved
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
    """The requests of a session.

    Args:
        emit: puts an event on the session's tape.
        timeout_seconds: how long a request waits before it is denied.
    """

    def __init__(self, emit: Callable[[Event], None], *, timeout_seconds: float) -> None:
        self._emit = emit
        self._timeout_seconds = timeout_seconds
        self._pending: dict[str, asyncio.Future[Answer]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether anything waits for a person."""
        return bool(self._pending)

    async def ask(self, tool: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        """Put a tool call to the people in the session and return what the first of them says."""
        request_id = str(uuid4())
        suggestions = [suggestion for suggestion in context.suggestions if suggestion.destination == "session"]
        self._emit(
            PermissionRequest(
                request_id=request_id,
                tool=tool,
                input=tool_input,
                tool_use_id=context.tool_use_id,
                reason=context.decision_reason or context.title,
                suggestions=tuple(suggestion.to_dict() for suggestion in suggestions),
                expires_at=datetime.now(UTC) + timedelta(seconds=self._timeout_seconds),
            )
        )
        try:
            answer = await self._answer_to(request_id)
        except asyncio.CancelledError:
            # The CLI withdrew the question, as it does when its turn is stopped.
            self._resolve(request_id, Answer(decision="deny", by="system", message="The turn was stopped."))
            raise
        self._resolve(request_id, answer)
        if answer.decision == "deny":
            return PermissionResultDeny(message=answer.message or "The user denied this tool call.")
        return PermissionResultAllow(
            updated_input=answer.updated_input if answer.updated_input is not None else tool_input,
            updated_permissions=suggestions if answer.remember else None,
        )

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

    async def _answer_to(self, request_id: str) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await future
        except TimeoutError:
            seconds = f"{self._timeout_seconds:g}"
            return Answer(decision="deny", by="system", message=f"Nobody answered within {seconds} seconds.")
        finally:
            del self._pending[request_id]

    def _resolve(self, request_id: str, answer: Answer) -> None:
        self._emit(
            PermissionResolved(request_id=request_id, decision=answer.decision, by=answer.by, reason=answer.message)
        )
