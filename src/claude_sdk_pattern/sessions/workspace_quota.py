"""How much an agent keeps on disk: measured while it works, because nobody but root can have the kernel do it."""

import asyncio
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

# The unit of st_blocks, whatever the file system's own is.
_BLOCK_BYTES = 512

# Of a thread's time that measuring may take: a large workspace is looked at less often.
_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Usage:
    """What is on disk: ``size_bytes`` as it is allocated, not as it looks."""

    size_bytes: int
    files: int


@dataclass(slots=True)
class _Measured:
    usage: Usage
    next_at: float


class WorkspaceQuota:
    """Says which agents have too much on disk, and go on adding to it.

    One that has too much and cleans up is let alone: there is no other way back.

    Args:
        max_bytes: from which size on.
        max_files: from how many files and folders on.
        monotonic: the clock.
    """

    def __init__(self, *, max_bytes: int, max_files: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._limit = Usage(max_bytes, max_files)
        self._measured: dict[str, _Measured] = {}

    async def exceeded(self, process_id: str, *folders: Path) -> bool:
        """Whether the folders of a process hold more than they may, and more than when last looked at."""
        last = self._measured.get(process_id)
        begun = self._monotonic()
        if last is not None and begun < last.next_at:
            return False
        now = await asyncio.to_thread(usage, *folders)
        took = self._monotonic() - begun
        self._measured[process_id] = _Measured(now, next_at=begun + took / _SHARE)
        before = Usage(0, 0) if last is None else last.usage
        is_over = now.size_bytes > self._limit.size_bytes or now.files > self._limit.files
        return is_over and last is not None and (now.size_bytes > before.size_bytes or now.files > before.files)

    def forget_all_but(self, process_ids: Collection[str]) -> None:
        """Forget what was measured of processes that are not at work any more."""
        for process_id in self._measured.keys() - process_ids:
            del self._measured[process_id]


def usage(*folders: Path) -> Usage:
    """Return how much is in folders, links not followed. Blocks; what vanishes meanwhile is not counted."""
    size = files = 0
    waiting = [os.fspath(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    size += found.st_blocks * _BLOCK_BYTES
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            # Gone, or closed to us: an ordinary user's agent may close its own folders.
            continue
    return Usage(size, files)
