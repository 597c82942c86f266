"""What happens in one session, put on its tape under the turn it belongs to."""

import time
from collections.abc import Mapping
from dataclasses import replace

from claude_agent_sdk import Message
from uuid_utils import uuid4

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.plugins.runtime.names import owner_of
from claude_sdk_pattern.sessions.model_trouble import ModelReport
from claude_sdk_pattern.sessions.translate import TranslationState, UnknownMessage, translate
from claude_sdk_pattern.sessions.turn_meter import TurnMeter


class Narrator:
    """Knows which turn is told now and what its status is. Nothing here waits for the tape.

    Args:
        session_id: the session.
        log: where its tape is.
        meter: counts what is told.
        wants_data: whether every answer must fit the session's output schema.
    """

    def __init__(self, session_id: str, log: EventLog, meter: TurnMeter, *, wants_data: bool) -> None:
        self._session_id = session_id
        self._log = log
        self._meter = meter
        self._state = TranslationState(wants_data=wants_data)
        self._turn_id: str | None = None
        self._owners: dict[str, str] = {}
        self._apps: dict[str, str] = {}

    @property
    def status(self) -> events.StatusName | None:
        """The status that was told last."""
        return self._state.status

    @property
    def turn_id(self) -> str | None:
        """The turn that what is told now belongs to."""
        return self._state.turn_id or self._turn_id

    def begin(self, turn_id: str) -> None:
        """Begin a turn."""
        self._turn_id = turn_id
        self._state = self._state.for_turn(turn_id)
        self._meter.begin()

    def end(self) -> None:
        """End the turn; what comes now belongs to none."""
        self._turn_id = None

    def translate(self, message: Message | UnknownMessage, report: ModelReport | None) -> list[Event]:
        """Return what a message of the agent process amounts to, for :meth:`emit`.

        ``report`` is what the gateway knows of the turn; only a result needs it.
        """
        if self._turn_id is None and not self._state.turn_id:
            # The CLI can begin turns of its own; what it says then belongs to a turn no message opened.
            self._state = self._state.for_turn(str(uuid4()))
        now_ms = time.monotonic_ns() // 1_000_000
        self._state, found = translate(self._state, message, now_ms=now_ms, report=report)
        return [self._with_plugin(event) for event in found]

    def use_plugins(self, owners: Mapping[str, str], apps: Mapping[str, str]) -> None:
        """Learn whose servers' tools the agent has from now on: the plugin, by the server's name.

        ``apps`` are the addresses of the pages that tools show, by the tool's name.
        """
        self._owners, self._apps = dict(owners), dict(apps)

    def _with_plugin(self, event: Event) -> Event:
        if not isinstance(event, events.ToolUse) or (plugin := owner_of(event.tool, self._owners)) is None:
            return event
        return event.model_copy(update={"plugin": plugin, "ui_resource": self._apps.get(event.tool)})

    def end_answer(self) -> None:
        """Note that the agent's result was told."""
        self._state = replace(self._state, turn_id="")

    def set_status(self, status: events.StatusName, *, queue_position: int | None = None) -> None:
        """Tell what the session does now."""
        self._state = replace(self._state, status=status)
        self.emit(events.Status(status=status, queue_position=queue_position))

    def emit(self, event: Event, *, actor: str = SYSTEM) -> None:
        """Put an event on the tape, and count it.

        Raises:
            TapeError: the tape takes nothing now.
        """
        self._log.append_nowait(self._session_id, event, turn_id=self.turn_id, actor=actor)
        self._meter.observe(event)
