"""The end of a turn that broke off: what it lacks on the tape, and its one ``result``."""

import asyncio
import contextlib

import structlog

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.errors import (
    TapeClosed,
    TapeOverloaded,
    TapeTakenOver,
    TapeUnavailable,
    UnknownSession,
)
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.recorded import SYSTEM
from claude_sdk_pattern.sessions.bill import Bill
from claude_sdk_pattern.sessions.recovery import closing_events
from claude_sdk_pattern.sessions.turn_meter import TurnMeter
from claude_sdk_pattern.sessions.turns import Ending, Turn

logger = structlog.get_logger(__name__)

# How often a turn that the tape lost a part of is tried to be closed; the log itself tries for longer each time.
_MEND_SECONDS = 1.0


class TurnCloser:
    """Closes turns of one session."""

    def __init__(self, session_id: str, log: EventLog, bill: Bill, meter: TurnMeter) -> None:
        self._session_id = session_id
        self._log = log
        self._bill = bill
        self._meter = meter

    async def close(self, turn: Turn, ending: Ending | None = None) -> None:
        """Append what the turn lacks and its result, unless it has one by now.

        Raises:
            TapeError: it could not be stored.
        """
        log, ending = self._log, ending or turn.ending
        await log.flush()
        later = await log.read(self._session_id, after=turn.seq or 0)
        recorded = [item for item in later if item.turn_id == turn.turn_id]
        if any(item.type == "result" for item in recorded):
            return
        for event in closing_events(item.event for item in recorded):
            log.append_nowait(self._session_id, event, turn_id=turn.turn_id, actor=SYSTEM)
        result = events.Result(
            subtype=ending.subtype,
            is_error=ending.subtype != "interrupted",
            cost_usd=self._bill.take(),
            error=ending.message,
        )
        self._meter.observe(result)
        await log.append(self._session_id, result, turn_id=turn.turn_id, actor=SYSTEM)

    async def mend(self, turn: Turn, *, is_damaged: bool) -> None:
        """Give a turn its end on the tape if the tape lost any of it, however long the database stays away.

        A turn that is still open when the server stops is closed at the next start.
        """
        log = self._log
        with contextlib.suppress(TapeClosed, TapeTakenOver, UnknownSession):
            while True:
                await log.flush()
                is_damaged = log.is_damaged(self._session_id, turn.turn_id) or is_damaged
                if not is_damaged:
                    return
                try:
                    await self._close_damaged(turn)
                except (TapeUnavailable, TapeOverloaded):
                    logger.warning("turn_waits_for_the_tape", session_id=self._session_id, turn_id=turn.turn_id)
                else:
                    return
                await asyncio.sleep(_MEND_SECONDS)

    async def _close_damaged(self, turn: Turn) -> None:
        log = self._log
        text = "The server's storage was full or did not answer, and part of this answer is lost."
        lost = events.Error(code="storage_unavailable", message=text, recoverable=True)
        recorded = await log.read(self._session_id, after=turn.seq or 0, types=["result"])
        await log.append(self._session_id, lost, turn_id=turn.turn_id, actor=SYSTEM)
        if not any(item.turn_id == turn.turn_id for item in recorded):
            await self.close(turn, Ending("error", message=text))
            log.append_nowait(self._session_id, events.Status(status="idle"), turn_id=turn.turn_id, actor=SYSTEM)
