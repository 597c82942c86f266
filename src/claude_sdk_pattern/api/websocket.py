"""The WebSocket ``/ws/v1/chat``: commands in, the session's tape out.

Each connection has three tasks: one reads frames, one sends the tape from the connection's own cursor, one sends what
is about this connection only. None of them makes another wait, and a slow client delays nobody but itself.
"""

import asyncio
import contextlib
import math
from collections.abc import Coroutine
from typing import Any, Literal, assert_never

import structlog
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.errors import AccountError, AuthenticationError
from claude_sdk_pattern.accounts.identities import Identity
from claude_sdk_pattern.api.approvals import answer_request
from claude_sdk_pattern.api.frames import (
    PROTOCOL,
    ClientFrame,
    CommandResultFrame,
    ContinueCommand,
    ErrorFrame,
    ForkCommand,
    HelloFrame,
    InterruptFrame,
    PermissionResponseFrame,
    PingFrame,
    PluginConfigFrame,
    PongFrame,
    PresenceFrame,
    ResumeCommand,
    RewindCommand,
    SetModelCommand,
    SetPermissionModeCommand,
    SyncCommand,
    UserMessageFrame,
    You,
    client_frame_adapter,
)
from claude_sdk_pattern.api.origins import is_allowed_origin, origin_not_allowed
from claude_sdk_pattern.api.presence import Connection
from claude_sdk_pattern.api.problems import problem_response
from claude_sdk_pattern.api.services import Services, services_of
from claude_sdk_pattern.events.errors import SubscriberTooSlow, TapeError, TapeTakenOver
from claude_sdk_pattern.events.hub import Subscription
from claude_sdk_pattern.events.recorded import user_actor
from claude_sdk_pattern.events.resume import resume_point
from claude_sdk_pattern.limits.buckets import Rate, TokenBucket
from claude_sdk_pattern.limits.errors import LimitError
from claude_sdk_pattern.plugins.errors import PluginError, UnknownPluginError
from claude_sdk_pattern.policy.errors import InputRefusedError, PolicyError, PromptBlockedError
from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.errors import (
    AttachmentNotFoundError,
    MessageTooLongError,
    QueueFullError,
    RequestNotPendingError,
    SessionElsewhereError,
    SessionError,
    SessionNotFoundError,
    ShuttingDownError,
    StorageFullError,
    TooManyAttachmentsError,
    TooManyWaitingError,
)
from claude_sdk_pattern.sessions.repository import Session

logger = structlog.get_logger(__name__)

router = APIRouter()

_BEARER = "csp.bearer."

# Close codes of docs/protocol.md.
_NOT_AUTHENTICATED = 4401
_NOT_ALLOWED = 4403
_NO_SUCH_SESSION = 4404
_TOO_SLOW = 4408
_TOO_MANY = 4429
_RESTARTING = 1012
_POLICY_VIOLATION = 1008

# A client that sends this many bad frames in a row is broken, and will not be mended by an eleventh answer.
_BAD_FRAMES_IN_A_ROW = 10

# So many frames more than a client may send, refused one by one, are a mistake of its own; more are a flood.
_REFUSALS = Rate(per_minute=60, burst=40)

# As much of a field's name as an answer repeats.
_NAME_LENGTH = 64

# How soon a connection feels that its login has ended or its role has changed. Commands go by what was found then: the
# message of a person must not wait for a query first.
_RECHECK_SECONDS = 1.0

# Frames about one connection are few; a client that leaves this many unread does not read at all.
_OUTBOX_LIMIT = 256


