"""Permission requests of one session: put to the people in it, decided by the first valid answer, denied without one.

A request is a row and an event. The row decides: of two answers that come at once, one finds it pending. It is bound to
its tool and its input, and what a person puts in place of that input is checked like any other.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import structlog
from uuid_utils import uuid4

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event, JsonObject, PermissionDecision, RememberScope
from claude_sdk_pattern.policy.approval_store import SYSTEM, ApprovalStore, PendingApproval
from claude_sdk_pattern.policy.errors import ApprovalNotPendingError
from claude_sdk_pattern.policy.model import Rule
from claude_sdk_pattern.sessions.errors import RequestNotPendingError

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a request was decided.

    Attributes:
        by: a user's id, or ``system`` where nobody answered.
        by_name: that user's name.
        message: told to the agent.
        updated_input: to be run instead of what the agent asked for.
        remember: for how long calls like this one are allowed without asking.
        suggestion: which of the request's suggestions is remembered.
        input_hash: what the person saw; None does not check.
        permission_mode: in which mode to go on, when a plan is approved.
    """

    decision: PermissionDecision
    by: str
    by_name: str | None = None
    message: str | None = None
    updated_input: JsonObject | None = None
    remember: RememberScope | None = None
    suggestion: int = 0
    input_hash: str | None = None
    permission_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A tool call that waits for a person. ``rules`` are those that an answer can have remembered."""

    tool: str
    input: JsonObject
    tool_use_id: str | None = None
    turn_id: str | None = None
    reason: str | None = None
    rule: str | None = None
    rules: tuple[Rule, ...] = ()


class AnswerCheck(Protocol):
    """What happens to an answer before it counts."""

    def check(self, question: Question, answer: Answer) -> None:
        """Raise :class:`InputRefusedError` if the input a person put in may not be used."""
        ...

    async def remember(self, rule: Rule, answer: Answer) -> None:
        """Keep a rule, as the answer says."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class _Pending:
    question: Question
    input_hash: str
    answer: asyncio.Future[Answer]
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)


