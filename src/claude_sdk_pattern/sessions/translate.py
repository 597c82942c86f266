"""Translation of SDK messages into events: a pure function of what was said so far and what is said now.

The CLI streams a content block as deltas and then repeats the whole block in an ``AssistantMessage``. Both get the
same ``block_id``, made from the turn's id and a counter, because the ids of the Messages API are absent in some
paths and repeat in others. A block that the CLI begins and then starts over (a retried request) is withdrawn by an
empty ``text`` or ``thinking`` event, so that whoever shows deltas ends with what was finally said. A block that the
end of its turn cuts off is completed with what had come, marked ``partial``.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

from claude_agent_sdk import (
    AssistantMessage,
    ConversationResetMessage,
    Message,
    RateLimitEvent,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from claude_agent_sdk.types import ContentBlock

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event, JsonObject
from claude_sdk_pattern.sessions.model_trouble import BUDGETS_SPENT, ModelReport, ModelTrouble, trouble_error

# System messages that say nothing a reader of the conversation needs; everything else unknown is kept.
_SILENT_SYSTEM_SUBTYPES = frozenset(
    {
        "background_tasks_changed",
        "init",
        "hook_started",
        "hook_response",
        "session_state_changed",
        "session_title_changed",
        "status",
        "task_notification",
        "task_progress",
        "task_started",
        "task_updated",
        "thinking_tokens",
    }
)

# Messages the SDK has no class for that we know, and know to be the CLI's own bookkeeping.
_SILENT_KINDS = frozenset({"command_lifecycle"})

# The tools that start a subagent; the CLI renamed the first to the second and accepts both.
_SUBAGENT_TOOLS = frozenset({"Task", "Agent"})

# The CLI has the model hand in the data that an output schema demands through a tool of this name.
_DATA_TOOL = "StructuredOutput"

# What `/context`, `/compact` and their like print.
_COMMAND_OUTPUT = re.compile(r"<local-command-stdout>(.*)</local-command-stdout>", re.DOTALL)

type StreamKind = Literal["text", "thinking"]


@dataclass(frozen=True, slots=True)
class UnknownMessage:
    """A message that the installed SDK has no class for, as the CLI sent it."""

    kind: str
    data: JsonObject


type _Pieces = tuple[_Pieces, str] | None
"""Deltas, the last one outermost: adding one neither copies the others nor changes a state that somebody holds."""


@dataclass(frozen=True, slots=True)
class _OpenBlock:
    """A block whose deltas are being shown and whose whole has not come yet."""

    block_id: str
    kind: StreamKind | Literal["tool_input"]
    pieces: _Pieces = None

    def with_piece(self, piece: str) -> "_OpenBlock":
        """Return the block with one more delta."""
        return _OpenBlock(self.block_id, self.kind, (self.pieces, piece))

    def content(self) -> str:
        """Return all that was shown of the block."""
        found: list[str] = []
        pieces = self.pieces
        while pieces is not None:
            pieces, piece = pieces
            found.append(piece)
        return "".join(reversed(found))


@dataclass(frozen=True, slots=True)
class _OpenTool:
    """A tool call that has no result yet. ``started_ms`` is on the caller's monotonic clock."""

    name: str
    input: JsonObject
    started_ms: int


@dataclass(frozen=True, slots=True)
class TranslationState:
    """What the translation of one turn has to remember; a new turn begins with :meth:`for_turn`.

    ``wants_data`` spans turns: the session has an output schema, and an answer without data that fits it is none.
    """

    turn_id: str = ""
    status: events.StatusName | None = None
    next_block: int = 0
    # The blocks of the message being streamed, by their index in it.
    stream: dict[int, _OpenBlock] = field(default_factory=dict[int, _OpenBlock])
    tools: dict[str, _OpenTool] = field(default_factory=dict[str, _OpenTool])
    wants_data: bool = False
    # What the CLI last found wrong with the data.
    misfit: str | None = None
    checkpoint: str | None = None
    context_tokens: int = 0

    def for_turn(self, turn_id: str) -> "TranslationState":
        """Return the state in which the turn ``turn_id`` begins."""
        return TranslationState(turn_id=turn_id, wants_data=self.wants_data)


type Translation = tuple[TranslationState, list[Event]]


