"""Read where a conversation stands from the request alone.

The scripted model keeps nothing about a conversation: resume, fork and a restart of the server work because the
messages say everything. A *turn* begins at the last thing a person wrote; the number of model answers since then is the
number of steps that have been played.

The CLI puts more into ``messages`` than people wrote: entries with the role ``system``, ``<system-reminder>`` blocks
inside user entries, notes about interruptions, and skill texts; ``_words_of_a_turn`` leaves them out. Some things it
writes do start a turn (a report of background work, a demand to go on after a cut), but are not remembered as said by
the person. So does a block ``<attached-files>``, which the platform puts in front of a message that carries files. And
a message sent while a tool runs comes inside a ``system`` entry and belongs to the running turn.
"""

import hashlib
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

type Json = Mapping[str, Any]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_WORKING_DIRECTORY = re.compile(r"[Ww]orking directory: (.+)")
_SENT_IN_BETWEEN = re.compile(
    r"The user sent a new message while you were working:\n(.*?)\n\nThis is how Claude Code surfaces", re.DOTALL
)
_ATTACHED_FILES = re.compile(r"<attached-files>.*</attached-files>", re.DOTALL)
_TASK_NOTIFICATION = re.compile(r"<task-notification>.*</task-notification>", re.DOTALL)
_HAND_BACK = re.compile(r"\[Subagent hand-back\].*?The report follows:\n(?P<report>(?:  [^\n]*\n?|\n)+)", re.DOTALL)
_DEMANDS_OF_THE_CLI = (
    "<task-notification>",
    "CRITICAL: Respond with TEXT ONLY.",
    "Output token limit hit.",
    "Your response above was stopped by a safety classifier",
)
_NOTES_OF_THE_CLI = (
    "[structured-output-enforce]",
    "[Request interrupted by user",
    "Base directory for this skill:",
    "<command-message>",
    "<command-name>",
    "<local-command-stdout>",
    "<local-command-caveat>",
    "[Image: ",
)


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """The outcome of one tool call of this turn, in the order of the conversation."""

    tool: str
    text: str
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A picture or document that came with a message. ``size_bytes`` is that of the file, not of its base64."""

    kind: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Everything a scenario may know about a request to ``/v1/messages``."""

    model: str
    prompt: str
    """What started this turn: the last message of a person or, for a subagent, of the calling agent; seldom a demand of
    the CLI itself. Empty when nobody wrote anything."""

    attachments: tuple[Attachment, ...]
    """What came with the prompt and the model can look at. Of other files only the agent knows."""

    earlier_prompts: tuple[str, ...]
    sent_in_between: tuple[str, ...]
    """Messages of the person that reached the model in the middle of this turn."""

    steps_played: int
    """Model answers since the prompt; 0 for a fresh message."""

    tool_results: tuple[ToolResult, ...]
    """Of this turn only."""

    last_round: tuple[ToolResult, ...]
    """The results that came after the latest model answer."""

    last_answer: str
    """The model's latest text, of this turn or an earlier one; empty when it has said nothing."""

    message_count: int
    """Entries of user and assistant in the request; the CLI's own system entries are not counted."""

    working_directory: str
    """The folder the CLI works in, as its system entry names it; ``.`` when it names none."""

    tools: Mapping[str, Json]
    """Offered tools by name, each with its input schema."""

    session_id: str

    @property
    def key(self) -> str:
        """Identify this point of this conversation, the same for each retry of the same request."""
        parts = [self.session_id, *self.earlier_prompts, self.prompt, str(self.steps_played)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def placeholders(self) -> dict[str, str]:
        """The values of ``templates.CONVERSATION_NAMES``."""
        earlier = self.earlier_prompts
        return {
            "prompt": self.prompt,
            "model": self.model,
            "working_directory": self.working_directory,
            "message_count": str(self.message_count),
            "turn_number": str(len(earlier) + 1),
            "first_message": (earlier or (self.prompt,))[0],
            "previous_message": earlier[-1] if earlier else "",
            "earlier_messages": _bullets(earlier),
            "messages_in_between": _bullets(self.sent_in_between),
            "attachments": "\n".join(
                f"- {each.kind}, {each.media_type}, {each.size_bytes} bytes" for each in self.attachments
            ),
            "last_answer": self.last_answer,
            "last_tool_result": self.tool_results[-1].text if self.tool_results else "",
            "tool_results": "\n\n".join(f"{result.tool}:\n{result.text}" for result in self.tool_results),
            "tool_names": ", ".join(result.tool for result in self.tool_results),
        }


def read_conversation(request: Json) -> Conversation:
    """Derive the conversation from the body of a Messages request. Missing parts read as empty."""
    entries = _objects(request.get("messages"))
    names = _tool_names(entries)
    state = Conversation(
        model=str(request.get("model") or "unknown"),
        prompt="",
        attachments=(),
        earlier_prompts=(),
        sent_in_between=(),
        steps_played=0,
        tool_results=(),
        last_round=(),
        last_answer="",
        message_count=sum(entry.get("role") in ("user", "assistant") for entry in entries),
        working_directory=_working_directory(request, entries),
        tools={str(tool.get("name")): tool.get("input_schema") or {} for tool in _objects(request.get("tools"))},
        session_id=str(request.get("metadata")),  # the CLI puts its session id in there; the same for each retry
    )
    previous_role = ""
    for entry in entries:
        role = entry.get("role")
        if role == "assistant":
            state = _answered(state, entry, same_answer=previous_role == "assistant")
        elif role == "user":
            attached = tuple(_attachments(entry))
            for block in _blocks(entry):
                state = _told(state, block, names, attached)
        else:
            for block in _blocks(entry):
                found = _SENT_IN_BETWEEN.findall(str(block.get("text", "")))
                state = replace(state, sent_in_between=(*state.sent_in_between, *found))
        previous_role = str(role)
    return state


def _answered(state: Conversation, entry: Json, *, same_answer: bool) -> Conversation:
    texts = [str(block.get("text", "")) for block in _blocks(entry) if block.get("type") == "text"]
    return replace(
        state,
        steps_played=state.steps_played + (0 if same_answer else 1),
        last_round=(),
        last_answer="\n".join(texts) or state.last_answer,
    )


def _attachments(entry: Json) -> Iterator[Attachment]:
    for block in _blocks(entry):
        if block.get("type") in ("image", "document"):
            source = cast(Json, block.get("source") or {})
            data = str(source.get("data") or "")
            yield Attachment(
                kind=str(block["type"]),
                media_type=str(source.get("media_type")),
                size_bytes=len(data) * 3 // 4 - data[-2:].count("="),
            )


def _told(state: Conversation, block: Json, names: Mapping[str, str], attached: tuple[Attachment, ...]) -> Conversation:
    if block.get("type") == "tool_result":
        result = ToolResult(
            tool=names.get(str(block.get("tool_use_id")), "a tool"),
            text=_result_text(block),
            is_error=bool(block.get("is_error")),
        )
        return replace(state, tool_results=(*state.tool_results, result), last_round=(*state.last_round, result))
    words = _words_of_a_turn(block)
    if words is None:
        return state
    said = () if not state.prompt or state.prompt.startswith(_DEMANDS_OF_THE_CLI) else (state.prompt,)
    earlier = (*state.earlier_prompts, *said, *state.sent_in_between)
    return replace(
        state,
        prompt=words,
        attachments=attached,
        earlier_prompts=earlier,
        sent_in_between=(),
        steps_played=0,
        tool_results=(),
        last_round=(),
    )


def _words_of_a_turn(block: Json) -> str | None:
    if block.get("type") != "text":
        return None
    text = str(block.get("text", ""))
    if notification := _TASK_NOTIFICATION.search(text):
        return notification[0]
    if _ATTACHED_FILES.fullmatch(text.strip()):
        # A message begins; when it consists of files alone, there are no words.
        return ""
    words = _REMINDER.sub("", text).strip()
    if not words or words.startswith(_NOTES_OF_THE_CLI):
        return None
    return words


def _blocks(entry: Json) -> list[Json]:
    content = entry.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)


def _objects(value: object) -> list[Json]:
    """The JSON objects of a list; an empty list for anything else."""
    if not isinstance(value, list):
        return []
    items = cast(list[object], value)
    return [cast(Json, item) for item in items if isinstance(item, Mapping)]


def _result_text(block: Json) -> str:
    texts = [str(part.get("text", "")) for part in _blocks(block) if part.get("type") == "text"]
    text = _REMINDER.sub("", "\n".join(texts)).strip()
    if report := _HAND_BACK.search(text):
        return textwrap.dedent(report["report"]).strip()
    return text


def _bullets(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts)


def _tool_names(entries: list[Json]) -> dict[str, str]:
    return {
        str(block.get("id")): str(block.get("name"))
        for entry in entries
        if entry.get("role") == "assistant"
        for block in _blocks(entry)
        if block.get("type") == "tool_use"
    }


def _working_directory(request: Json, entries: list[Json]) -> str:
    places: list[Json] = [{"content": request.get("system")}]
    places += [entry for entry in entries if entry.get("role") == "system"]
    places += entries[:1]
    for place in places:
        for block in _blocks(place):
            if found := _WORKING_DIRECTORY.search(str(block.get("text", ""))):
                return found[1].strip()
    return "."
