"""Plugins as zip archives: packing them, and unpacking those that strangers made.

An archive is read entry by entry and never trusted: not its sizes, not its names. What breaks a rule refuses the whole
archive, with a message that says which rule.
"""

import io
import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from claude_sdk_pattern.plugins.errors import ArchiveTooLargeError, UploadRefusedError
from claude_sdk_pattern.plugins.folders import IGNORED_FOLDERS, MAX_BYTES, MAX_FILES, list_files

MAX_RATIO: Final = 200
"""Text shrinks to a tenth, a bitmap of one colour to a thousandth; what is worth a plugin lies in between."""

# Below this a ratio says nothing: a kilobyte of blanks is no attack.
_RATIO_FROM_BYTES: Final = 1_048_576

_MAX_PATH_BYTES: Final = 1_000
_MAX_NAME_BYTES: Final = 200

# Zip cannot say earlier; any fixed time makes equal folders equal archives.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)

_CHUNK_BYTES: Final = 65_536

# Left by the archivers of some systems.
_DEBRIS: Final = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db"})


# What zipfile raises on damaged archives, its documented errors and those that it lets through.
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError),
    *(ValueError, IndexError, OverflowError, RuntimeError, struct.error),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What an archive may hold. ``may_link``: links that stay inside; only for archives that we made."""

    max_files: int = MAX_FILES
    max_bytes: int = MAX_BYTES
    max_ratio: int = MAX_RATIO
    may_link: bool = False


def pack_folder(root: Path) -> bytes:
    """Return a plugin's folder as an archive. Equal folders give equal archives.

    Raises:
        InvalidPluginError: there are too many files, or some that cannot be packed.
        OSError: a file cannot be read.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in list_files(root):
            entry = zipfile.ZipInfo(file.path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            if file.link is not None:
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                archive.writestr(entry, file.link)
            else:
                entry.external_attr = (stat.S_IFREG | (0o755 if file.is_executable else 0o644)) << 16
                archive.writestr(entry, (root / file.path).read_bytes())
    return packed.getvalue()


def unpack_archive(archive: bytes, target: Path, limits: ArchiveLimits | None = None) -> None:
    """Unpack an archive into a new folder. A single folder that holds everything is left out.

    On an error a part of it may lie there: unpack aside, and remove what failed.

    Raises:
        UploadRefusedError: it breaks a rule, or is no zip archive.
        OSError: the target is there already, or the disk is full.
    """
    limits = limits or ArchiveLimits()
    target.mkdir(parents=True)
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entries = [entry for entry in opened.infolist() if not _is_left_out(entry)]
            _check(entries, limits)
            common = _common_folder(entries)
            written = 0
            for entry in entries:
                path = PurePosixPath(entry.filename).relative_to(common)
                written += _write(opened, entry, target / path, target, limits, written)
    except _DAMAGED as error:
        raise UploadRefusedError("This is no zip archive, or a damaged one.") from error


def _is_left_out(entry: zipfile.ZipInfo) -> bool:
    return any(part in _DEBRIS or part in IGNORED_FOLDERS for part in entry.filename.split("/"))


def _check(entries: Sequence[zipfile.ZipInfo], limits: ArchiveLimits) -> None:
    """Refuse by what the archive says of itself; whether that is true shows while it is unpacked."""
    if not entries:
        raise UploadRefusedError("The archive is empty.")
    if len(entries) > limits.max_files:
        raise ArchiveTooLargeError(f"The archive has more than {limits.max_files} entries.")
    if sum(entry.file_size for entry in entries) > limits.max_bytes:
        raise _too_large(limits)
    files: set[str] = set()
    folders: set[str] = set()
    for entry in entries:
        _check_entry(entry, limits)
        path = PurePosixPath(entry.filename)
        # Two names that look the same are one file on some systems, and a trick on all.
        key = unicodedata.normalize("NFC", str(path)).casefold()
        if entry.is_dir():
            folders.add(key)
        else:
            if key in files:
                raise _unsafe(f"{_shown(entry)} is there twice")
            files.add(key)
        folders.update(
            unicodedata.normalize("NFC", str(parent)).casefold() for parent in path.parents if str(parent) != "."
        )
    if both := files & folders:
        raise _unsafe(f"{min(both)[:100]!r} is a file and a folder")


def _check_entry(entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    # `filename` is what zipfile made of the name: it cuts at NUL, which is itself a trick.
    name = entry.orig_filename
    path = PurePosixPath(name)
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Cf"} for letter in name) or "\\" in name:
        raise _unsafe(f"{_shown(entry)} has letters in its name that do not belong in one")
    if not entry.flag_bits & 0x800 and not name.isascii():
        raise _unsafe(f"{_shown(entry)} has a name in an unknown encoding")
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise _unsafe(f"{_shown(entry)} leads out of the folder")
    if len(name.encode()) > _MAX_PATH_BYTES or any(len(part.encode()) > _MAX_NAME_BYTES for part in path.parts):
        raise _unsafe(f"{_shown(entry)} has too long a name")
    if entry.flag_bits & 0x1:
        raise UploadRefusedError(f"{_shown(entry)} is encrypted.")
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise UploadRefusedError(f"{_shown(entry)} is compressed in a way that is not taken.")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    allowed = {0, stat.S_IFREG, stat.S_IFDIR} | ({stat.S_IFLNK} if limits.may_link else set[int]())
    if kind not in allowed:
        raise _unsafe(f"{_shown(entry)} is a link or a device")
    if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > limits.max_ratio * max(1, entry.compress_size):
        raise ArchiveTooLargeError(f"{_shown(entry)} grows more than {limits.max_ratio} times.")


def _common_folder(entries: Sequence[zipfile.ZipInfo]) -> PurePosixPath:
    """Return the folder that holds everything, as in archives that code hosts make; ``.`` if there is none."""
    tops = {PurePosixPath(entry.filename).parts[0] for entry in entries}
    has_files_beside = any(not entry.is_dir() and "/" not in entry.filename for entry in entries)
    is_common = len(tops) == 1 and not has_files_beside
    # A lone `skills` or `.claude-plugin` is a part of the plugin and not what it was packed in.
    top = next(iter(tops), ".")
    return PurePosixPath(top if is_common and top not in _PARTS_OF_PLUGINS else ".")


_PARTS_OF_PLUGINS: Final = frozenset({".claude-plugin", "skills", "commands", "agents", "hooks", "python"})


def _write(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, root: Path, limits: ArchiveLimits, before: int
) -> int:
    """Write one entry and return its size in bytes."""
    if entry.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = entry.external_attr >> 16
    if stat.S_ISLNK(mode):
        destination = archive.read(entry).decode()
        if not (path.parent / destination).resolve().is_relative_to(root.resolve()):
            raise _unsafe(f"{_shown(entry)} is a link that leads out of the folder")
        path.symlink_to(destination)
        return 0
    size = 0
    # O_EXCL and O_NOFOLLOW: whatever the names were, nothing that is there is written to.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o755 if mode & 0o100 else 0o644), "wb") as written:
        with archive.open(entry) as packed:
            while chunk := packed.read(_CHUNK_BYTES):
                size += len(chunk)
                if before + size > limits.max_bytes:
                    raise _too_large(limits)
                written.write(chunk)
    return size


def _too_large(limits: ArchiveLimits) -> UploadRefusedError:
    return ArchiveTooLargeError(f"Unpacked, the archive has more than {limits.max_bytes // 1_048_576} MiB.")


def _unsafe(message: str) -> UploadRefusedError:
    return UploadRefusedError(f"In the archive, {message}.")


def _shown(entry: zipfile.ZipInfo) -> str:
    return ascii(entry.orig_filename[:100])
