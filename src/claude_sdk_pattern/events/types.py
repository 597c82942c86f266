"""Event types: everything that can stand on a session's tape.

Each class is one row of the server-to-client table in ``docs/protocol.md``; the names of types and fields are
a public interface. An event holds only its own payload. What every event has besides (``seq``, ``session_id``,
``turn_id``, ``actor``, ``ts``) is the envelope, added by :class:`claude_sdk_pattern.events.log.EventLog`.

Models are frozen and forbid extra fields, so an undeclared field is an error where the event is made and not a
silent loss where it is read. Optional fields that are ``None`` are left out of the JSON.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

type JsonObject = dict[str, Any]
"""A JSON object whose shape belongs to someone else: a tool's input, a provider's usage figures."""


class Event(BaseModel):
    """Base of all events: frozen, closed, and encoded exactly once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def encode(self) -> bytes:
        """Return the payload as compact JSON, without fields that are ``None``."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)


class AttachmentRef(BaseModel):
    """A file that a message carries, by reference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attachment_id: str
    name: str
    size_bytes: int
    media_type: str


class UserMessage(Event):
    """What a person wrote. It is on the tape before the agent sees it, and it opens the turn it names.

    A message whose turn has not begun, because an earlier turn has no ``result`` yet, is queued.
    """

    type: Literal["user_message"] = "user_message"
    text: str
    client_id: str
    attachments: tuple[AttachmentRef, ...] = ()


StatusName = Literal[
    "preparing",
    "thinking",
    "responding",
    "executing_tool",
    "awaiting_permission",
    "retrying",
    "idle",
    "hibernated",
    "recovered",
    "server_shutting_down",
]


class Status(Event):
    """What the session is doing now.

    ``attempt``, ``max_attempts`` and ``delay_ms`` belong to ``retrying``. With ``server_shutting_down``, ``delay_ms``
    is the time after which a turn that still runs is stopped. ``queue_position`` belongs to ``preparing``:
    all agent processes are at work, and this many sessions, itself included, are served before the one after it.
    """

    type: Literal["status"] = "status"
    status: StatusName
    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: int | None = None
    queue_position: int | None = None


BlockKind = Literal["text", "thinking", "tool_input"]


class StreamEvent(Event):
    """A piece of a content block that is still being written. Provisional: the complete block replaces it.

    For ``tool_input`` the ``block_id`` is the ``tool_use_id`` of the call and the deltas are fragments of JSON.
    """

    type: Literal["stream_event"] = "stream_event"
    block_id: str
    kind: BlockKind
    delta: str


class Text(Event):
    """A complete text block. It replaces every ``stream_event`` with its ``block_id``.

    ``partial`` marks a block that a crash, a restart or a failing model cut off; it holds what had arrived. (What a
    person stopped is told by the turn's ``result``.) Empty ``content`` withdraws a block that the model began and then
    started over.
    """

    type: Literal["text"] = "text"
    block_id: str
    content: str
    partial: bool | None = None
    parent_tool_use_id: str | None = None


class Thinking(Event):
    """A complete thinking block; like :class:`Text` otherwise."""

    type: Literal["thinking"] = "thinking"
    block_id: str
    content: str
    partial: bool | None = None
    parent_tool_use_id: str | None = None


class ToolUse(Event):
    """The agent calls a tool. ``parent_tool_use_id`` names the call of the subagent that made it, if one did.

    ``ui_resource`` is the ``ui://`` address of the page that the tool's plugin shows for the call (MCP Apps).
    """

    type: Literal["tool_use"] = "tool_use"
    tool_use_id: str
    tool: str
    input: JsonObject
    plugin: str | None = None
    ui_resource: str | None = None
    parent_tool_use_id: str | None = None


class ToolResult(Event):
    """What a tool answered. ``content`` is text, or a list of content blocks as the Messages API has them.

    A long result is whole on the tape; ``truncated`` marks its shortened form on the way to clients, who fetch the
    whole with ``GET .../messages/{seq}``.
    """

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str | list[JsonObject]
    is_error: bool = False
    duration_ms: int | None = None
    truncated: bool | None = None


class ToolError(Event):
    """A tool could not be run at all: its server crashed or it is not there."""

    type: Literal["tool_error"] = "tool_error"
    tool: str
    message: str
    plugin: str | None = None


