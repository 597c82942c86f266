"""Checkpoints of workspaces: what the files were like at the end of each turn, so that a rewind can put them back.

A checkpoint is a list of files with their digests; contents are kept once each, by digest. Whatever changed a file is
covered, the agent's shell included. A workspace belongs to an agent and may hold anything: links are never followed,
not even one that takes a folder's place while it is being read.
"""

import asyncio
import hashlib
import json
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

logger = structlog.get_logger(__name__)

START = "start"
"""Name of the checkpoint from before a workspace's first turn."""

# Beyond these a workspace is no longer something to copy once a turn; rewinding then leaves its files alone.
_MAX_ENTRIES = 20_000
_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_KEPT_BYTES = 1024 * 1024 * 1024

_CHUNK = 1024 * 1024


class _TooLargeError(Exception):
    """The workspace is beyond what checkpoints are made of."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file, folder (``digest`` empty) or link (``digest`` is its target). Times in nanoseconds."""

    mode: int
    size: int
    mtime_ns: int
    digest: str

    def is_same_file(self, found: os.stat_result) -> bool:
        return (self.mode, self.size, self.mtime_ns) == (found.st_mode, found.st_size, found.st_mtime_ns)


type _Manifest = dict[str, _Entry]


class Checkpoints:
    """Takes and restores checkpoints below the data directory. One call at a time for each workspace."""

    def __init__(self, data_dir: Path) -> None:
        self._root = (data_dir / "checkpoints").absolute()

    async def take(self, workspace: Path, name: str) -> None:
        """Keep what the files are like now under ``name``. A workspace too large for that gets no checkpoint."""
        await asyncio.to_thread(self._take, workspace, name)

    def exists(self, workspace: Path, name: str) -> bool:
        """Whether there is a checkpoint of this name."""
        return self._manifest(workspace, name).is_file()

    async def restore(self, workspace: Path, name: str) -> bool:
        """Make a workspace, in which nothing is at work, what it was at a checkpoint; return whether there is one."""
        return await asyncio.to_thread(self._restore, workspace, name)

    async def copy(self, source: Path, target: Path) -> None:
        """Give a copied workspace the checkpoints of its original. Contents are shared, not copied."""
        if self._folder(source).is_dir():
            await asyncio.to_thread(
                shutil.copytree, self._folder(source), self._folder(target), copy_function=os.link, dirs_exist_ok=True
            )

    async def remove(self, workspace: Path) -> None:
        """Delete all checkpoints of a workspace."""
        await asyncio.to_thread(shutil.rmtree, self._folder(workspace), ignore_errors=True)

    # --- on disk ------------------------------------------------------------------------------------------------

    def _folder(self, workspace: Path) -> Path:
        return self._root / workspace.name

    def _manifest(self, workspace: Path, name: str) -> Path:
        return self._folder(workspace) / f"{name}.json"

    def _content(self, workspace: Path, digest: str) -> Path:
        return self._folder(workspace) / "content" / digest

    def _take(self, workspace: Path, name: str) -> None:
        (self._folder(workspace) / "content").mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            manifest = self._scan(workspace, self._newest(workspace))
        except _TooLargeError as error:
            logger.info("workspace_too_large_for_checkpoint", workspace_id=workspace.name, reason=str(error))
            return
        lines = {path: [entry.mode, entry.size, entry.mtime_ns, entry.digest] for path, entry in manifest.items()}
        aside = self._manifest(workspace, f".{name}")
        aside.write_text(json.dumps(lines))
        aside.replace(self._manifest(workspace, name))
        self._forget_oldest(workspace)

    def _newest(self, workspace: Path) -> _Manifest:
        """Return the last checkpoint: files that look unchanged since need not be read again."""
        found = self._by_age(workspace)
        return self._read(found[-1]) if found else {}

    def _by_age(self, workspace: Path) -> list[Path]:
        return sorted(self._folder(workspace).glob("[!.]*.json"), key=lambda path: path.stat().st_mtime_ns)

    def _read(self, manifest: Path) -> _Manifest:
        lines: dict[str, list[Any]] = json.loads(manifest.read_text())
        return {path: _Entry(*values) for path, values in lines.items()}

    def _scan(self, workspace: Path, known: _Manifest) -> _Manifest:
        manifest: _Manifest = {}
        for folder, folders, files, folder_fd in os.fwalk(workspace, follow_symlinks=False):
            for name in folders + files:
                if len(manifest) >= _MAX_ENTRIES:
                    raise _TooLargeError(f"more than {_MAX_ENTRIES} files")
                path = os.path.relpath(os.path.join(folder, name), workspace)
                entry = self._look_at(workspace, name, folder_fd, known.get(path))
                if entry is not None:
                    manifest[path] = entry
        return manifest

    def _look_at(self, workspace: Path, name: str, folder_fd: int, known: _Entry | None) -> _Entry | None:
        """Return the entry of one name, keeping its content; None for what is gone or is no file, folder or link."""
        try:
            found = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                return _Entry(found.st_mode, 0, 0, "")
            if stat.S_ISLNK(found.st_mode):
                return _Entry(found.st_mode, 0, 0, os.readlink(name, dir_fd=folder_fd))
            if not stat.S_ISREG(found.st_mode):
                return None
            if known is not None and known.is_same_file(found):
                return known
            if found.st_size > _MAX_FILE_BYTES:
                raise _TooLargeError(f"a file of {found.st_size} bytes")
            # Not waiting: what was a file a moment ago may be a pipe by now.
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder_fd)
        except OSError:
            return None
        with open(fd, "rb") as source:
            return _Entry(found.st_mode, found.st_size, found.st_mtime_ns, self._keep(workspace, source))

    def _keep(self, workspace: Path, source: Any) -> str:
        digest = hashlib.sha256()
        aside = self._content(workspace, ".new")
        with aside.open("wb") as copy:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
        aside.replace(self._content(workspace, digest.hexdigest()))
        return digest.hexdigest()

    def _forget_oldest(self, workspace: Path) -> None:
        """Delete the oldest checkpoints while all of them together are too large."""
        sizes = {path.name: path.stat().st_size for path in (self._folder(workspace) / "content").iterdir()}
        manifests = self._by_age(workspace)
        if sum(sizes.values()) <= _MAX_KEPT_BYTES:
            return
        needed: set[str] = set()
        for manifest in reversed(manifests):
            needed |= {entry.digest for entry in self._read(manifest).values()}
            if manifest != manifests[-1] and sum(sizes.get(name, 0) for name in needed) > _MAX_KEPT_BYTES:
                manifest.unlink()
        kept = {entry.digest for manifest in self._by_age(workspace) for entry in self._read(manifest).values()}
        for name in sizes.keys() - kept:
            self._content(workspace, name).unlink()

    def _restore(self, workspace: Path, name: str) -> bool:
        if not self.exists(workspace, name):
            return False
        # Built beside and put in its place: whatever links the agent left, nothing is written through them.
        aside = workspace.with_name(f".{workspace.name}.restoring")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True, mode=0o700)
        folders = {""}
        for path, entry in self._read(self._manifest(workspace, name)).items():
            target = aside / path
            if os.path.dirname(path) not in folders:
                # What was a folder when it was read was a link when it was listed.
                continue
            if stat.S_ISDIR(entry.mode):
                target.mkdir()
                folders.add(path)
            elif stat.S_ISLNK(entry.mode):
                target.symlink_to(entry.digest)
            else:
                shutil.copyfile(self._content(workspace, entry.digest), target)
                target.chmod(stat.S_IMODE(entry.mode))
                os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns))
        shutil.rmtree(workspace, ignore_errors=True)
        aside.rename(workspace)
        return True
