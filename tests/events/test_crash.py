"""A writer process that is killed with SIGKILL; database, processes and pipe are real."""

import json
import random
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.support.rows import store_sessions
from tests.support.tapes import open_tape, success

from claude_sdk_pattern.events.recorded import AGENT, RecordedEvent
from claude_sdk_pattern.storage.database import Database

pytestmark = [pytest.mark.anyio, pytest.mark.chaos]

_SESSIONS = ("s1", "s2", "s3")
_CHECKOUT = Path(__file__).parents[2]


@contextmanager
def _writer(url: str) -> Generator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    command = [sys.executable, "-m", "tests.support.tape_writer", url, *_SESSIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_CHECKOUT) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()


def _shown_before_kill(url: str, lines_before_kill: int) -> list[dict[str, Any]]:
    with _writer(url) as (process, output):
        lines = [output.readline() for _ in range(lines_before_kill)]
        process.kill()
        lines += output.readlines()
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def _is_kept(shown: dict[str, Any], stored: dict[int, RecordedEvent]) -> bool:
    """Return whether a shown event is on the tape, or is a delta whose complete block is."""
    event = stored.get(shown["seq"])
    if event is not None and event.type == shown["type"] == "stream_event":
        # What was shown may be several deltas in one, the last of which has the number.
        return shown["delta"].endswith(json.loads(event.frame)["delta"])
    if event is not None:
        return json.loads(event.frame) == shown
    return shown["type"] == "stream_event" and any(
        later.type == "text" and later.turn_id == shown["turn_id"] and later.block_id == shown["block_id"]
        for later in stored.values()
    )


@pytest.mark.parametrize("attempt", range(3))
async def test_everything_that_was_shown_is_on_the_tape_after_a_kill(database_url: str, attempt: int) -> None:
    async with Database(database_url) as database:
        await store_sessions(database, *_SESSIONS)
    shown = _shown_before_kill(database_url, random.randint(1, 1 + 150 * attempt))  # noqa: S311 - not a secret
    async with Database(database_url) as database, open_tape(database) as tape:
        for session_id in _SESSIONS:
            stored = {event.seq: event for event in await tape.log.read(session_id)}
            of_session = [event for event in shown if event["session_id"] == session_id]
            assert [event["seq"] for event in of_session] == sorted({event["seq"] for event in of_session})
            missing = [event for event in of_session if not _is_kept(event, stored)]
            assert not missing
            last_shown = max((event["seq"] for event in of_session), default=0)
            last_seq = await tape.log.last_seq(session_id)
            assert last_seq >= last_shown
            assert (await tape.log.append(session_id, success(), turn_id="t0", actor=AGENT)).seq == last_seq + 1
