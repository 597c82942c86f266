"""The watermark of the data folder: below it nothing new is begun, so that what runs can end well."""

import errno
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.sessions.errors import StorageFullError

# Writes fail before the last byte is used: a file system keeps some for itself, and a write may need a page or more.
_EXHAUSTED_BYTES = 1024 * 1024


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class DiskWatermark:
    """Looks at the free space where sessions keep their files.

    Args:
        folder: the data folder; it exists.
        min_free_bytes: how much has to stay free.
        free_bytes: how much is.
    """

    def __init__(self, folder: Path, *, min_free_bytes: int, free_bytes: Callable[[Path], int] = _free_bytes) -> None:
        self._folder = folder
        self._min_free_bytes = min_free_bytes
        self._free_bytes = free_bytes

    @property
    def is_exhausted(self) -> bool:
        """Whether next to nothing is free: what was written lately may not have been."""
        return self._free_bytes(self._folder) < _EXHAUSTED_BYTES

    def require(self, wanted_bytes: int = 0) -> None:
        """Do nothing if there is room for ``wanted_bytes`` more.

        Raises:
            StorageFullError: there is not.
        """
        if self._free_bytes(self._folder) < self._min_free_bytes + wanted_bytes:
            raise StorageFullError


def told_as_full(found: Sequence[Event]) -> list[Event]:
    """Return the events of a turn's end with a success told as what it is on a full disk.

    The CLI reports success whether or not it could write what it did.
    """
    told: list[Event] = []
    for event in found:
        if isinstance(event, events.Result) and event.subtype == "success":
            text = "The server's storage ran full during this turn. What the agent wrote may be incomplete."
            told.append(events.Error(code="storage_full", message=text, recoverable=True))
            told.append(event.model_copy(update={"subtype": "error", "is_error": True, "error": text}))
        else:
            told.append(event)
    return told


def is_out_of_space(error: BaseException) -> bool:
    """Return whether a call to the operating system failed for want of space."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