def translate(
    state: TranslationState, message: Message | UnknownMessage, *, now_ms: int, report: ModelReport | None = None
) -> Translation:
    """Return the state after ``message`` and the events it amounts to, in order.

    Args:
        state: what earlier messages of the turn left.
        message: what the SDK's reader yielded.
        now_ms: a monotonic clock, from which the duration of tool calls is told.
        report: what the gateway knows of the turn; only a result asks for it.
    """
    match message:
        case StreamEvent():
            return _stream_event(state, message)
        case AssistantMessage():
            return _assistant(state, message, now_ms)
        case UserMessage():
            return _user(state, message, now_ms)
        case ResultMessage():
            return _result(state, message, report or ModelReport())
        case SystemMessage():
            return _system(state, message)
        case RateLimitEvent():
            return _rate_limit(state, message)
        case ConversationResetMessage():
            return state, []
        case UnknownMessage(kind=kind) if kind in _SILENT_KINDS:
            return state, []
        case UnknownMessage():
            return state, [events.SdkMessage(kind=message.kind, data=message.data)]
        case _:
            assert_never(message)


def _with_status(state: TranslationState, status: events.StatusName, found: list[Event]) -> Translation:
    """Prepend a status event to ``found`` if the status is a new one."""
    if state.status == status:
        return state, found
    return replace(state, status=status), [events.Status(status=status), *found]


# --- streams ---------------------------------------------------------------------------------------------------


def _stream_event(state: TranslationState, message: StreamEvent) -> Translation:
    if message.parent_tool_use_id is not None:
        # Subagents stream concurrently, and nobody reads along: their complete blocks are enough.
        return state, []
    event = message.event
    match event.get("type"):
        case "message_start":
            # Blocks of the message before it that were never completed are withdrawn.
            return replace(state, stream={}), _withdrawn(state.stream)
        case "content_block_start":
            return _block_started(state, event)
        case "content_block_delta":
            return _block_delta(state, event)
        case _:
            # Stops, pings and message totals: the complete block and the result carry all that matters of them.
            return state, []


def _withdrawn(stream: dict[int, _OpenBlock]) -> list[Event]:
    """Return the events that take back blocks; a tool call that was never completed has nothing to take back."""
    found: list[Event] = []
    for block in stream.values():
        if block.kind == "text":
            found.append(events.Text(block_id=block.block_id, content=""))
        elif block.kind == "thinking":
            found.append(events.Thinking(block_id=block.block_id, content=""))
    return found


def _cut_off(stream: dict[int, _OpenBlock]) -> list[Event]:
    """Return the events that keep what was shown of blocks that nothing more will come of."""
    found: list[Event] = []
    for block in stream.values():
        content = block.content()
        if content and block.kind == "text":
            found.append(events.Text(block_id=block.block_id, content=content, partial=True))
        elif content and block.kind == "thinking":
            found.append(events.Thinking(block_id=block.block_id, content=content, partial=True))
    return found


def _block_started(state: TranslationState, event: JsonObject) -> Translation:
    block: JsonObject = event["content_block"]
    match block.get("type"):
        case "text":
            opened, number = _OpenBlock(f"{state.turn_id}.{state.next_block}", "text"), 1
        case "thinking":
            opened, number = _OpenBlock(f"{state.turn_id}.{state.next_block}", "thinking"), 1
        case "tool_use":
            opened, number = _OpenBlock(str(block["id"]), "tool_input"), 0
        case _:
            return state, []
    stream = {**state.stream, int(event["index"]): opened}
    return replace(state, stream=stream, next_block=state.next_block + number), []


_DELTA_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _block_delta(state: TranslationState, event: JsonObject) -> Translation:
    block = state.stream.get(int(event["index"]))
    delta: JsonObject = event["delta"]
    name = _DELTA_FIELDS.get(str(delta.get("type")))
    # A signature is not text, and an empty piece is nothing to show.
    if block is None or name is None or not delta.get(name):
        return state, []
    piece = events.StreamEvent(block_id=block.block_id, kind=block.kind, delta=delta[name])
    if block.kind == "tool_input":
        return state, [piece]
    state = replace(state, stream={**state.stream, int(event["index"]): block.with_piece(piece.delta)})
    # With the first piece and not with the block's start: the two then share a commit, and the first token waits for
    # one instead of two.
    return _with_status(state, "responding" if block.kind == "text" else "thinking", [piece])


# --- complete messages -----------------------------------------------------------------------------------------


def _assistant(state: TranslationState, message: AssistantMessage, now_ms: int) -> Translation:
    found: list[Event] = []
    parent = message.parent_tool_use_id
    if parent is None:
        tokens = _context_tokens(message.usage or {})
        checkpoint = message.uuid or state.checkpoint
        state = replace(state, checkpoint=checkpoint, context_tokens=tokens or state.context_tokens)
    if message.error is not None:
        # The CLI words its failures as answers; the result says the same, and is no part of the conversation.
        return state, found
    for block in message.content:
        state, more = _complete_block(state, parent, block, now_ms)
        found += more
    return state, found


