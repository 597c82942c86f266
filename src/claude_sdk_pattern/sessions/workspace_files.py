"""Putting files into a workspace, whose agent may have planted anything there.

A path is never followed: the folder is opened by its name inside the workspace, refusing links, and the file is made in
the open folder, refusing whatever has its name already.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from claude_sdk_pattern.sessions.file_names import numbered

FOLDER: Final = "attachments"

# Nobody attaches a thousand files of one name; an agent that makes them does it to be a nuisance.
_MAX_NUMBER = 1000

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def place_file(workspace: Path, name: str, source: Path) -> str:
    """Copy a file into the workspace's folder for attachments under a name that is free, and return its path in there.

    Blocks; call it in a thread.

    Args:
        workspace: the folder of a session.
        name: a safe name, see :func:`claude_sdk_pattern.sessions.file_names.safe_name`.
        source: what to copy.

    Raises:
        OSError: it could not be written; nothing of it is left.
    """
    with source.open("rb") as content, _folder(workspace) as (folder, folder_name):
        made, file_name = _new_file(folder, name)
        try:
            _give(made, os.stat(workspace))
            with os.fdopen(made, "wb") as target:
                shutil.copyfileobj(content, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(file_name, dir_fd=folder)
            raise
        return f"{folder_name}/{file_name}"


@contextmanager
def _folder(workspace: Path) -> Generator[tuple[int, str]]:
    """Yield the open folder and its name: the usual one, unless something is there that is no folder."""
    root = os.open(workspace, _DIRECTORY)
    try:
        for number in range(1, _MAX_NUMBER):
            name = numbered(FOLDER, number)
            with suppress(FileExistsError):
                os.mkdir(name, mode=0o700, dir_fd=root)
            try:
                folder = os.open(name, _DIRECTORY, dir_fd=root)
            except OSError:
                # A file, or a link to who knows where.
                continue
            try:
                _give(folder, os.fstat(root))
                yield folder, name
            finally:
                os.close(folder)
            return
        raise FileExistsError(f"nothing called {FOLDER} can be opened as a folder")
    finally:
        os.close(root)


def _new_file(folder: int, name: str) -> tuple[int, str]:
    for number in range(1, _MAX_NUMBER):
        candidate = numbered(name, number)
        with suppress(FileExistsError):
            return os.open(candidate, _NEW_FILE, mode=0o600, dir_fd=folder), candidate
    raise FileExistsError("too many files of one name")


def _give(made: int, workspace: os.stat_result) -> None:
    """Make what is open belong to whom the workspace does: the agent's user, where that is not the server's."""
    if os.fstat(made).st_uid != workspace.st_uid:
        os.fchown(made, workspace.st_uid, workspace.st_gid)
