"""The files of one session: its workspace's checkpoints, and what a message brings along."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from claude_sdk_pattern.events.types import AttachmentRef
from claude_sdk_pattern.sessions.attachments import AttachmentStore, Delivered
from claude_sdk_pattern.sessions.checkpoints import START, Checkpoints
from claude_sdk_pattern.sessions.workspaces import Workspaces

logger = structlog.get_logger(__name__)


class SessionFiles:
    """Takes a checkpoint after each turn while nobody waits, and is asked before files can change again.

    Args:
        session_id: the session.
        workspace_id: tells which folder is the session's now; None until its first process.
        workspaces: where the folders are.
        checkpoints: what they were like.
        attachments: the files people have uploaded.
    """

    def __init__(
        self,
        session_id: str,
        workspace_id: Callable[[], str | None],
        *,
        workspaces: Workspaces,
        checkpoints: Checkpoints,
        attachments: AttachmentStore,
    ) -> None:
        self._session_id = session_id
        self._workspace_id = workspace_id
        self._workspaces = workspaces
        self._checkpoints = checkpoints
        self._attachments = attachments
        self._checkpointing: asyncio.Task[None] | None = None

    async def take(self, attachment_ids: Sequence[str]) -> tuple[AttachmentRef, ...]:
        """Return the uploaded files that a message carries.

        Raises:
            AttachmentNotFoundError: one of them was not uploaded to this session.
        """
        return await self._attachments.take(self._session_id, attachment_ids)

    async def deliver(self, text: str, attachments: tuple[AttachmentRef, ...], workspace_id: str) -> Delivered:
        """Put a message's files into the folder its process works in, and return the message as the agent gets it."""
        workspace = self._workspaces.ensure(workspace_id)
        return await self._attachments.deliver(self._session_id, workspace, text, attachments)

    def begin_checkpoint(self, name: str) -> None:
        """Begin to keep what the files are like now."""
        self._checkpointing = asyncio.create_task(self._take_checkpoint(name))

    @property
    def is_checkpointed(self) -> bool:
        """Whether there is a checkpoint of what the files are like now, so that they may change."""
        if self._checkpointing is not None:
            return self._checkpointing.done()
        return (workspace := self._workspace) is None or self._checkpoints.exists(workspace, START)

    async def finish_checkpoint(self) -> None:
        """See to it, before files can change, that there is a checkpoint of what they are like now."""
        if self._checkpointing is not None:
            await self._checkpointing
        elif not self.is_checkpointed:
            await self._take_checkpoint(START)

    async def restore(self, name: str) -> bool:
        """Put the workspace back to a checkpoint; return whether that could be done."""
        if self._workspace is None:
            return False
        await self.finish_checkpoint()
        try:
            return await self._checkpoints.restore(self._workspace, name)
        except OSError:
            logger.exception("checkpoint_not_restored", session_id=self._session_id)
            return False

    async def aclose(self) -> None:
        """Wait for the checkpoint that is being taken; it was cancelled if the turn that waited for it was."""
        if self._checkpointing is not None:
            await asyncio.gather(self._checkpointing, return_exceptions=True)

    async def _take_checkpoint(self, name: str) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        try:
            await self._checkpoints.take(workspace, name)
        except Exception:
            # Whatever it was: a rewind will say that there is none.
            logger.exception("checkpoint_failed", session_id=self._session_id)

    @property
    def _workspace(self) -> Path | None:
        workspace_id = self._workspace_id()
        return None if workspace_id is None else self._workspaces.path(workspace_id)
