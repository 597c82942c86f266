"""Frames of the WebSocket: what a client may send, and what the server says about one connection only.

Events of the tape are in :mod:`claude_sdk_pattern.events.types`. Frames here carry no ``seq``: they are not kept.
"""

from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from claude_sdk_pattern.events.types import PermissionDecision, RememberScope, StatusName

PROTOCOL = "csp.v1"

# The largest number that JSON readers agree on; more than a tape will ever hold, and what every database takes.
MAX_SEQ = 2**53 - 1


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable characters")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain NUL")
    return value


def _storable[T](value: T) -> T:
    """Refuse what could be read from JSON and not be written again, such as half a surrogate pair."""
    try:
        orjson.dumps(value)
    except TypeError:
        raise ValueError("cannot be stored as JSON") from None
    return value


ClientId = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]
"""A client's own id for a message. It is a key on the tape, which takes no control characters."""

MessageText = Annotated[str, AfterValidator(_storable), AfterValidator(_without_nul)]

Attachments = Annotated[
    tuple[Annotated[str, Field(max_length=36), AfterValidator(_printable)], ...], Field(max_length=100)
]
"""Ids of uploaded files, in the order in which the message shows them."""

JsonObject = Annotated[dict[str, Any], AfterValidator(_storable)]


class _Frame(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def encode(self) -> str:
        """Return the frame as compact JSON, without fields that are ``None``."""
        return self.model_dump_json(exclude_none=True)


# --- client to server ------------------------------------------------------------------------------------------


class UserMessageFrame(_Frame):
    """Send a message. ``client_id`` is the client's own id for it: sent twice, it runs once.

    ``attachments`` are ids of files uploaded to this session before.
    """

    type: Literal["user_message"]
    text: MessageText
    client_id: ClientId
    attachments: Attachments = ()


class InterruptFrame(_Frame):
    """Stop the running turn."""

    type: Literal["interrupt"]


class AnswerFields(_Frame):
    """An answer to a permission request.

    ``remember`` has calls like this one allowed without asking: ``true`` or ``"session"`` in this session, ``"always"``
    in all of its owner's; ``suggestion`` says which of the request's suggestions that is. ``updated_input`` replaces
    the tool's input, ``message`` is told to the agent. ``input_hash`` is that of the request: another one is refused.
    ``permission_mode`` is for a plan that is approved: the mode in which it is carried out.
    """

    decision: PermissionDecision
    remember: bool | RememberScope = False
    suggestion: int = Field(default=0, ge=0, le=20)
    updated_input: JsonObject | None = None
    message: Annotated[str, AfterValidator(_storable), AfterValidator(_without_nul)] | None = Field(
        default=None, max_length=4000
    )
    input_hash: str | None = Field(default=None, max_length=64)
    permission_mode: Literal["default", "acceptEdits"] | None = None


class PermissionResponseFrame(AnswerFields):
    """Answer a permission request."""

    type: Literal["permission_response"]
    request_id: str


class SyncCommand(_Frame):
    """Send again everything after ``last_message_seq``."""

    type: Literal["session_command"]
    command: Literal["sync"]
    last_message_seq: int = Field(ge=0)


class ForkCommand(_Frame):
    """Make a new session that shares this one's past up to ``at_seq``, or all of it."""

    type: Literal["session_command"]
    command: Literal["fork"]
    at_seq: int | None = Field(default=None, ge=1, le=MAX_SEQ)


class ResumeCommand(_Frame):
    """Start the session's agent process now instead of with the next message."""

    type: Literal["session_command"]
    command: Literal["resume"]


class ContinueCommand(_Frame):
    """Name the session this user was last active in."""

    type: Literal["session_command"]
    command: Literal["continue"]


class SetModelCommand(_Frame):
    """Use another model from the next request on."""

    type: Literal["session_command"]
    command: Literal["set_model"]
    model: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$")


class SetPermissionModeCommand(_Frame):
    """Change when the agent asks before it uses a tool."""

    type: Literal["session_command"]
    command: Literal["set_permission_mode"]
    permission_mode: Literal["default", "acceptEdits", "plan", "dontAsk"]


class RewindCommand(_Frame):
    """Take the conversation back to before the message with the number ``before_seq``; with ``files``, files too."""

    type: Literal["session_command"]
    command: Literal["rewind"]
    before_seq: int = Field(ge=1, le=MAX_SEQ)
    files: bool = False


_SessionCommand = Annotated[
    SyncCommand
    | ForkCommand
    | ResumeCommand
    | ContinueCommand
    | SetModelCommand
    | SetPermissionModeCommand
    | RewindCommand,
    Field(discriminator="command"),
]


PluginName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]


