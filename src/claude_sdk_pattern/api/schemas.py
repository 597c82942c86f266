"""Bodies of the REST API, as ``docs/protocol.md`` has them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.api.frames import (
    MAX_SEQ,
    AnswerFields,
    Attachments,
    ClientId,
    JsonObject,
    MessageText,
    PluginName,
)
from claude_sdk_pattern.events.types import StatusName

# More than white space; and PostgreSQL stores no NUL.
Title = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Model = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$")]
PermissionModeName = Literal["default", "acceptEdits", "plan", "dontAsk"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CreateSession(_Body):
    """Settings of a new session; what is left out gets the server's default."""

    title: Title | None = None
    model: Model | None = None
    permission_mode: PermissionModeName | None = None
    output_schema: JsonObject | None = Field(
        default=None, description="JSON Schema that the result of every turn has to fit."
    )
    plugins: tuple[PluginName, ...] | None = Field(
        default=None, max_length=500, description="Names of the plugins it works with; left out: all that are active."
    )
    profile: PluginName | None = Field(
        default=None, description="Who its agent is: `name` of a profile on offer. Cannot be changed later."
    )


class UpdateSession(_Body):
    """Settings to change; what is left out stays."""

    title: Title | None = None
    model: Model | None = None
    permission_mode: PermissionModeName | None = None


class SessionView(_Body):
    """A session. ``cost_usd`` is its total so far, ``last_seq`` the number of its last event.

    ``plugins`` are those that its next agent process works with; ``profile_display_name`` is null also for a profile
    that none of them has now.
    """

    id: str
    title: str
    status: StatusName
    owner: str
    model: str
    permission_mode: str
    plugins: list[str]
    profile: str | None
    profile_display_name: str | None
    last_seq: int
    cost_usd: float
    context_percent: float | None
    forked_from: str | None
    created_at: datetime
    last_active_at: datetime


class SessionPage(_Body):
    """One page of sessions. ``next_cursor`` asks for the next one; null on the last."""

    items: list[SessionView]
    next_cursor: str | None


class MessagePage(_Body):
    """One page of a tape. ``next_after`` is the ``after`` of the next page; null when this is the end."""

    items: list[dict[str, Any]] = Field(description="Events as the WebSocket sends them.")
    next_after: int | None
    last_seq: int


class SendMessage(_Body):
    """A message. The same ``client_id`` again is the same message and runs once."""

    text: MessageText
    client_id: ClientId | None = None
    attachments: Attachments = Field(default=(), description="Ids of files that were uploaded to this session.")


class MessageAccepted(_Body):
    """The message is stored and waits for its turn."""

    turn_id: str
    seq: int


class Interrupted(_Body):
    """Whether there was a turn to stop."""

    interrupted: bool


class ForkSession(_Body):
    """Where to fork: behind the last turn answered at or before ``at_seq``; null: at the end."""

    at_seq: int | None = Field(default=None, ge=1, le=MAX_SEQ)
    title: Title | None = None


class RewindSession(_Body):
    """Where to go back to: to before the message with the number ``before_seq``; with ``files``, files too."""

    before_seq: int = Field(ge=1, le=MAX_SEQ)
    files: bool = False


class AttachmentView(_Body):
    """An uploaded file. Send its id with a message."""

    attachment_id: str
    name: str
    size_bytes: int
    media_type: str


class ApprovalView(_Body):
    """A tool call that waits for a person. Its reason and what could be remembered of it stand on the tape."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    request_id: str
    turn_id: str | None
    tool_use_id: str | None
    tool: str
    input: dict[str, Any]
    input_hash: str
    rule: str | None
    created_at: datetime
    expires_at: datetime


class ApprovalList(_Body):
    """What waits for an answer, oldest first."""

    items: list[ApprovalView]


class ApprovalDecision(AnswerFields):
    """An answer to a permission request."""