def _complete_block(state: TranslationState, parent: str | None, block: ContentBlock, now_ms: int) -> Translation:
    match block:
        case TextBlock():
            state, block_id = _close_block(state, parent, "text")
            return state, [events.Text(block_id=block_id, content=block.text, parent_tool_use_id=parent)]
        case ThinkingBlock():
            state, block_id = _close_block(state, parent, "thinking")
            return state, [events.Thinking(block_id=block_id, content=block.thinking, parent_tool_use_id=parent)]
        case ToolUseBlock() | ServerToolUseBlock():
            return _tool_called(state, parent, block, now_ms)
        case ToolResultBlock():
            return _tool_answered(state, block, now_ms)
        case ServerToolResultBlock():
            answered = ToolResultBlock(tool_use_id=block.tool_use_id, content=[block.content])
            return _tool_answered(state, answered, now_ms)
        case _:
            assert_never(block)


def _close_block(state: TranslationState, parent: str | None, kind: StreamKind) -> tuple[TranslationState, str]:
    """Return the id under which the deltas of this block were shown, or a new one if there were none."""
    if parent is None:
        for index in sorted(state.stream):
            if state.stream[index].kind == kind:
                rest = {i: block for i, block in state.stream.items() if i != index}
                return replace(state, stream=rest), state.stream[index].block_id
    return replace(state, next_block=state.next_block + 1), f"{state.turn_id}.{state.next_block}"


def _tool_called(
    state: TranslationState, parent: str | None, block: ToolUseBlock | ServerToolUseBlock, now_ms: int
) -> Translation:
    stream = {i: b for i, b in state.stream.items() if b.block_id != block.id}
    tool = _OpenTool(name=block.name, input=block.input, started_ms=now_ms)
    state = replace(state, stream=stream, tools={**state.tools, block.id: tool})
    found: list[Event] = [
        events.ToolUse(tool_use_id=block.id, tool=block.name, input=block.input, parent_tool_use_id=parent)
    ]
    if block.name in _SUBAGENT_TOOLS:
        agent_type, description = _subagent(tool)
        found.append(events.AgentStart(agent_id=block.id, agent_type=agent_type, description=description))
    return _with_status(state, "executing_tool", found) if parent is None else (state, found)


def _subagent(tool: _OpenTool) -> tuple[str, str]:
    return str(tool.input.get("subagent_type", "general-purpose")), str(tool.input.get("description", ""))


def _user(state: TranslationState, message: UserMessage, now_ms: int) -> Translation:
    """Translate the results of tools and of the CLI's own commands; what else it says in the user's name is its own."""
    if isinstance(message.content, str):
        output = _COMMAND_OUTPUT.fullmatch(message.content)
        if output is None or not output[1].strip():
            return state, []
        state, block_id = _close_block(state, None, "text")
        return state, [events.Text(block_id=block_id, content=output[1].strip())]
    found: list[Event] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            state, more = _tool_answered(state, block, now_ms)
            found += more
    if found and message.parent_tool_use_id is None and not state.tools:
        state, status = _with_status(state, "thinking", [])
        found += status
    return state, found


def _tool_answered(state: TranslationState, block: ToolResultBlock, now_ms: int) -> Translation:
    tool = state.tools.get(block.tool_use_id)
    rest = {key: value for key, value in state.tools.items() if key != block.tool_use_id}
    found: list[Event] = [
        events.ToolResult(
            tool_use_id=block.tool_use_id,
            content=block.content if block.content is not None else "",
            is_error=bool(block.is_error),
            duration_ms=None if tool is None else max(0, now_ms - tool.started_ms),
        )
    ]
    if tool is not None and tool.name in _SUBAGENT_TOOLS:
        agent_type, description = _subagent(tool)
        found.append(events.AgentStop(agent_id=block.tool_use_id, agent_type=agent_type, description=description))
    if tool is not None and tool.name == _DATA_TOOL:
        state = replace(state, misfit=str(block.content) if block.is_error else None)
    return replace(state, tools=rest), found


# --- the end of a turn -----------------------------------------------------------------------------------------


