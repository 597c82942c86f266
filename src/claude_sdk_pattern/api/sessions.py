"""REST routes of sessions. Each asks who may, calls the manager, and shapes the answer."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Response
from jsonschema import Draft202012Validator, SchemaError
from uuid_utils import uuid4

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.api.approvals import answer_request
from claude_sdk_pattern.api.cursors import decoded, encoded, invalid_cursor
from claude_sdk_pattern.api.dependencies import CurrentUser
from claude_sdk_pattern.api.frames import MAX_SEQ
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.schemas import (
    ApprovalDecision,
    ApprovalList,
    ApprovalView,
    CreateSession,
    ForkSession,
    Interrupted,
    MessageAccepted,
    MessagePage,
    RewindSession,
    SendMessage,
    SessionPage,
    SessionView,
    UpdateSession,
)
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.events.recorded import user_actor
from claude_sdk_pattern.sessions.repository import PageKey, Session

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"], responses=PROBLEM_RESPONSES)

MAX_PAGE = 200
MAX_EVENTS = 1000


async def _readable(session_id: str, user: CurrentUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.READ, session.owner_id)
    return session


async def _writable(session_id: str, user: CurrentUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.WRITE, session.owner_id)
    return session


async def _owned(session_id: str, user: CurrentUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.MANAGE, session.owner_id)
    return session


Readable = Annotated[Session, Depends(_readable)]
Writable = Annotated[Session, Depends(_writable)]
Owned = Annotated[Session, Depends(_owned)]


@router.get("")
async def list_sessions(
    user: CurrentUser,
    services: ServicesDependency,
    q: Annotated[
        str | None,
        # PostgreSQL takes no NUL.
        Query(max_length=200, pattern=r"^[^\x00]*$", description="Text to look for in titles and messages."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> SessionPage:
    """List the user's own sessions, most recently active first."""
    after = None if cursor is None else decoded_place(cursor)
    found = await services.manager.repository.list(owner_id=user.id, query=q, limit=limit + 1, after=after)
    page = found[:limit]
    return SessionPage(
        items=[_view(services, session) for session in page],
        next_cursor=encoded_place(page[-1]) if len(found) > limit else None,
    )


@router.post("", status_code=201)
async def create_session(body: CreateSession, user: CurrentUser, services: ServicesDependency) -> SessionView:
    """Make a session. Its agent starts with the first message."""
    if body.output_schema is not None:
        _check_schema(body.output_schema)
    await services.rate_limits.check_new_session(user.id)
    session = await services.manager.create(
        owner_id=user.id,
        title=body.title,
        model=body.model,
        permission_mode=body.permission_mode,
        output_schema=body.output_schema,
        plugins=body.plugins,
        profile=body.profile,
    )
    await services.audit.record(AuditAction.SESSION_CREATED, actor=user.id, target=session.id)
    return _view(services, session)


@router.get("/{session_id}")
async def get_session(session: Readable, services: ServicesDependency) -> SessionView:
    """Return one session."""
    return _view(services, session)


@router.patch("/{session_id}")
async def update_session(
    body: UpdateSession, session: Owned, user: CurrentUser, services: ServicesDependency
) -> SessionView:
    """Change a session's settings."""
    conversation = await services.manager.open(session.id)
    await conversation.configure(
        title=body.title, model=body.model, permission_mode=body.permission_mode, actor=user_actor(user.id)
    )
    changed = sorted(body.model_dump(exclude_none=True))
    await services.audit.record(
        AuditAction.SESSION_CHANGED, actor=user.id, target=session.id, details={"settings": [*changed]}
    )
    return _view(services, await services.manager.get(session.id))


@router.delete("/{session_id}", status_code=204)
async def delete_session(session: Owned, user: CurrentUser, services: ServicesDependency) -> Response:
    """Delete a session with its messages and files. A running turn is stopped."""
    await services.manager.delete(session.id)
    await services.audit.record(
        AuditAction.SESSION_DELETED, actor=user.id, target=session.id, details={"owner": session.owner_id}
    )
    return Response(status_code=204)


@router.get("/{session_id}/messages", response_model=MessagePage)
async def read_messages(
    session: Readable,
    user: CurrentUser,
    services: ServicesDependency,
    after: Annotated[int, Query(ge=0, le=MAX_SEQ)] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = 200,
) -> Response:
    """Read the tape after event number `after`."""
    if user.id != session.owner_id:
        await services.audit.record(
            AuditAction.SESSION_OPENED, actor=user.id, target=session.id, details={"by": "reading"}
        )
    found = await services.log.read(session.id, after=after, limit=limit + 1)
    page = found[:limit]
    next_after = str(page[-1].seq).encode() if len(found) > limit else b"null"
    # The frames are JSON already; parsing and encoding them again would be all the work there is.
    body = b'{"items":[%b],"next_after":%b,"last_seq":%d}' % (
        b",".join(event.frame for event in page),
        next_after,
        max(session.last_seq, page[-1].seq if page else 0),
    )
    return Response(body, media_type="application/json")