@router.websocket("/ws/v1/chat")
async def chat(websocket: WebSocket, session_id: str | None = None, after: int = 0, ticket: str | None = None) -> None:
    """Serve one client of one session until it leaves; see ``docs/protocol.md``."""
    services = services_of(websocket)
    if not is_allowed_origin(websocket, services.settings.allowed_origins):
        # Before the handshake: a page of another origin gets no connection to look at, not even a close code.
        return await websocket.send_denial_response(problem_response(origin_not_allowed()))
    offered = [item.strip() for item in websocket.headers.get("sec-websocket-protocol", "").split(",")]
    await websocket.accept(subprotocol=PROTOCOL if PROTOCOL in offered else None)
    try:
        if services.manager.is_closing:
            # Not before the handshake: a browser tells a page the code of a close, and nothing of a refusal.
            raise ShuttingDownError
        identity = await _authenticate(services, offered, ticket)
        await services.rate_limits.check_request(f"user:{identity.user.id}")
        with services.connections.connected(identity.user.id):
            session = await _session(services, identity, session_id)
            await _Chat(websocket, services, identity, session).run(after)
    except AuthenticationError:
        await websocket.close(_NOT_AUTHENTICATED, "sign in again")
    except (SessionNotFoundError, AccountError):
        await websocket.close(_NO_SUCH_SESSION, "no such session")
    except LimitError as error:
        await websocket.close(_TOO_MANY, str(error))
    except ShuttingDownError:
        await websocket.close(_RESTARTING, "the server is restarting")


async def _authenticate(services: Services, offered: list[str], ticket: str | None) -> Identity:
    if ticket is not None:
        return await services.accounts.redeem_ticket(ticket)
    tokens = [item.removeprefix(_BEARER) for item in offered if item.startswith(_BEARER)]
    return await services.accounts.identify(tokens[0] if len(tokens) == 1 else "")


async def _session(services: Services, identity: Identity, session_id: str | None) -> Session:
    if session_id is None:
        await services.rate_limits.check_new_session(identity.user.id)
        session = await services.manager.create(owner_id=identity.user.id)
        await services.audit.record(AuditAction.SESSION_CREATED, actor=identity.user.id, target=session.id)
        return session
    session = await services.manager.get(session_id)
    authorize(identity.user, SessionAction.READ, session.owner_id)
    await services.audit.record(
        AuditAction.SESSION_OPENED, actor=identity.user.id, target=session.id, details={"by": "websocket"}
    )
    return session


