"""The watermark of the data folder: below it nothing new is begun, so that what runs can end well."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from claude_sdk_pattern.sessions.errors import StorageFullError


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

    def require(self, wanted_bytes: int = 0) -> None:
        """Do nothing if there is room for ``wanted_bytes`` more.

        Raises:
            StorageFullError: there is not.
        """
        if self._free_bytes(self._folder) < self._min_free_bytes + wanted_bytes:
            raise StorageFullError


def is_out_of_space(error: BaseException) -> bool:
    """Return whether a call to the operating system failed for want of space."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