def _result(state: TranslationState, message: ResultMessage, report: ModelReport) -> Translation:
    trouble = _trouble(message, report)
    subtype = _result_subtype(message)
    missing = _missing_data(state, message, subtype)
    if missing is not None:
        subtype = "error"
    spent = trouble.spent_budget if trouble is not None else None
    if subtype == "error" and spent is not None:
        subtype = "error_max_budget"
    failed = subtype not in ("success", "interrupted")
    found = _withdrawn(state.stream) if subtype == "success" else _cut_off(state.stream)
    found += _context(state, message)
    error = _error_text(message) if failed else None
    if subtype == "error_max_budget":
        error = BUDGETS_SPENT[spent or "session"]
    elif missing is not None:
        error = missing
        found.append(events.Error(code="structured_output_failed", message=missing, recoverable=True))
    elif subtype == "error" and trouble is not None:
        told = trouble_error(trouble)
        # Not the CLI's own text, which quotes bodies of answers and names the gateway's address.
        error = told.message
        found.append(told)
    found.append(
        events.Result(
            subtype=subtype,
            is_error=failed,
            cost_usd=report.cost_usd,
            usage=message.usage or {},
            duration_ms=message.duration_ms,
            num_turns=message.num_turns,
            structured_output=message.structured_output,
            error=error,
            checkpoint=state.checkpoint,
        )
    )
    return replace(state, stream={}, tools={}, status=None), found


# From here on a person should know that the conversation will soon be summarised.
_CONTEXT_WARNING_PERCENT = 80.0


def _context_tokens(usage: JsonObject) -> int:
    """Return how many tokens the conversation had when the model gave this answer."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(int(usage.get(name) or 0) for name in names)


def _context(state: TranslationState, message: ResultMessage) -> list[Event]:
    """Return how full the context is, told from figures the turn brought along: asking the CLI takes its time."""
    windows = [int(usage.get("contextWindow") or 0) for usage in (message.model_usage or {}).values()]
    window = max(windows, default=0)
    if not window or not state.context_tokens:
        return []
    percent = round(100 * state.context_tokens / window, 1)
    warning = True if percent >= _CONTEXT_WARNING_PERCENT else None
    return [events.Context(percent=percent, tokens=state.context_tokens, max_tokens=window, warning=warning)]


def _result_subtype(message: ResultMessage) -> events.ResultSubtype:
    # `is_error` before `subtype`: an API failure that outlasted its retries comes as subtype "success".
    if (message.terminal_reason or "").startswith("aborted"):
        return "interrupted"
    match message.subtype:
        case "error_max_turns":
            return "error_max_turns"
        case "error_max_budget_usd":
            return "error_max_budget"
        case "success" if not message.is_error:
            return "success"
        case _:
            return "error"


def _missing_data(state: TranslationState, message: ResultMessage, subtype: events.ResultSubtype) -> str | None:
    """Return why there is no data although the session's schema demands some; None if nothing is missing."""
    gave_up = message.subtype == "error_max_structured_output_retries"
    # A model that never hands anything in is reported as a success. Commands of the CLI do not reach the model.
    was_asked = state.wants_data and message.num_turns > 0
    if not gave_up and not (was_asked and subtype == "success" and message.structured_output is None):
        return None
    if state.misfit is not None:
        return f"The agent's data does not fit the output schema. {state.misfit}"
    return "The agent handed in no data that fits the output schema."


def _error_text(message: ResultMessage) -> str:
    return message.result or "; ".join(message.errors or []) or message.subtype


def _trouble(message: ResultMessage, report: ModelReport) -> ModelTrouble | None:
    """Return how the model's side failed the turn: the gateway knows best, the CLI knows the status."""
    if message.terminal_reason == "prompt_too_long":
        return ModelTrouble(kind="prompt_too_long", status=message.api_error_status)
    if report.trouble is not None:
        return report.trouble
    if message.api_error_status is not None or message.terminal_reason == "api_error":
        return ModelTrouble(kind="status", status=message.api_error_status)
    return None


def _system(state: TranslationState, message: SystemMessage) -> Translation:
    if message.subtype == "api_retry":
        status = events.Status(
            status="retrying",
            attempt=_int(message.data, "attempt"),
            max_attempts=_int(message.data, "max_retries"),
            delay_ms=_int(message.data, "retry_delay_ms"),
        )
        return replace(state, status="retrying"), [status]
    if message.subtype == "mirror_error":
        # The SDK's own: what it could not put into our store, after several tries.
        text = "The agent's memory of this turn could not be stored. After a pause it may not know of it."
        return state, [events.Notice(code="agent_memory_incomplete", message=text)]
    if message.subtype in _SILENT_SYSTEM_SUBTYPES:
        return state, []
    return state, [events.SdkMessage(kind=f"system/{message.subtype}", data=message.data)]


def _int(data: dict[str, Any], name: str) -> int | None:
    value = data.get(name)
    return int(value) if isinstance(value, int | float) else None


def _rate_limit(state: TranslationState, message: RateLimitEvent) -> Translation:
    if message.rate_limit_info.status != "rejected":
        return state, []
    return state, [
        events.Error(code="rate_limited", message="The limit of the AI service is used up.", recoverable=True)
    ]
