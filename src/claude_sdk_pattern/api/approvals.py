"""Answers to permission requests, however they come: over REST or the WebSocket."""

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.api.frames import AnswerFields
from claude_sdk_pattern.api.services import Services
from claude_sdk_pattern.events.types import RememberScope
from claude_sdk_pattern.sessions.approvals import Answer
from claude_sdk_pattern.sessions.repository import Session


async def answer_request(services: Services, user: User, session: Session, request_id: str, body: AnswerFields) -> None:
    """Decide a permission request in a person's name. The caller has seen to it that they may write in the session.

    Raises:
        NotAllowedError: "always" is for whoever owns the session: it reaches beyond it.
        RequestNotPendingError, InputRefusedError: see :meth:`Approvals.answer`.
    """
    remember: RememberScope | None = "session" if body.remember is True else body.remember or None
    if remember == "always":
        authorize(user, SessionAction.MANAGE, session.owner_id)
    conversation = await services.manager.open(session.id)
    await conversation.answer_permission(
        request_id,
        Answer(
            decision=body.decision,
            by=user.id,
            by_name=user.username,
            message=body.message,
            updated_input=body.updated_input,
            remember=remember,
            suggestion=body.suggestion,
            input_hash=body.input_hash,
            permission_mode=body.permission_mode,
        ),
    )
    await services.audit.record(
        AuditAction.APPROVAL_DECIDED,
        actor=user.id,
        target=session.id,
        details={
            "request_id": request_id,
            "decision": body.decision,
            "remember": remember,
            "edited": body.updated_input is not None,
        },
    )
