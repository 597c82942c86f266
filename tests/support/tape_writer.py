"""A process that writes to tapes and prints every event that a subscriber was shown, until it is killed.

``python -m tests.support.tape_writer DATABASE_URL SESSION_ID...``
"""

import asyncio
import os
import sys

from tests.support.tapes import block, delta

from claude_sdk_pattern.events.hub import EventHub
from claude_sdk_pattern.events.log import EventLog
from claude_sdk_pattern.events.reader import TapeReader
from claude_sdk_pattern.events.recorded import AGENT
from claude_sdk_pattern.storage.database import Database


async def _write(log: EventLog, session_id: str) -> None:
    turn = 0
    while True:
        turn += 1
        for index in range(20):
            log.append_nowait(session_id, delta(str(index)), turn_id=f"t{turn}", actor=AGENT)
            await asyncio.sleep(0)
        await log.append(session_id, block("whole"), turn_id=f"t{turn}", actor=AGENT)
        await log.compact(session_id, f"t{turn}")


async def _show(hub: EventHub, session_id: str) -> None:
    async with hub.subscribe(session_id) as subscription:
        async for batch in subscription:
            # One system call for whole lines: a kill cuts between calls.
            os.write(1, b"".join(event.frame + b"\n" for event in batch))


async def _run(url: str, session_ids: list[str]) -> None:
    async with Database(url) as database:
        hub = EventHub(TapeReader(database))
        async with EventLog(database, hub) as log, asyncio.TaskGroup() as group:
            for session_id in session_ids:
                group.create_task(_show(hub, session_id))
                group.create_task(_write(log, session_id))


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], sys.argv[2:]))