class Approvals:
    """The requests of a session.

    Args:
        session_id: the session.
        store: the table of requests.
        emit: puts an event on the session's tape.
        checks: looks at answers before they count.
        on_wait: is told the decision and how long it took, in seconds.
        timeout_seconds: how long a request waits before it is denied.
    """

    def __init__(
        self,
        session_id: str,
        *,
        store: ApprovalStore,
        emit: Callable[[Event], None],
        checks: AnswerCheck,
        on_wait: Callable[[str, float], None],
        timeout_seconds: float,
    ) -> None:
        self._session_id = session_id
        self._store = store
        self._emit = emit
        self._checks = checks
        self._on_wait = on_wait
        self._timeout_seconds = timeout_seconds
        self._pending: dict[str, _Pending] = {}
        self._background: set[asyncio.Task[None]] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether anything waits for a person."""
        return bool(self._pending)

    async def ask(self, question: Question) -> Answer:
        """Put a tool call to the people in the session and return what the first of them says.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the request could not be stored, and nobody was asked.
        """
        now = datetime.now(UTC)
        request = PendingApproval(
            request_id=str(uuid4()),
            session_id=self._session_id,
            turn_id=question.turn_id,
            tool_use_id=question.tool_use_id,
            tool=question.tool,
            input=question.input,
            rule=question.rule,
            created_at=now,
            expires_at=now + timedelta(seconds=self._timeout_seconds),
        )
        begun = asyncio.get_running_loop().time()
        pending = _Pending(
            question=question, input_hash=request.input_hash, answer=asyncio.get_running_loop().create_future()
        )
        # Known before it is stored: what stops the turn meanwhile denies it too.
        self._pending[request.request_id] = pending
        try:
            await self._store.add(request)
            self._announce(request, question)
            answer = await self._answer_to(request.request_id, pending)
        except asyncio.CancelledError:
            # The CLI withdrew the question, as it does when its turn is stopped.
            answer = Answer(decision="deny", by=SYSTEM, message="The turn was stopped.")
            self._resolve(request.request_id, answer)
            self._in_background(self._deny(request.request_id, str(answer.message)))
            raise
        finally:
            del self._pending[request.request_id]
        self._on_wait(answer.decision, asyncio.get_running_loop().time() - begun)
        self._resolve(request.request_id, answer)
        return answer

    async def answer(self, request_id: str, answer: Answer) -> None:
        """Decide a request.

        Raises:
            RequestNotPendingError: it was answered, has expired, never was, or was about another input.
            InputRefusedError: the input that the person put in may not be used; the request stays open.
        """
        pending = self._pending.get(request_id)
        if pending is None or pending.answer.done() or answer.input_hash not in (None, pending.input_hash):
            raise RequestNotPendingError(request_id)
        self._checks.check(pending.question, answer)
        async with pending.deciding:
            if pending.answer.done():
                raise RequestNotPendingError(request_id)
            try:
                await self._store.decide(request_id, answer.decision, by=answer.by, message=answer.message)
            except ApprovalNotPendingError as error:
                raise RequestNotPendingError(request_id) from error
            try:
                await self._remember(pending.question, answer)
            finally:
                # It is decided, whatever became of the rest.
                if not pending.answer.done():
                    pending.answer.set_result(answer)

    def deny_all(self, message: str) -> None:
        """Deny whatever is pending, because its turn is over."""
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_result(Answer(decision="deny", by=SYSTEM, message=message))

    async def aclose(self) -> None:
        """Wait until what was decided without a person is stored."""
        await asyncio.gather(*self._background, return_exceptions=True)

    async def _answer_to(self, request_id: str, pending: _Pending) -> Answer:
        await asyncio.wait({pending.answer}, timeout=self._timeout_seconds)
        if not pending.answer.done():
            # Somebody who is just answering comes first.
            async with pending.deciding:
                pass
        if not pending.answer.done():
            seconds = f"{self._timeout_seconds:g}"
            message = f"Nobody answered within {seconds} seconds."
            pending.answer.set_result(Answer(decision="deny", by=SYSTEM, message=message))
        answer = pending.answer.result()
        if answer.by == SYSTEM:
            self._in_background(self._deny(request_id, answer.message or ""))
        return answer

    async def _remember(self, question: Question, answer: Answer) -> None:
        if answer.decision == "allow" and answer.remember is not None and answer.suggestion < len(question.rules):
            await self._checks.remember(question.rules[answer.suggestion], answer)

    def _announce(self, request: PendingApproval, question: Question) -> None:
        self._emit(
            events.PermissionRequest(
                request_id=request.request_id,
                tool=question.tool,
                input=question.input,
                tool_use_id=question.tool_use_id,
                reason=question.reason,
                rule=question.rule,
                input_hash=request.input_hash,
                suggestions=tuple(events.RuleSuggestion(text=rule.reason) for rule in question.rules),
                expires_at=request.expires_at,
            )
        )

    def _resolve(self, request_id: str, answer: Answer) -> None:
        self._emit(
            events.PermissionResolved(
                request_id=request_id,
                decision=answer.decision,
                by=answer.by,
                by_name=answer.by_name,
                reason=answer.message,
                remembered=answer.remember if answer.decision == "allow" else None,
                updated_input=answer.updated_input if answer.decision == "allow" else None,
            )
        )

    async def _deny(self, request_id: str, message: str) -> None:
        try:
            await self._store.decide(request_id, "deny", by=SYSTEM, message=message)
        except ApprovalNotPendingError:
            # It was never stored, or somebody answered a turn that was just stopped.
            return
        except Exception:
            # The agent has its denial; the row is closed when the session is opened again.
            logger.exception("denial_not_stored", session_id=self._session_id)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
