"""Folders of sessions on disk: the workspace an agent works in, and the private folder of its process."""

import asyncio
import os
import shutil
from pathlib import Path

from uuid_utils import uuid7


class Workspaces:
    """Makes, copies and removes folders under the data directory.

    A workspace belongs to a session and lives as long as it. A private folder belongs to one agent process (the CLI's
    configuration, caches and shell snapshots) and is removed with it.

    Args:
        data_dir: the data folder.
        owner: the user that agents run as; None if that is the server's own.
    """

    def __init__(self, data_dir: Path, *, owner: int | None = None) -> None:
        self._workspaces = (data_dir / "workspaces").absolute()
        self._private = (data_dir / "agents").absolute()
        self._owner = owner

    def path(self, workspace_id: str) -> Path:
        """Return the folder of a workspace."""
        return self._workspaces / workspace_id

    def create(self) -> str:
        """Make an empty workspace and return its id."""
        workspace_id = str(uuid7())
        self.path(workspace_id).mkdir(parents=True, mode=0o700)
        return workspace_id

    def ensure(self, workspace_id: str) -> Path:
        """Return the folder of a workspace, made anew if this machine does not have it."""
        path = self.path(workspace_id)
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    async def hand_over(self, workspace_id: str) -> Path:
        """Return the folder of a workspace, all of which belongs to its agent. Nothing may be at work in it."""
        path = self.ensure(workspace_id)
        if self._owner is not None:
            await asyncio.to_thread(_give_all, path, self._owner)
        return path

    async def copy(self, workspace_id: str) -> str:
        """Copy a workspace for a fork and return the copy's id. Symbolic links stay links."""
        target = str(uuid7())
        await asyncio.to_thread(
            shutil.copytree, self.ensure(workspace_id), self.path(target), symlinks=True, ignore_dangling_symlinks=True
        )
        return target

    async def remove(self, workspace_id: str) -> None:
        """Delete a workspace; one that is gone already is fine."""
        await asyncio.to_thread(shutil.rmtree, self.path(workspace_id), ignore_errors=True)

    @property
    def root(self) -> Path:
        """The folder in which all workspaces lie."""
        return self._workspaces

    def private_path(self, process_id: str) -> Path:
        """Return the private folder of an agent process."""
        return self._private / process_id

    def create_private(self, process_id: str) -> Path:
        """Make the private folder of an agent process."""
        path = self.private_path(process_id)
        path.mkdir(parents=True, mode=0o700)
        return path

    def folders(self, workspace_id: str, process_id: str) -> tuple[Path, ...]:
        """Return the folders in which an agent process may keep files."""
        return self.path(workspace_id), self._private / process_id

    async def remove_private(self, process_id: str) -> None:
        """Delete the private folder of an agent process that has ended."""
        await asyncio.to_thread(shutil.rmtree, self.private_path(process_id), ignore_errors=True)

    async def sweep_private(self) -> None:
        """Delete the private folders that a killed server left behind. Call before any process is started."""
        await asyncio.to_thread(shutil.rmtree, self._private, ignore_errors=True)


def _give_all(root: Path, owner: int) -> None:
    """Make everything below a folder belong to a user. Links are not followed: where they lead is not ours to give."""
    for _, folders, files, folder in os.fwalk(root, follow_symlinks=False):
        if os.fstat(folder).st_uid != owner:
            os.fchown(folder, owner, owner)
        for name in (*folders, *files):
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid != owner:
                os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
