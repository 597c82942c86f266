"""What is owed to a turn that broke off: pure, from what its tape holds.

A crash of the agent process and a crash of the server leave the same thing behind, a turn whose last events are
missing. Whoever finds it appends these events and then the turn's one ``result``.
"""

from collections.abc import Iterable

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import AnyEvent, Event

_UNANSWERED = "The turn broke off before anybody answered."
_UNKNOWN_OUTCOME = "Unknown result: this call was under way when the turn broke off, and may have run partly."


def closing_events(turn: Iterable[AnyEvent]) -> list[Event]:
    """Return the events that close whatever in ``turn`` is open, in the order in which it was opened.

    Cut-off text and thinking become complete blocks marked ``partial``; tool calls get an error for a result;
    subagents end; permission requests are denied.
    """
    texts: dict[str, tuple[events.BlockKind, list[str]]] = {}
    tools: dict[str, events.ToolUse] = {}
    agents: dict[str, events.AgentStart] = {}
    requests: dict[str, events.PermissionRequest] = {}
    for event in turn:
        match event:
            case events.StreamEvent(kind="text" | "thinking"):
                texts.setdefault(event.block_id, (event.kind, []))[1].append(event.delta)
            case events.Text() | events.Thinking():
                texts.pop(event.block_id, None)
            case events.ToolUse():
                tools[event.tool_use_id] = event
            case events.ToolResult():
                tools.pop(event.tool_use_id, None)
            case events.AgentStart():
                agents[event.agent_id] = event
            case events.AgentStop():
                agents.pop(event.agent_id, None)
            case events.PermissionRequest():
                requests[event.request_id] = event
            case events.PermissionResolved():
                requests.pop(event.request_id, None)
            case _:
                pass
    return [
        *(_partial_block(block_id, kind, "".join(deltas)) for block_id, (kind, deltas) in texts.items()),
        *(
            events.PermissionResolved(request_id=request_id, decision="deny", by="system", reason=_UNANSWERED)
            for request_id in requests
        ),
        *(events.ToolResult(tool_use_id=tool_id, content=_UNKNOWN_OUTCOME, is_error=True) for tool_id in tools),
        *(
            events.AgentStop(agent_id=agent.agent_id, agent_type=agent.agent_type, description=agent.description)
            for agent in agents.values()
        ),
    ]


def _partial_block(block_id: str, kind: events.BlockKind, content: str) -> Event:
    if kind == "thinking":
        return events.Thinking(block_id=block_id, content=content, partial=True)
    return events.Text(block_id=block_id, content=content, partial=True)