@router.get("/{session_id}/messages/{seq}", response_model=dict[str, Any])
async def read_message(
    session: Readable, seq: Annotated[int, Path(ge=1, le=MAX_SEQ)], services: ServicesDependency
) -> Response:
    """Read one event, whole: a long tool result too, of which other answers have the beginning."""
    found = await services.log.get(session.id, seq)
    if found is None:
        raise Problem(404, "event_not_found", "No such event", "The tape of this session has no event of this number.")
    return Response(found.frame, media_type="application/json")


@router.post("/{session_id}/messages", status_code=202)
async def send_message(
    body: SendMessage, session: Writable, user: CurrentUser, services: ServicesDependency
) -> MessageAccepted:
    """Send a message. It is stored when this answers, and answered when its turn comes."""
    await services.rate_limits.check_message(user.id, session.id)
    accepted = await services.manager.submit(
        session.id,
        body.text,
        client_id=body.client_id or str(uuid4()),
        actor=user_actor(user.id),
        attachments=body.attachments,
    )
    await services.audit.record(
        AuditAction.MESSAGE, actor=user.id, target=session.id, details={"turn_id": accepted.turn_id}
    )
    return MessageAccepted(turn_id=accepted.turn_id, seq=accepted.seq)


@router.post("/{session_id}/interrupt")
async def interrupt(session: Writable, user: CurrentUser, services: ServicesDependency) -> Interrupted:
    """Stop the running turn."""
    conversation = await services.manager.open(session.id)
    was_running = conversation.interrupt()
    await services.audit.record(AuditAction.INTERRUPTED, actor=user.id, target=session.id)
    return Interrupted(interrupted=was_running)


@router.post("/{session_id}/fork", status_code=201)
async def fork_session(
    body: ForkSession, session: Readable, user: CurrentUser, services: ServicesDependency
) -> SessionView:
    """Make a session of one's own that shares the past of this one."""
    await services.rate_limits.check_new_session(user.id)
    fork = await services.manager.fork(session.id, owner_id=user.id, at_seq=body.at_seq, title=body.title)
    await services.audit.record(
        AuditAction.SESSION_FORKED, actor=user.id, target=fork.id, details={"source": session.id}
    )
    return _view(services, fork)


@router.post("/{session_id}/rewind", status_code=204)
async def rewind_session(
    body: RewindSession, session: Writable, user: CurrentUser, services: ServicesDependency
) -> Response:
    """Take the conversation back to before a message. Turns from there on are stopped; the agent forgets them."""
    conversation = await services.manager.open(session.id)
    await conversation.rewind(before_seq=body.before_seq, files=body.files, actor=user_actor(user.id))
    await services.audit.record(
        AuditAction.SESSION_REWOUND, actor=user.id, target=session.id, details={"before_seq": body.before_seq}
    )
    return Response(status_code=204)


@router.get("/{session_id}/approvals")
async def list_permission_requests(session: Readable, services: ServicesDependency) -> ApprovalList:
    """List the tool calls that wait for a person's answer."""
    pending = await services.policy.approvals.pending(session.id)
    return ApprovalList(items=[ApprovalView.model_validate(request) for request in pending])


@router.post("/{session_id}/approvals/{request_id}", status_code=204)
async def answer_permission_request(
    request_id: str, body: ApprovalDecision, session: Writable, user: CurrentUser, services: ServicesDependency
) -> Response:
    """Allow or deny a tool call the agent waits for. The first answer decides."""
    await answer_request(services, user, session, request_id, body)
    return Response(status_code=204)


def _check_schema(schema: dict[str, Any]) -> None:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        # Its own message repeats what the client sent.
        detail = f"At {error.json_path[:200]} it breaks the rule `{error.validator}`."
    except RecursionError:
        detail = "It is nested too deeply."
    else:
        return
    raise Problem(422, "invalid_output_schema", "The output schema is no valid JSON Schema.", detail)


def _view(services: Services, session: Session) -> SessionView:
    profile = services.manager.plugins.profile_of(session)
    return SessionView(
        id=session.id,
        title=session.title,
        status=services.manager.status(session.id),
        owner=session.owner_id,
        model=session.model,
        permission_mode=session.permission_mode,
        plugins=sorted(services.manager.plugins.of(session).names),
        profile=session.profile,
        profile_display_name=None if profile is None else profile.declared.display_name,
        last_seq=session.last_seq,
        cost_usd=session.cost_usd,
        context_percent=session.context_percent,
        forked_from=session.forked_from,
        created_at=session.created_at,
        last_active_at=session.last_active_at,
    )


def encoded_place(session: Session) -> str:
    """Return the cursor for the page behind a session."""
    return encoded(session.last_active_at.isoformat(), session.id)


def decoded_place(cursor: str) -> PageKey:
    """Return the place a cursor stands for.

    Raises:
        Problem: 422 ``invalid_cursor``.
    """
    moment, session_id = decoded(cursor, str, str)
    try:
        # Naive moments and those at the edge of the calendar cannot be compared with what is stored.
        return PageKey(last_active_at=_in_utc(datetime.fromisoformat(moment)), session_id=str(UUID(session_id)))
    except (ValueError, OverflowError) as error:
        raise invalid_cursor() from error


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone")
    return moment.astimezone(UTC)