class _CloseError(Exception):
    """Ends the connection with a close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class _Chat:
    """One connection."""

    def __init__(self, websocket: WebSocket, services: Services, identity: Identity, session: Session) -> None:
        self._websocket = websocket
        self._services = services
        self._identity = identity
        self._user = identity.user
        self._actor = user_actor(identity.user.id)
        self._session = session
        self._outbox: asyncio.Queue[str] = asyncio.Queue(_OUTBOX_LIMIT)
        self._connection = Connection(identity.user, self._post)
        self._restart_from: asyncio.Queue[int] = asyncio.Queue()
        self._greeted = asyncio.Event()
        self._bad_frames = 0
        per_second = services.settings.rate_limit_frames_per_second
        self._frames = TokenBucket(Rate(per_minute=60 * per_second, burst=2 * per_second))
        self._refusals = TokenBucket(_REFUSALS)

    async def run(self, after: int) -> None:
        """Serve until the client leaves or one of the tasks says why it must."""
        presence, session_id = self._services.presence, self._session.id
        presence.join(session_id, self._connection)
        self._restart_from.put_nowait(after)
        try:
            await _first_of(self._receive(), self._send_tape(), self._send_outbox(), self._watch_login())
        except _CloseError as close:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await self._websocket.close(close.code, close.reason)
        except SessionNotFoundError:
            # It was deleted between two looks at it.
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await self._websocket.close(_NO_SUCH_SESSION, "the session was deleted")
        except WebSocketDisconnect:
            pass
        finally:
            presence.leave(session_id, self._connection)

    async def _watch_login(self) -> None:
        """Keep up with who this is, and end the connection when their login has ended or the session is not theirs."""
        while True:
            await asyncio.sleep(_RECHECK_SECONDS)
            try:
                self._identity = await self._services.accounts.recheck(self._identity)
                authorize(self._identity.user, SessionAction.READ, self._session.owner_id)
            except AuthenticationError as error:
                raise _CloseError(_NOT_AUTHENTICATED, "sign in again") from error
            except AccountError as error:
                raise _CloseError(_NOT_ALLOWED, "not allowed any more") from error

    # --- out ----------------------------------------------------------------------------------------------------

    async def _send_tape(self) -> None:
        """Send the tape from wherever the client asked last; a ``sync`` begins again from another place."""
        sending: asyncio.Task[None] | None = None
        asked = asyncio.create_task(self._restart_from.get())
        try:
            while True:
                await asyncio.wait({asked, *([sending] if sending else [])}, return_when=asyncio.FIRST_COMPLETED)
                if sending is not None and sending.done():
                    return sending.result()
                if sending is not None:
                    await _end(sending)
                sending = asyncio.create_task(self._send_from(asked.result()))
                asked = asyncio.create_task(self._restart_from.get())
        finally:
            await _end(asked, sending)

    async def _send_from(self, after: int) -> None:
        services, session_id = self._services, self._session.id
        # Read before subscribing: what is appended in between is delivered, never lost.
        point = resume_point(after, await services.log.last_seq(session_id))
        async with services.hub.subscribe(session_id, after=point.after) as subscription:
            await self._send(await self._hello(resume="gap" if point.is_gap else "ok", from_seq=point.from_seq))
            self._greeted.set()
            stuck = asyncio.create_task(subscription.evicted.wait())
            pump = asyncio.create_task(self._pump(subscription))
            try:
                await asyncio.wait({stuck, pump}, return_when=asyncio.FIRST_COMPLETED)
                if not pump.done():
                    raise _CloseError(_TOO_SLOW, "too slow: reconnect with after")
                pump.result()
            except SubscriberTooSlow as error:
                raise _CloseError(_TOO_SLOW, "too slow: reconnect with after") from error
            finally:
                await _end(stuck, pump)
        if services.manager.is_closing:
            raise _CloseError(_RESTARTING, "the server is restarting")
        await services.manager.get(session_id)
        raise _CloseError(_RESTARTING, "the session has moved to another server")

    async def _pump(self, subscription: Subscription) -> None:
        async for batch in subscription:
            for event in batch:
                await self._send(event.frame.decode())

    async def _hello(self, *, resume: Literal["ok", "gap"], from_seq: int) -> str:
        manager = self._services.manager
        session = await manager.get(self._session.id)
        profile = manager.plugins.profile_of(session)
        return HelloFrame(
            session_id=session.id,
            title=session.title,
            model=session.model,
            permission_mode=session.permission_mode,
            plugins=tuple(sorted(manager.plugins.of(session).names)),
            profile=session.profile,
            profile_display_name=None if profile is None else profile.declared.display_name,
            status=manager.status(session.id),
            last_seq=session.last_seq,
            cost_usd=session.cost_usd,
            context_percent=session.context_percent,
            resume=resume,
            from_seq=from_seq if resume == "gap" else None,
            you=You(id=self._user.id, username=self._user.username, role=self._user.role),
            participants=self._services.presence.participants(session.id),
        ).encode()

    async def _send(self, frame: str) -> None:
        try:
            await self._websocket.send_text(frame)
        except RuntimeError as error:
            # Closed below us, as for a frame that is too large or no UTF-8.
            raise WebSocketDisconnect from error

    async def _send_outbox(self) -> None:
        # The first frame is `hello`, however early others have news or this client has questions.
        await self._greeted.wait()
        while True:
            await self._send(await self._outbox.get())

    def _post(self, frame: str) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._outbox.put_nowait(frame)

    # --- in -----------------------------------------------------------------------------------------------------

    async def _receive(self) -> None:
        # A session that holds nothing was made to be written to.
        opening = asyncio.create_task(self._open_ahead()) if self._session.last_seq == 0 else None
        try:
            await self._receive_frames()
        finally:
            await _end(opening)

    async def _receive_frames(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1000))
            wait_seconds = self._frames.take()
            if wait_seconds:
                self._refuse_flood(wait_seconds)
                continue
            text = message.get("text")
            if text is None:
                self._refuse_frame("frames are JSON text, not binary")
                continue
            try:
                frame = client_frame_adapter.validate_json(text)
            except ValidationError as error:
                self._refuse_frame(_explained(error))
                continue
            self._bad_frames = 0
            await self._obey(frame)

    def _refuse_frame(self, message: str) -> None:
        self._bad_frames += 1
        self._post(ErrorFrame(code="invalid_frame", message=message, recoverable=True).encode())
        if self._bad_frames >= _BAD_FRAMES_IN_A_ROW:
            raise _CloseError(_POLICY_VIOLATION, "too many bad frames")

    def _refuse_flood(self, wait_seconds: float) -> None:
        """Refuse a frame unread: reading is most of what it costs."""
        if self._refusals.take():
            raise _CloseError(_TOO_MANY, "too many frames")
        frame = ErrorFrame(
            code="rate_limited",
            message="Too many requests. Slow down.",
            recoverable=True,
            retry_after_ms=math.ceil(1000 * wait_seconds),
        )
        self._post(frame.encode())

    async def _obey(self, frame: ClientFrame) -> None:
        """Carry out one frame; what is wrong with it is told to its sender and ends nothing."""
        client_id = frame.client_id if isinstance(frame, UserMessageFrame) else None
        command = getattr(frame, "command", None)
        request_id = frame.request_id if isinstance(frame, PermissionResponseFrame) else None
        try:
            await self._execute(frame)
        except (SessionError, AccountError, TapeError, PolicyError, PluginError, LimitError) as error:
            code, recoverable = _error_code(error)
            retry_after_seconds: int | None = getattr(error, "retry_after_seconds", None)
            refusal = ErrorFrame(
                code=code,
                message=str(error),
                recoverable=recoverable,
                retry_after_ms=None if retry_after_seconds is None else 1000 * retry_after_seconds,
                client_id=client_id,
                command=command,
                request_id=request_id,
            )
            self._post(refusal.encode())

    async def _execute(self, frame: ClientFrame) -> None:
        manager, session_id = self._services.manager, self._session.id
        match frame:
            case PingFrame():
                self._post(PongFrame().encode())
            case PresenceFrame():
                self._services.presence.set_state(session_id, self._connection, frame.state)
                if frame.state == "typing" and (conversation := await self._open_ahead()) is not None:
                    conversation.expect_message()
            case SyncCommand():
                self._restart_from.put_nowait(frame.last_message_seq)
            case ContinueCommand():
                latest = await manager.latest(self._user.id)
                self._post(
                    CommandResultFrame(command="continue", session_id=latest.id if latest else session_id).encode()
                )
            case ForkCommand():
                await self._services.rate_limits.check_new_session(self._user.id)
                fork = await manager.fork(session_id, owner_id=self._user.id, at_seq=frame.at_seq)
                await self._record(AuditAction.SESSION_FORKED, target=fork.id, source=session_id)
                self._post(CommandResultFrame(command="fork", session_id=fork.id).encode())
            case _:
                await self._change(frame)

    async def _open_ahead(self) -> Conversation | None:
        """Open the session for a message that is about to come; whether that worked the message will tell."""
        with contextlib.suppress(AccountError, SessionError, TapeError):
            authorize(self._identity.user, SessionAction.WRITE, self._session.owner_id)
            return await self._services.manager.open(self._session.id)
        return None

    async def _change(
        self,
        frame: UserMessageFrame
        | InterruptFrame
        | PermissionResponseFrame
        | ResumeCommand
        | SetModelCommand
        | SetPermissionModeCommand
        | RewindCommand
        | PluginConfigFrame,
    ) -> None:
        """Carry out what only those may do who can write in the session, by what the last recheck found."""
        user = self._identity.user
        authorize(user, SessionAction.WRITE, self._session.owner_id)
        conversation = await self._services.manager.open(self._session.id)
        match frame:
            case UserMessageFrame():
                await self._services.rate_limits.check_message(self._user.id, self._session.id)
                accepted = await conversation.submit(
                    frame.text, client_id=frame.client_id, actor=self._actor, attachments=frame.attachments
                )
                await self._record(AuditAction.MESSAGE, turn_id=accepted.turn_id)
            case InterruptFrame():
                conversation.interrupt()
                await self._record(AuditAction.INTERRUPTED)
            case PermissionResponseFrame():
                await answer_request(self._services, user, self._session, frame.request_id, frame)
            case ResumeCommand():
                await conversation.wake()
            case SetModelCommand():
                await conversation.configure(model=frame.model, actor=self._actor)
                await self._record(AuditAction.SESSION_CHANGED, settings=["model"])
            case SetPermissionModeCommand():
                await conversation.configure(permission_mode=frame.permission_mode, actor=self._actor)
                await self._record(AuditAction.SESSION_CHANGED, settings=["permission_mode"])
            case RewindCommand():
                await conversation.rewind(before_seq=frame.before_seq, files=frame.files, actor=self._actor)
                await self._record(AuditAction.SESSION_REWOUND, before_seq=frame.before_seq)
                self._post(CommandResultFrame(command="rewind", session_id=self._session.id).encode())
            case PluginConfigFrame():
                await conversation.configure_plugin(frame.plugin, enabled=frame.enabled, actor=self._actor)
                await self._record(AuditAction.SESSION_CHANGED, settings=["plugins"])
            case _:
                assert_never(frame)

    async def _record(self, action: AuditAction, *, target: str | None = None, **details: JsonValue) -> None:
        target = target or self._session.id
        await self._services.audit.record(action, actor=self._user.id, target=target, details=details)


async def _first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Run all; when one ends or fails, cancel the others and pass on what it raised."""
    tasks = [asyncio.create_task(item) for item in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _end(*tasks)


async def _end(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait until they are gone, whatever they have to say."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _explained(error: ValidationError) -> str:
    """Return in one line what is wrong with a frame, without repeating what it holds."""
    faults = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{_where(fault['loc'])}: {_what(fault)}" for fault in faults)[:1000]


def _where(location: tuple[int | str, ...]) -> str:
    # Names can come from the client, as those of fields that should not be there.
    return ".".join(str(part)[:_NAME_LENGTH] for part in location) or "frame"


def _what(fault: ErrorDetails) -> str:
    if fault["type"] == "union_tag_invalid":
        # Its own message quotes what came.
        context = fault.get("ctx", {})
        return f"{context.get('discriminator')} has to be one of {context.get('expected_tags')}"
    return fault["msg"].removeprefix("Value error, ")


def _error_code(error: Exception) -> tuple[str, bool]:
    """Return the code of the protocol's table and whether trying again can help."""
    match error:
        case PromptBlockedError():
            return "prompt_blocked", True
        case InputRefusedError():
            return "input_refused", True
        case RequestNotPendingError():
            return "request_not_pending", False
        case MessageTooLongError():
            return "message_too_long", True
        case QueueFullError():
            return "session_busy", True
        case SessionElsewhereError() | TapeTakenOver():
            return "session_elsewhere", True
        case AttachmentNotFoundError():
            return "attachment_not_found", True
        case TooManyAttachmentsError():
            return "too_many_attachments", True
        case StorageFullError():
            return "storage_full", True
        case TooManyWaitingError():
            return "server_busy", True
        case ShuttingDownError():
            return "server_shutting_down", True
        case SessionNotFoundError() | AccountError():
            return "not_allowed", False
        case LimitError():
            return "rate_limited", True
        case TapeError():
            return "storage_unavailable", True
        case UnknownPluginError():
            return "plugin_not_found", True
        case _:
            return "refused", True
