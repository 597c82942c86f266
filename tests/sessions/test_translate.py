"""Translation of SDK messages into events. Pure: the messages are the SDK's own classes, made here or recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ConversationResetMessage,
    Message,
    RateLimitEvent,
    RateLimitInfo,
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

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.model_gateway.spending import Budget
from claude_sdk_pattern.sessions.model_trouble import BUDGETS_SPENT, ModelReport, ModelTrouble
from claude_sdk_pattern.sessions.sdk_client import read_message
from claude_sdk_pattern.sessions.translate import TranslationState, UnknownMessage, translate

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.jsonl"))

STATE = TranslationState().for_turn("turn")


def tell(*messages: Message | UnknownMessage, state: TranslationState = STATE) -> list[Event]:
    """Return the events of a sequence of messages, one millisecond apart."""
    found: list[Event] = []
    for now_ms, message in enumerate(messages):
        state, more = translate(state, message, now_ms=now_ms)
        found += more
    return found


def of_type[T: Event](kind: type[T], found: list[Event]) -> list[T]:
    return [event for event in found if isinstance(event, kind)]


def stream(event: dict[str, Any], parent: str | None = None) -> StreamEvent:
    return StreamEvent(uuid="u", session_id="s", event=event, parent_tool_use_id=parent)


def message_start() -> StreamEvent:
    return stream({"type": "message_start", "message": {"id": "msg"}})


def block_start(index: int, block: dict[str, Any]) -> StreamEvent:
    return stream({"type": "content_block_start", "index": index, "content_block": block})


def delta(index: int, **fields: str) -> StreamEvent:
    return stream({"type": "content_block_delta", "index": index, "delta": fields})


def assistant(*blocks: Any, parent: str | None = None, uuid: str | None = None) -> AssistantMessage:
    return AssistantMessage(content=list(blocks), model="m", parent_tool_use_id=parent, uuid=uuid)


def result(**fields: Any) -> ResultMessage:
    values: dict[str, Any] = {
        "subtype": "success",
        "duration_ms": 5,
        "duration_api_ms": 4,
        "is_error": False,
        "num_turns": 1,
        "session_id": "s",
    }
    return ResultMessage(**{**values, **fields})


def test_deltas_and_the_complete_block_share_an_id() -> None:
    found = tell(
        message_start(),
        block_start(0, {"type": "thinking", "thinking": ""}),
        delta(0, type="thinking_delta", thinking="Hm"),
        delta(0, type="signature_delta", signature="sig"),
        assistant(ThinkingBlock(thinking="Hm", signature="sig")),
        block_start(1, {"type": "text", "text": ""}),
        delta(1, type="text_delta", text="Hel"),
        delta(1, type="text_delta", text="lo"),
        assistant(TextBlock(text="Hello")),
    )
    assert found == [
        events.Status(status="thinking"),
        events.StreamEvent(block_id="turn.0", kind="thinking", delta="Hm"),
        events.Thinking(block_id="turn.0", content="Hm"),
        events.Status(status="responding"),
        events.StreamEvent(block_id="turn.1", kind="text", delta="Hel"),
        events.StreamEvent(block_id="turn.1", kind="text", delta="lo"),
        events.Text(block_id="turn.1", content="Hello"),
    ]


def test_a_block_that_was_never_streamed_gets_an_id_of_its_own() -> None:
    found = tell(assistant(TextBlock(text="one")), assistant(TextBlock(text="two")))
    assert found == [events.Text(block_id="turn.0", content="one"), events.Text(block_id="turn.1", content="two")]


def test_a_message_started_over_withdraws_what_was_shown_of_it() -> None:
    found = tell(
        message_start(),
        block_start(0, {"type": "text", "text": ""}),
        delta(0, type="text_delta", text="wrong"),
        message_start(),
        block_start(0, {"type": "text", "text": ""}),
        delta(0, type="text_delta", text="right"),
        assistant(TextBlock(text="right")),
    )
    assert of_type(events.Text, found) == [
        events.Text(block_id="turn.0", content=""),
        events.Text(block_id="turn.1", content="right"),
    ]


@pytest.mark.parametrize(
    "ended",
    [
        {"is_error": True, "api_error_status": 500, "result": "API Error"},
        {"is_error": True, "subtype": "error_during_execution", "terminal_reason": "aborted_streaming"},
    ],
)
def test_what_was_shown_of_a_block_that_never_completed_stays_and_is_marked(ended: dict[str, Any]) -> None:
    found = tell(
        message_start(),
        block_start(0, {"type": "thinking", "thinking": ""}),
        delta(0, type="thinking_delta", thinking="hm"),
        block_start(1, {"type": "text", "text": ""}),
        delta(1, type="text_delta", text="cut "),
        delta(1, type="text_delta", text="off"),
        block_start(2, {"type": "text", "text": ""}),
        block_start(3, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}),
        delta(3, type="input_json_delta", partial_json='{"a'),
        result(**ended),
    )
    assert of_type(events.Thinking, found) == [events.Thinking(block_id="turn.0", content="hm", partial=True)]
    assert of_type(events.Text, found) == [events.Text(block_id="turn.1", content="cut off", partial=True)]
    assert of_type(events.ToolUse, found) == []


def test_a_turn_that_succeeds_withdraws_blocks_that_never_completed() -> None:
    found = tell(
        message_start(),
        block_start(0, {"type": "text", "text": ""}),
        delta(0, type="text_delta", text="lost"),
        result(),
    )
    assert of_type(events.Text, found) == [events.Text(block_id="turn.0", content="")]


def test_a_state_that_somebody_holds_does_not_change() -> None:
    state, _ = translate(STATE, block_start(0, {"type": "text", "text": ""}), now_ms=0)
    for text in ("one", "other"):
        longer, _ = translate(state, delta(0, type="text_delta", text=text), now_ms=0)
        _, found = translate(longer, result(is_error=True, api_error_status=500), now_ms=0)
        assert of_type(events.Text, found)[0].content == text


def test_a_tool_call_streams_its_input_and_is_timed() -> None:
    found = tell(
        message_start(),
        block_start(0, {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}),
        delta(0, type="input_json_delta", partial_json='{"command":'),
        delta(0, type="input_json_delta", partial_json='"ls"}'),
        assistant(ToolUseBlock(id="toolu_1", name="Bash", input={"command": "ls"})),
        UserMessage(content=[ToolResultBlock(tool_use_id="toolu_1", content="a b", is_error=False)]),
    )
    assert found == [
        events.StreamEvent(block_id="toolu_1", kind="tool_input", delta='{"command":'),
        events.StreamEvent(block_id="toolu_1", kind="tool_input", delta='"ls"}'),
        events.Status(status="executing_tool"),
        events.ToolUse(tool_use_id="toolu_1", tool="Bash", input={"command": "ls"}),
        events.ToolResult(tool_use_id="toolu_1", content="a b", is_error=False, duration_ms=1),
        events.Status(status="thinking"),
    ]


def test_the_agent_thinks_again_only_when_every_tool_has_answered() -> None:
    found = tell(
        assistant(ToolUseBlock(id="a", name="Bash", input={}), ToolUseBlock(id="b", name="Bash", input={})),
        UserMessage(content=[ToolResultBlock(tool_use_id="a", content="1")]),
        UserMessage(content=[ToolResultBlock(tool_use_id="b", content=None, is_error=True)]),
    )
    assert [event.status for event in of_type(events.Status, found)] == ["executing_tool", "thinking"]
    assert of_type(events.ToolResult, found)[1].content == ""
    assert found[-1] == events.Status(status="thinking")


def test_server_tools_are_tools() -> None:
    found = tell(
        assistant(
            ServerToolUseBlock(id="s", name="web_search", input={"query": "x"}),
            ServerToolResultBlock(tool_use_id="s", content={"type": "web_search_result"}),
        )
    )
    assert of_type(events.ToolUse, found)[0].tool == "web_search"
    assert of_type(events.ToolResult, found)[0].content == [{"type": "web_search_result"}]


def test_a_subagent_starts_speaks_and_stops() -> None:
    call = ToolUseBlock(id="agent", name="Agent", input={"subagent_type": "Explore", "description": "Look around"})
    found = tell(
        assistant(call),
        stream({"type": "message_start"}, parent="agent"),
        stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}, parent="agent"),
        assistant(TextBlock(text="I look."), parent="agent"),
        assistant(ToolUseBlock(id="inner", name="Read", input={}), parent="agent"),
        UserMessage(content=[ToolResultBlock(tool_use_id="inner", content="x")], parent_tool_use_id="agent"),
        UserMessage(content=[ToolResultBlock(tool_use_id="agent", content="done")]),
    )
    assert of_type(events.AgentStart, found) == [
        events.AgentStart(agent_id="agent", agent_type="Explore", description="Look around")
    ]
    assert of_type(events.Text, found)[0].parent_tool_use_id == "agent"
    assert of_type(events.ToolUse, found)[1].parent_tool_use_id == "agent"
    assert isinstance(found[-2], events.AgentStop)


FAILED: dict[str, Any] = {"subtype": "error_during_execution", "is_error": True}


@pytest.mark.parametrize(
    ("fields", "subtype", "is_error"),
    [
        ({}, "success", False),
        ({**FAILED, "terminal_reason": "aborted_streaming"}, "interrupted", False),
        ({**FAILED, "terminal_reason": "aborted_tools"}, "interrupted", False),
        ({"subtype": "success", "is_error": True, "api_error_status": 500}, "error", True),
        ({"subtype": "error_max_turns", "is_error": True}, "error_max_turns", True),
        ({"subtype": "error_max_budget_usd", "is_error": True}, "error_max_budget", True),
        (FAILED, "error", True),
        ({"subtype": "something_new", "is_error": False}, "error", True),
    ],
)
def test_how_a_turn_ended_is_told_by_more_than_the_subtype(
    fields: dict[str, Any], subtype: str, is_error: bool
) -> None:
    [ended] = of_type(events.Result, tell(result(**fields)))
    assert (ended.subtype, ended.is_error) == (subtype, is_error)
    assert (ended.error is not None) == is_error


@pytest.mark.parametrize(
    ("status", "code", "recoverable"),
    [
        (429, "rate_limited", True),
        (401, "api_not_authorized", False),
        (529, "api_unavailable", True),
        (400, "api_request_refused", True),
    ],
)
def test_an_api_failure_is_named(status: int, code: str, recoverable: bool) -> None:
    [error] = of_type(events.Error, tell(result(is_error=True, api_error_status=status, result="x")))
    assert (error.code, error.recoverable) == (code, recoverable)


def test_a_failure_worded_as_an_answer_is_not_part_of_the_conversation() -> None:
    said = assistant(TextBlock(text="API Error: 529"))
    said.error = "server_error"
    assert tell(said) == []


def test_cost_is_what_the_gateway_says_and_not_what_the_cli_estimates() -> None:
    _, found = translate(STATE, result(total_cost_usd=0.75), now_ms=0, report=ModelReport(cost_usd=0.5))
    [ended] = of_type(events.Result, found)
    assert ended.cost_usd == 0.5


FAILED_API: dict[str, Any] = {"is_error": True, "terminal_reason": "api_error", "result": "see 127.0.0.1:9"}


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (ModelTrouble(kind="timeout", status=504), "api_timeout"),
        (ModelTrouble(kind="pings_only", status=504), "api_timeout"),
        (ModelTrouble(kind="stream_cut", status=502), "api_unavailable"),
        (ModelTrouble(kind="stream_garbage", status=502), "api_unavailable"),
        (ModelTrouble(kind="unreachable", status=502), "api_unavailable"),
        (ModelTrouble(kind="breaker_open", status=503), "api_unavailable"),
        (ModelTrouble(kind="status", status=402), "api_no_credit"),
        (ModelTrouble(kind="status", status=429), "rate_limited"),
        (None, "api_unavailable"),
    ],
)
def test_what_the_gateway_saw_names_a_failure_that_has_no_status(trouble: ModelTrouble | None, code: str) -> None:
    _, found = translate(STATE, result(**FAILED_API), now_ms=0, report=ModelReport(trouble=trouble))
    [error] = of_type(events.Error, found)
    [ended] = of_type(events.Result, found)
    assert (error.code, ended.subtype, ended.error) == (code, "error", error.message)


def test_an_error_says_when_to_try_again() -> None:
    trouble = ModelTrouble(kind="status", status=429, retry_after_seconds=1.25)
    _, found = translate(STATE, result(**FAILED_API), now_ms=0, report=ModelReport(trouble=trouble))
    assert of_type(events.Error, found)[0].retry_after_ms == 1250


@pytest.mark.parametrize(("kind", "budget"), [("budget_spent", "session"), ("user_budget_spent", "user")])
def test_a_spent_budget_is_a_subtype_of_its_own(kind: str, budget: Budget) -> None:
    report = ModelReport(trouble=ModelTrouble(kind=kind, status=402), cost_usd=0.1)
    _, found = translate(STATE, result(**FAILED_API, api_error_status=402), now_ms=0, report=report)
    [ended] = of_type(events.Result, found)
    assert (ended.subtype, ended.error, ended.cost_usd) == ("error_max_budget", BUDGETS_SPENT[budget], 0.1)
    assert of_type(events.Error, found) == []


@pytest.mark.parametrize("fields", [{}, {"subtype": "error_max_turns", "is_error": True}])
def test_trouble_that_did_not_end_the_turn_is_not_told(fields: dict[str, Any]) -> None:
    report = ModelReport(trouble=ModelTrouble(kind="timeout", status=504))
    _, found = translate(STATE, result(**fields), now_ms=0, report=report)
    assert of_type(events.Error, found) == []


def test_a_conversation_that_is_too_long_is_told_as_such() -> None:
    [error] = of_type(
        events.Error, tell(result(is_error=True, api_error_status=400, terminal_reason="prompt_too_long"))
    )
    assert error.code == "conversation_too_long"


def test_the_context_meter_is_told_from_the_last_answer() -> None:
    said = assistant(TextBlock(text="x"))
    said.usage = {"input_tokens": 150_000, "cache_read_input_tokens": 10_000, "output_tokens": 1_000}
    found = tell(said, result(model_usage={"m": {"contextWindow": 200_000}}))
    [context] = of_type(events.Context, found)
    assert (context.tokens, context.max_tokens, context.percent, context.warning) == (161_000, 200_000, 80.5, True)


def test_a_turn_remembers_where_a_fork_can_begin() -> None:
    found = tell(assistant(TextBlock(text="a"), uuid="one"), assistant(TextBlock(text="b"), uuid="two"), result())
    assert of_type(events.Result, found)[0].checkpoint == "two"


def test_what_a_command_of_the_cli_prints_is_shown() -> None:
    said = UserMessage(content="<local-command-stdout>Total cost: $0.01\n</local-command-stdout>")
    assert tell(said) == [events.Text(block_id="turn.0", content="Total cost: $0.01")]


def test_retries_are_shown() -> None:
    data = {"attempt": 2, "max_retries": 3, "retry_delay_ms": 1500.7, "error_status": 529}
    assert tell(SystemMessage(subtype="api_retry", data=data)) == [
        events.Status(status="retrying", attempt=2, max_attempts=3, delay_ms=1500)
    ]


def test_a_used_up_limit_is_an_error_and_a_warning_is_not() -> None:
    def limit(status: Any) -> RateLimitEvent:
        return RateLimitEvent(rate_limit_info=RateLimitInfo(status=status), uuid="u", session_id="s")

    assert tell(limit("allowed_warning")) == []
    assert of_type(events.Error, tell(limit("rejected")))[0].code == "rate_limited"


def test_the_clis_own_words_in_the_users_name_are_not_shown() -> None:
    assert tell(UserMessage(content="[Request interrupted by user]"), UserMessage(content=[TextBlock(text="x")])) == []
    assert tell(SystemMessage(subtype="init", data={})) == []
    assert tell(ConversationResetMessage(new_conversation_id="c", uuid="u", session_id="s")) == []


def test_a_memory_that_could_not_be_stored_is_told() -> None:
    (notice,) = tell(SystemMessage(subtype="mirror_error", data={"type": "system", "subtype": "mirror_error"}))
    assert isinstance(notice, events.Notice)
    assert notice.code == "agent_memory_incomplete"


def test_a_success_without_the_data_that_was_demanded_is_an_error() -> None:
    demanding = TranslationState(wants_data=True).for_turn("t1")
    missing = tell(result(num_turns=2), state=demanding)
    assert [event.code for event in of_type(events.Error, missing)] == ["structured_output_failed"]
    assert [event.subtype for event in of_type(events.Result, missing)] == ["error"]
    for fine in (result(num_turns=2, structured_output={}), result(num_turns=0)):
        assert [event.subtype for event in of_type(events.Result, tell(fine, state=demanding))] == ["success"]
    assert [event.subtype for event in of_type(events.Result, tell(result(num_turns=2)))] == ["success"]


def test_a_message_nobody_has_heard_of_is_kept_as_it_came() -> None:
    data = {"type": "from_the_future", "x": [1, {"y": None}]}
    message = read_message(data)
    assert tell(message) == [events.SdkMessage(kind="from_the_future", data=data)]
    assert tell(SystemMessage(subtype="novel", data={"a": 1})) == [
        events.SdkMessage(kind="system/novel", data={"a": 1})
    ]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "assistant"},
        {"type": "result", "subtype": "success"},
        {"type": "user", "message": {"content": [1]}},
    ],
)
def test_a_message_with_parts_missing_is_kept_and_not_fatal(data: dict[str, Any]) -> None:
    [kept] = tell(read_message(data))
    assert isinstance(kept, events.SdkMessage)
    assert kept.data == data


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_turn_becomes_a_whole_conversation(path: Path) -> None:
    """Every block shown is completed or withdrawn, every tool answered, every message known, every turn ended."""
    messages = [read_message(json.loads(line)) for line in path.read_text().splitlines()]
    found = tell(*messages)
    shown = {event.block_id for event in of_type(events.StreamEvent, found) if event.kind != "tool_input"}
    complete = {event.block_id for event in found if isinstance(event, events.Text | events.Thinking)}
    assert shown <= complete
    called = [event.tool_use_id for event in of_type(events.ToolUse, found)]
    answered = [event.tool_use_id for event in of_type(events.ToolResult, found)]
    assert sorted(called) == sorted(answered)
    kept = {event.kind for event in of_type(events.SdkMessage, found)}
    assert kept <= {"system/compact_boundary", "system/informational"}
    assert len(of_type(events.Result, found)) == sum(isinstance(message, ResultMessage) for message in messages) >= 1


def test_there_are_recorded_turns() -> None:
    assert len(RECORDED) >= 5
