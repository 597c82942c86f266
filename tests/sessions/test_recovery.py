"""What a broken turn is owed: pure, no process involved."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import AnyEvent
from claude_sdk_pattern.sessions.recovery import closing_events


def test_a_turn_with_nothing_open_is_owed_nothing() -> None:
    turn: list[AnyEvent] = [
        events.UserMessage(text="hi", client_id="c"),
        events.StreamEvent(block_id="b", kind="text", delta="Hel"),
        events.Text(block_id="b", content="Hello"),
        events.ToolUse(tool_use_id="t", tool="Bash", input={}),
        events.ToolResult(tool_use_id="t", content="ok"),
    ]
    assert closing_events(turn) == []


def test_what_was_shown_of_a_cut_off_block_becomes_the_block() -> None:
    turn: list[AnyEvent] = [
        events.StreamEvent(block_id="a", kind="thinking", delta="I wo"),
        events.StreamEvent(block_id="a", kind="thinking", delta="nder"),
        events.StreamEvent(block_id="b", kind="text", delta="Par"),
        events.StreamEvent(block_id="b", kind="text", delta="tial"),
        events.StreamEvent(block_id="tool", kind="tool_input", delta='{"comm'),
    ]
    assert closing_events(turn) == [
        events.Thinking(block_id="a", content="I wonder", partial=True),
        events.Text(block_id="b", content="Partial", partial=True),
    ]


def test_open_tools_subagents_and_requests_are_closed() -> None:
    turn: list[AnyEvent] = [
        events.ToolUse(tool_use_id="t", tool="Agent", input={}),
        events.AgentStart(agent_id="t", agent_type="Explore", description="look"),
        events.ToolUse(tool_use_id="u", tool="Bash", input={}, parent_tool_use_id="t"),
        events.PermissionRequest(request_id="r", tool="Bash", input={}, expires_at=datetime.now(UTC)),
    ]
    closed = closing_events(turn)
    assert [json.loads(event.encode())["type"] for event in closed] == [
        "permission_resolved",
        "tool_result",
        "tool_result",
        "agent_stop",
    ]
    denied = closed[0]
    assert isinstance(denied, events.PermissionResolved)
    assert (denied.decision, denied.by) == ("deny", "system")
    assert all(event.is_error for event in closed if isinstance(event, events.ToolResult))


_blocks = st.sampled_from(["a", "b", "c"])
_turns = st.lists(
    st.one_of(
        st.builds(events.StreamEvent, block_id=_blocks, kind=st.just("text"), delta=st.text(min_size=1)),
        st.builds(events.Text, block_id=_blocks, content=st.text()),
        st.builds(events.ToolUse, tool_use_id=_blocks, tool=st.just("Bash"), input=st.just({})),
        st.builds(events.ToolResult, tool_use_id=_blocks, content=st.text()),
    )
)


@given(_turns)
def test_a_turn_closed_once_needs_no_closing_again(turn: list[AnyEvent]) -> None:
    closed: list[AnyEvent] = [*turn, *closing_events(turn)]  # type: ignore[list-item]
    assert closing_events(closed) == []
