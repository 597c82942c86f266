"""Folders of sessions on disk: the workspace an agent works in, and the private folder of its process."""

import asyncio
import shutil
from pathlib import Path

from uuid_utils import uuid7


class Workspaces:
    """Makes, copies and removes folders under the data directory.

    A workspace belongs to a session and lives as long as it. A private folder belongs to one agent process (the CLI's
    configuration, caches and shell snapshots) and is removed with it.
    """

    def __init__(self, data_dir: Path) -> None:
        self._workspaces = (data_dir / "workspaces").absolute()
        self._private = (data_dir / "agents").absolute()

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

    def create_private(self, process_id: str) -> Path:
        """Make the private folder of an agent process."""
        path = self._private / process_id
        path.mkdir(parents=True, mode=0o700)
        return path

    async def remove_private(self, process_id: str) -> None:
        """Delete the private folder of an agent process that has ended."""
        await asyncio.to_thread(shutil.rmtree, self._private / process_id, ignore_errors=True)

    async def sweep_private(self) -> None:
        """Delete the private folders that a killed server left behind. Call before any process is started."""
        await asyncio.to_thread(shutil.rmtree, self._private, ignore_errors=True)