class PluginConfigFrame(_Frame):
    """Turn a plugin on or off for this session, from its next agent process on."""

    type: Literal["plugin_config"]
    plugin: PluginName
    enabled: bool


class PresenceFrame(_Frame):
    """Say what this person is doing."""

    type: Literal["presence"]
    state: Literal["active", "idle", "typing"]


class PingFrame(_Frame):
    """Ask for a ``pong``."""

    type: Literal["ping"]


ClientFrame = Annotated[
    UserMessageFrame
    | InterruptFrame
    | PermissionResponseFrame
    | _SessionCommand
    | PluginConfigFrame
    | PresenceFrame
    | PingFrame,
    Field(discriminator="type"),
]

client_frame_adapter: TypeAdapter[ClientFrame] = TypeAdapter(ClientFrame)
"""Reads a frame from its JSON; raises :class:`pydantic.ValidationError` on anything that is not one."""


# --- server to client ------------------------------------------------------------------------------------------


class Participant(_Frame):
    """Someone who has the session open. ``state`` is the liveliest of their connections'."""

    id: str
    username: str
    state: Literal["active", "idle", "typing"]


class You(_Frame):
    """Who the server takes this connection for."""

    id: str
    username: str
    role: str


class HelloFrame(_Frame):
    """The first frame. With ``resume`` "gap" the client drops what it has; events follow from ``from_seq`` on.

    ``plugins`` and ``profile_display_name`` are as in :class:`~claude_sdk_pattern.api.schemas.SessionView`.
    """

    type: Literal["hello"] = "hello"
    protocol: str = PROTOCOL
    session_id: str
    title: str
    model: str
    permission_mode: str
    plugins: tuple[str, ...]
    profile: str | None
    profile_display_name: str | None
    status: StatusName
    last_seq: int
    cost_usd: float
    context_percent: float | None
    resume: Literal["ok", "gap"]
    from_seq: int | None = None
    you: You
    participants: tuple[Participant, ...]


class PresenceUpdate(_Frame):
    """Who is here now."""

    type: Literal["presence"] = "presence"
    participants: tuple[Participant, ...]


class StatusFrame(_Frame):
    """What the server does, for those in sessions that do nothing: it concerns nobody's tape, so it has no number."""

    type: Literal["status"] = "status"
    status: Literal["server_shutting_down"]


class PongFrame(_Frame):
    """The answer to ``ping``."""

    type: Literal["pong"] = "pong"


class ErrorFrame(_Frame):
    """What was wrong with one frame of this client.

    ``client_id`` names the message it refused, ``command`` the session command, ``request_id`` the permission request
    whose answer it refused, if it was one of them.
    """

    type: Literal["error"] = "error"
    code: str
    message: str
    recoverable: bool
    retry_after_ms: int | None = None
    client_id: str | None = None
    command: str | None = None
    request_id: str | None = None


class CommandResultFrame(_Frame):
    """A session command is done. ``session_id`` is the session it made, found or changed; the client may open it."""

    type: Literal["session_command_result"] = "session_command_result"
    command: Literal["fork", "continue", "rewind"]
    session_id: str


ServerFrame = Annotated[
    HelloFrame | PresenceUpdate | StatusFrame | PongFrame | ErrorFrame | CommandResultFrame, Field(discriminator="type")
]
