"""What the turns of a session amount to in the server's metrics, told from the events they leave."""

import time

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.telemetry.metrics import Metrics, WatchdogAction

# The errors that tell of a limit of a turn or a session. Those of a process alone are counted by the watchdog.
_ACTIONS: dict[str, WatchdogAction] = {
    "query_timeout": "timeout",
    "agent_silent": "silence",
    "crash_loop": "crash_loop",
}


class TurnMeter:
    """Watches one session's events go by. Turns run one after the other."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._begun: float | None = None
        self._tools: dict[str, str] = {}

    def begin(self) -> None:
        """Note that a turn begins now."""
        self._begun = time.monotonic()
        self._tools.clear()

    def observe(self, event: Event) -> None:
        """Count what an event stands for; most stand for nothing."""
        match event:
            case events.ToolUse():
                self._tools[event.tool_use_id] = event.tool
            case events.ToolResult():
                # Without its call it belongs to a turn that was cut off before, and whose calls nobody counts.
                if (tool := self._tools.pop(event.tool_use_id, None)) is not None:
                    self._metrics.count_tool(tool, is_error=event.is_error)
            case events.Error() if (action := _ACTIONS.get(event.code)) is not None:
                self._metrics.count_watchdog_action(action)
            case events.Result():
                # A message that was never begun took no time; a turn of the CLI's own has no beginning.
                seconds = 0.0 if self._begun is None else time.monotonic() - self._begun
                self._metrics.observe_query(event.subtype, seconds, cost_usd=event.cost_usd)
                self._begun = None
            case _:
                pass
