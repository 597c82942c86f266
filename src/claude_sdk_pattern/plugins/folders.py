"""The files of a plugin's folder: which they are, whether they may be there, and what identifies them together."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem

MAX_FILES: Final = 20_000
"""More are no plugin but a checkout with everything it ever installed."""

MAX_BYTES: Final = 268_435_456

IGNORED_FOLDERS: Final = frozenset({".git", "__pycache__"})
"""No part of a plugin. Python writes the second where it imports from."""

_CHUNK_BYTES: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class FolderFile:
    """One file or link. ``path`` is relative, with slashes; ``link`` is where a link leads."""

    path: str
    size_bytes: int
    is_executable: bool
    link: str | None = None


def list_files(root: Path) -> list[FolderFile]:
    """Return all files of a plugin in the order of their paths.

    Raises:
        InvalidPluginError: there are too many or they are too large, or one is a device, or a link that leads out.
    """
    files: list[FolderFile] = []
    total_bytes = 0
    for file in _walk(root.resolve(), ""):
        files.append(file)
        total_bytes += file.size_bytes
        if len(files) > MAX_FILES:
            raise _refused(".", f"has more than {MAX_FILES} files")
        if total_bytes > MAX_BYTES:
            raise _refused(".", f"has more than {MAX_BYTES // 1_048_576} MiB of files")
    return sorted(files, key=lambda file: file.path)


def folder_digest(root: Path) -> str:
    """Return the SHA-256 of all files: their paths, whether they can be executed, and what is in them.

    Raises:
        InvalidPluginError: as :func:`list_files`.
        OSError: a file cannot be read, or went away meanwhile.
    """
    whole = hashlib.sha256()
    for file in list_files(root):
        content = hashlib.sha256()
        if file.link is not None:
            content.update(file.link.encode(errors="surrogateescape"))
        else:
            with (root / file.path).open("rb") as opened:
                while chunk := opened.read(_CHUNK_BYTES):
                    content.update(chunk)
        kind = "l" if file.link is not None else "x" if file.is_executable else "f"
        whole.update(f"{kind} {content.hexdigest()} {len(file.path)} {file.path}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def folder_fingerprint(root: Path) -> str:
    """Return a text that changes when a file does, without reading any: times, sizes and places on the disk.

    Cheap enough to look at often; only :func:`folder_digest` says what is in there. A folder that cannot be read
    has the empty fingerprint.
    """
    whole = hashlib.sha256()
    try:
        for path, entry in _entries(root, ""):
            known = entry.stat(follow_symlinks=False)
            whole.update(f"{path} {known.st_ino} {known.st_size} {known.st_mtime_ns} {known.st_ctime_ns}\n".encode())
    except OSError:
        return ""
    return whole.hexdigest()


def _walk(root: Path, below: str) -> Iterator[FolderFile]:
    for path, entry in _entries(root / below, below):
        known = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(known.st_mode):
            target = os.readlink(entry.path)
            if Path(target).is_absolute() or not Path(entry.path).resolve().is_relative_to(root):
                raise _refused(path, "is a link that leads out of the folder")
            yield FolderFile(path, 0, is_executable=False, link=target)
        elif stat.S_ISREG(known.st_mode):
            yield FolderFile(path, known.st_size, is_executable=bool(known.st_mode & stat.S_IXUSR))
        elif not stat.S_ISDIR(known.st_mode):
            raise _refused(path, "is neither a file nor a folder")


def _entries(root: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield everything below a folder with its relative path, the folders before what is in them."""
    with os.scandir(root) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        if not entry.is_dir(follow_symlinks=False):
            yield path, entry
        elif entry.name not in IGNORED_FOLDERS:
            yield path, entry
            yield from _entries(Path(entry.path), path)


def _refused(file: str, message: str) -> InvalidPluginError:
    return InvalidPluginError([PluginProblem(file=file, message=message)])
