"""The data folder belongs to one server at a time, and gives that server a name that lasts."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from uuid_utils import uuid4


class DataFolderInUse(Exception):
    """Another server runs on this data folder. ``pid`` is its process id as it wrote it down, None if it did not."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        holder = "another server" if pid is None else f"another server (process {pid})"
        super().__init__(
            f"the data folder {folder} is in use by {holder}; stop that one, or give this one a folder of its own "
            "with CLAUDE_SDK_PATTERN_DATA_DIR"
        )
        self.folder = folder
        self.pid = pid


@contextmanager
def locked_data_folder(data_dir: Path) -> Generator[str]:
    """Hold the data folder, made if need be, and yield the id of its node; commands need not hold it.

    The kernel gives the lock back however the server ends.

    Raises:
        DataFolderInUse: another server holds it.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    run = data_dir / "run"
    run.mkdir(exist_ok=True, mode=0o700)
    with (run / "server.lock").open("a+") as file:
        try:
            # Children do not inherit the descriptor, so an agent that outlives the server does not keep the lock.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            written = file.read().strip()
            raise DataFolderInUse(data_dir, int(written) if written.isdecimal() else None) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield _node_id(run / "node")


def require_free_data_folder(data_dir: Path) -> None:
    """Do nothing if a server could start on this folder.

    Raises:
        DataFolderInUse: another server runs on it.
    """
    with locked_data_folder(data_dir):
        pass


@contextmanager
def temporary_files_in(folder: Path) -> Generator[None]:
    """Have this process make its temporary files in a folder, which is emptied first: a killed server leaves its own.

    The SDK writes whole transcripts into one when it resumes a conversation.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    tempfile.tempdir = str(folder.absolute())
    try:
        yield
    finally:
        # Looked up anew when it is needed next.
        tempfile.tempdir = None


def _node_id(path: Path) -> str:
    """Return the id kept in a file, made up anew where the file was copied: two servers must not share a name."""
    path.touch(mode=0o600)
    inode = str(path.stat().st_ino)
    match path.read_text().split():
        case [node_id, known] if known == inode:
            return node_id
        case _:
            node_id = str(uuid4())
            path.write_text(f"{node_id} {inode}\n")
            return node_id
