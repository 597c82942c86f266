"""Processes that an agent leaves behind, and how they are found.

Each agent process has a record in the data folder from before it starts until it has ended: a digest of its token,
which it hands down to whatever it starts, and its process id with its start time. A server that was killed leaves its
records, and the next one ends what they name before it starts anything.

A number alone names no process, since the kernel gives it out again. A recorded id counts only with the start time
that goes with it, and every signal goes through a file descriptor that was opened before the look and stays with the
process that was looked at.
"""

import asyncio
import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import orjson
import structlog

from claude_sdk_pattern.isolation.launcher import TOKEN_VARIABLE

logger = structlog.get_logger(__name__)

_PROC = Path("/proc")
_BOOT_ID = _PROC / "sys" / "kernel" / "random" / "boot_id"

# Positions among the fields of /proc/PID/stat that follow the command's name.
_STATE_FIELD = 0
_START_TIME_FIELD = 19

# After SIGKILL only the kernel has to act.
_END_SECONDS = 5.0

# A process that starts another one between two looks is found by the next look.
_MAX_LOOKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What is known of one agent process. ``pid`` and ``start_time`` are None until it has told that it runs."""

    token_digest: str
    boot_id: str
    pid: int | None = None
    start_time: int | None = None


class AgentRecords:
    """The records of this data folder. Hold the folder's lock: what is recorded here is ended without asking.

    Args:
        folder: where they are kept, made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boot_id = _BOOT_ID.read_text().strip()

    def add(self, process_id: str, token: str) -> None:
        """Note that a process is about to start with this token."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write(process_id, _Record(token_digest=_digest(token.encode()), boot_id=self._boot_id))

    def set_pid(self, process_id: str, pid: int) -> None:
        """Note the number of a process that has started."""
        record = self._read(self._path(process_id))
        start_time = _start_time(pid)
        if record is not None and start_time is not None:
            self._write(
                process_id,
                _Record(token_digest=record.token_digest, boot_id=record.boot_id, pid=pid, start_time=start_time),
            )

    async def end(self, process_id: str) -> None:
        """End whatever a process has left running, and forget it."""
        path = self._path(process_id)
        record = self._read(path)
        if record is not None:
            await asyncio.to_thread(self._end_all, [record])
        path.unlink(missing_ok=True)

    async def end_left_behind(self) -> None:
        """End everything that has a record. Call before any process is started."""
        paths = list(self._folder.glob("*.json"))
        records = [record for path in paths if (record := self._read(path)) is not None]
        if records:
            logger.info("ending_what_a_killed_server_left", agents=len(records))
            await asyncio.to_thread(self._end_all, records)
        for path in paths:
            path.unlink(missing_ok=True)

    def _end_all(self, records: Iterable[_Record]) -> None:
        digests = {record.token_digest for record in records}
        # Nothing lives on from before the machine was started, and start times are counted from there.
        started = {record.pid: record.start_time for record in records if record.boot_id == self._boot_id}

        def is_left_over(pid: int) -> bool:
            start_time = started.get(pid)
            if start_time is not None and start_time == _start_time(pid):
                return True
            return _token_digest(pid) in digests

        give_up_at = time.monotonic() + _END_SECONDS
        for _ in range(_MAX_LOOKS):
            ended = _kill_each(is_left_over, give_up_at)
            if not ended:
                return
            logger.debug("agent_leftovers_ended", pids=ended)
        logger.error("agent_leftovers_will_not_end", pids=[pid for pid in _pids() if is_left_over(pid)])

    def _path(self, process_id: str) -> Path:
        return self._folder / f"{process_id}.json"

    def _write(self, process_id: str, record: _Record) -> None:
        path = self._path(process_id)
        draft = path.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_bytes(orjson.dumps(asdict(record)))
        # A record that a kill cut in half would name nothing.
        draft.replace(path)

    def _read(self, path: Path) -> _Record | None:
        try:
            return _Record(**orjson.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (TypeError, ValueError):
            logger.warning("agent_record_unreadable", path=path.name)
            return None


def _kill_each(is_wanted: Callable[[int], bool], give_up_at: float) -> list[int]:
    """Kill every process that is wanted, wait until all have ended, and return which they were."""
    killed: list[int] = []
    with contextlib.ExitStack() as stack:
        endings = select.poll()
        waiting: set[int] = set()
        for pid in _pids():
            # A first look without a descriptor, because most processes are not ours; it decides nothing.
            if not is_wanted(pid):
                continue
            handle = stack.enter_context(_opened(pid))
            if handle is None or not is_wanted(pid):
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                killed.append(pid)
                waiting.add(handle)
                endings.register(handle, select.POLLIN)
        while waiting and (left := give_up_at - time.monotonic()) > 0:
            for handle, _ in endings.poll(left * 1000):
                endings.unregister(handle)
                waiting.discard(handle)
    return killed


@contextlib.contextmanager
def _opened(pid: int) -> Generator[int | None]:
    """Yield a descriptor that stands for the process itself, None if there is none any more."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdecimal() and int(name) != os.getpid()]


def _start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the machine did; None if it has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name of the command stands in parentheses, and may hold some itself.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended, and only waits for its parent to ask how.
    return None if fields[_STATE_FIELD] in "ZX" else int(fields[_START_TIME_FIELD])


def _token_digest(pid: int) -> str | None:
    """Return the digest of the token in a process's environment; None without one, or if that cannot be read."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    for entry in environment.split(b"\0"):
        if entry.startswith(_TOKEN_PREFIX):
            return _digest(entry.removeprefix(_TOKEN_PREFIX))
    return None


def _digest(token: bytes) -> str:
    return sha256(token).hexdigest()


_TOKEN_PREFIX = f"{TOKEN_VARIABLE}=".encode()