class RuleSuggestion(BaseModel):
    """A rule that would spare people the same question. ``text`` says what it allows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str


class PermissionRequest(Event):
    """The agent waits for a person to allow or deny a tool call. No answer by ``expires_at`` is a denial.

    ``input_hash`` names the tool and the input that an answer is about, ``rule`` the policy's rule that asks.
    ``suggestions`` are what an answer can have remembered, by their place in the list.
    """

    type: Literal["permission_request"] = "permission_request"
    request_id: str
    tool: str
    input: JsonObject
    tool_use_id: str | None = None
    reason: str | None = None
    rule: str | None = None
    input_hash: str | None = None
    suggestions: tuple[RuleSuggestion, ...] = ()
    expires_at: datetime


PermissionDecision = Literal["allow", "deny"]


RememberScope = Literal["session", "always"]


class PermissionResolved(Event):
    """How a permission request ended and who decided: a user's id, or ``system`` for expiry and shutdown.

    ``by_name`` is that user's name then, ``remembered`` for how long the answer holds for calls like this one, and
    ``updated_input`` what a person put in place of the agent's input.
    """

    type: Literal["permission_resolved"] = "permission_resolved"
    request_id: str
    decision: PermissionDecision
    by: str
    by_name: str | None = None
    reason: str | None = None
    remembered: RememberScope | None = None
    updated_input: JsonObject | None = None


class AgentStart(Event):
    """A subagent began. ``agent_id`` is the ``tool_use_id`` of the call that started it."""

    type: Literal["agent_start"] = "agent_start"
    agent_id: str
    agent_type: str
    description: str


class AgentStop(Event):
    """A subagent ended."""

    type: Literal["agent_stop"] = "agent_stop"
    agent_id: str
    agent_type: str
    description: str


class Notification(Event):
    """The agent process has something to say to whoever watches, such as that it waits. ``kind`` is its own word."""

    type: Literal["notification"] = "notification"
    message: str
    kind: str | None = None
    title: str | None = None


class Compaction(Event):
    """The agent begins to summarise the conversation to make room, by itself (``auto``) or because it was told to."""

    type: Literal["compaction"] = "compaction"
    trigger: Literal["manual", "auto"]


class Context(Event):
    """How full the model's context window is. ``warning`` is set from 80 % on."""

    type: Literal["context"] = "context"
    percent: float
    tokens: int
    max_tokens: int
    warning: bool | None = None


ResultSubtype = Literal["success", "interrupted", "timeout", "error_max_turns", "error_max_budget", "error"]


class Result(Event):
    """The end of a turn; every accepted turn has exactly one.

    ``cost_usd`` is what this turn cost, ``usage`` the provider's token counts for it. ``checkpoint`` names the last
    entry of the agent's own transcript that belongs to the turn; a fork at this event begins from there.
    """

    type: Literal["result"] = "result"
    subtype: ResultSubtype
    is_error: bool
    cost_usd: float = 0.0
    usage: JsonObject = Field(default_factory=dict)
    duration_ms: int = 0
    num_turns: int = 0
    structured_output: JsonValue = None
    error: str | None = None
    checkpoint: str | None = None


class Error(Event):
    """Something went wrong that a person should know. The table of codes is in ``docs/protocol.md``."""

    type: Literal["error"] = "error"
    code: str
    message: str
    recoverable: bool
    retry_after_ms: int | None = None


class SessionUpdated(Event):
    """A setting of the session changed; only the changed fields are present.

    ``plugins`` are those that were turned on (true) or off for this session, from its next agent process on.
    """

    type: Literal["session_updated"] = "session_updated"
    title: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    plugins: dict[str, bool] | None = None


class Notice(Event):
    """The platform did or is about to do something with the session that is no failure. Codes as for ``error``.

    ``rule`` names the policy's rule behind it, ``tool_use_id`` the call it is about.
    """

    type: Literal["notice"] = "notice"
    code: str
    message: str
    rule: str | None = None
    tool_use_id: str | None = None


class Rewound(Event):
    """The conversation was taken back: events from ``before_seq`` up to this one no longer stand.

    They stay on the tape; the agent has forgotten them. ``files_restored`` says whether the files the agent had written
    since were put back as well.
    """

    type: Literal["rewound"] = "rewound"
    before_seq: int
    files_restored: bool = False


class SdkMessage(Event):
    """A message of the SDK that this version has no event for, kept as it came so that nothing is lost."""

    type: Literal["sdk_message"] = "sdk_message"
    kind: str
    data: JsonObject


type AnyEvent = Annotated[
    UserMessage
    | Status
    | StreamEvent
    | Text
    | Thinking
    | ToolUse
    | ToolResult
    | ToolError
    | PermissionRequest
    | PermissionResolved
    | AgentStart
    | AgentStop
    | Notification
    | Compaction
    | Context
    | Result
    | Error
    | SessionUpdated
    | Notice
    | Rewound
    | SdkMessage,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
"""Reads a payload back into its class; raises :class:`pydantic.ValidationError` on anything else."""
