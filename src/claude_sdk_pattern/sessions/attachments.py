"""Files that people attach: their bytes below the data folder, their rows in the database, and their way to the agent.

A session's files are its own. A fork gets links to the same bytes under its own name, so deleting either harms nothing;
that is safe because nobody writes to a stored file again. Into a workspace, where an agent writes, they are copied.
"""

import asyncio
import base64
import os
import shutil
from collections.abc import AsyncIterable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from uuid_utils import uuid7

from claude_sdk_pattern.events.types import AttachmentRef, JsonObject, UserMessage
from claude_sdk_pattern.sessions.disk import DiskWatermark, is_out_of_space
from claude_sdk_pattern.sessions.errors import (
    AttachmentNotFoundError,
    AttachmentTooLargeError,
    SessionNotFoundError,
    StorageFullError,
    TooManyAttachmentsError,
)
from claude_sdk_pattern.sessions.file_names import safe_name
from claude_sdk_pattern.sessions.media_types import IMAGES, PDF, SNIFFED_BYTES, media_type
from claude_sdk_pattern.sessions.workspace_files import place_file
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import AttachmentRow, EventRow

# The API refuses requests over 32 MB. In base64 these are 24 MB; the rest is for the words of the conversation.
MAX_SHOWN_BYTES: Final = 18 * 1024 * 1024

# The CLI makes a picture smaller until it fits what the API takes of one: 5 MiB in base64.
_MAX_IMAGE_BYTES = 3_932_160

# Files that were uploaded and not sent: a person who changed their mind, or a program that fills the disk.
_MAX_UNSENT = 100
_UNSENT_DAYS = 1

# What is written to the disk at once.
_PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A message as the agent gets it.

    ``content`` is what the SDK takes. ``not_shown`` are the pictures and documents that were too large to be part of it
    and lie in the workspace only.
    """

    content: list[JsonObject]
    not_shown: tuple[AttachmentRef, ...]


@dataclass(slots=True)
class _Upload:
    """A file that is being written."""

    path: Path
    size_bytes: int = 0
    head: bytes = b""
    waiting: list[bytes] = field(default_factory=list[bytes])
    waiting_bytes: int = 0


class AttachmentStore:
    """Keeps uploaded files.

    Args:
        database: where their rows are.
        data_dir: the folder below which their bytes are, in ``attachments/SESSION/ATTACHMENT``.
        disk: refuses uploads when there is no room.
        max_bytes: the largest file.
    """

    def __init__(self, database: Database, data_dir: Path, *, disk: DiskWatermark, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._database = database
        self._folder = (data_dir / "attachments").absolute()
        self._incoming = self._folder / "incoming"
        self._disk = disk

    async def sweep(self) -> None:
        """Delete what a killed server had not finished writing. Call before the first upload."""
        await asyncio.to_thread(shutil.rmtree, self._incoming, ignore_errors=True)

    async def add(self, session_id: str, name: str, content: AsyncIterable[bytes]) -> AttachmentRef:
        """Store a file as it comes in. Whatever goes wrong, nothing of it is kept.

        Args:
            session_id: the session it belongs to.
            name: what its sender calls it.
            content: its bytes.

        Raises:
            AttachmentTooLargeError: it is larger than allowed; the rest of it was not read.
            TooManyAttachmentsError: too many files of this session wait to be sent.
            StorageFullError: there is no room.
            SessionNotFoundError: the session was deleted meanwhile.
        """
        await self._clear_unsent(session_id)
        attachment_id = str(uuid7())
        self._disk.require()
        upload = _Upload(self._incoming / attachment_id)
        target = self.path(session_id, attachment_id)
        try:
            await self._receive(upload, content)
            row = AttachmentRow(
                session_id=session_id,
                id=attachment_id,
                name=safe_name(name),
                size_bytes=upload.size_bytes,
                media_type=media_type(upload.head),
                created_at=datetime.now(UTC),
                sent_at=None,
            )
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            upload.path.rename(target)
            async with self._database.sessions.begin() as session:
                session.add(row)
        except BaseException as error:
            upload.path.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            with suppress(OSError):
                # The first file of a session that is gone: its folder is ours. With other files in it, it stays.
                target.parent.rmdir()
            if is_out_of_space(error):
                raise StorageFullError from error
            if isinstance(error, IntegrityError):
                raise SessionNotFoundError(f"no session {session_id}") from error
            raise
        return _reference(row)

    async def get(self, session_id: str, attachment_id: str) -> AttachmentRef:
        """Return what is known of a file.

        Raises:
            AttachmentNotFoundError: there is none with this id in this session.
        """
        (found,) = await self._find(session_id, [attachment_id])
        return found

    def path(self, session_id: str, attachment_id: str) -> Path:
        """Return where the bytes of a file are."""
        return self._folder / session_id / attachment_id

    async def take(self, session_id: str, attachment_ids: Sequence[str]) -> tuple[AttachmentRef, ...]:
        """Return the files that a message is about to carry, in its order, each once; from now on they are kept.

        Raises:
            AttachmentNotFoundError: one of them was not uploaded to this session.
        """
        wanted = list(dict.fromkeys(attachment_ids))
        if not wanted:
            return ()
        found = await self._find(session_id, wanted)
        statement = update(AttachmentRow).where(AttachmentRow.session_id == session_id, AttachmentRow.id.in_(wanted))
        async with self._database.sessions.begin() as session:
            await session.execute(statement.values(sent_at=datetime.now(UTC)))
        return found

    async def deliver(
        self, session_id: str, workspace: Path, text: str, attachments: Sequence[AttachmentRef]
    ) -> Delivered:
        """Put a message's files into the workspace, and what the model can look at into the message.

        Raises:
            AttachmentNotFoundError: the bytes of one are not on this machine (any more).
            StorageFullError: there is no room for them.
            OSError: they cannot be read or written.
        """
        try:
            return await asyncio.to_thread(self._deliver, session_id, workspace, text, attachments)
        except OSError as error:
            if is_out_of_space(error):
                raise StorageFullError from error
            raise

    async def copy(self, source_id: str, target_id: str) -> None:
        """Give a fork the files that the messages on its tape carry."""
        async with self._database.sessions.begin() as session:
            tape = select(EventRow.payload).where(EventRow.session_id == target_id, EventRow.type == "user_message")
            ids = {
                attachment.attachment_id
                for payload in await session.scalars(tape)
                for attachment in UserMessage.model_validate_json(payload).attachments
            }
            named = select(AttachmentRow).where(AttachmentRow.session_id == source_id, AttachmentRow.id.in_(ids))
            rows = list(await session.scalars(named))
            await asyncio.to_thread(self._link, source_id, target_id, [row.id for row in rows])
            session.add_all(_copied(row, target_id) for row in rows)

    async def remove(self, session_id: str) -> None:
        """Delete the bytes of a deleted session's files; their rows went with the session."""
        await asyncio.to_thread(shutil.rmtree, self._folder / session_id, ignore_errors=True)

    # --- storing ------------------------------------------------------------------------------------------------

    async def _receive(self, upload: _Upload, content: AsyncIterable[bytes]) -> None:
        self._incoming.mkdir(parents=True, exist_ok=True, mode=0o700)
        with upload.path.open("xb", buffering=0) as file:
            async for part in content:
                upload.size_bytes += len(part)
                if upload.size_bytes > self.max_bytes:
                    raise AttachmentTooLargeError(self.max_bytes)
                if len(upload.head) < SNIFFED_BYTES:
                    upload.head = (upload.head + part)[:SNIFFED_BYTES]
                upload.waiting.append(part)
                upload.waiting_bytes += len(part)
                if upload.waiting_bytes >= _PIECE_BYTES:
                    self._disk.require()
                    await asyncio.to_thread(_write, file.fileno(), b"".join(upload.waiting))
                    upload.waiting, upload.waiting_bytes = [], 0
            await asyncio.to_thread(_write, file.fileno(), b"".join(upload.waiting), flush=True)

    async def _clear_unsent(self, session_id: str) -> None:
        """Forget what was uploaded long ago and never sent.

        Raises:
            TooManyAttachmentsError: too much was uploaded lately.
        """
        unsent = (AttachmentRow.session_id == session_id, AttachmentRow.sent_at.is_(None))
        old = (*unsent, AttachmentRow.created_at < datetime.now(UTC) - timedelta(days=_UNSENT_DAYS))
        async with self._database.sessions.begin() as session:
            forgotten = list(await session.scalars(select(AttachmentRow.id).where(*old)))
            if forgotten:
                await session.execute(delete(AttachmentRow).where(*old))
            count = await session.scalar(select(func.count()).select_from(AttachmentRow).where(*unsent)) or 0
        for attachment_id in forgotten:
            self.path(session_id, attachment_id).unlink(missing_ok=True)
        if count >= _MAX_UNSENT:
            raise TooManyAttachmentsError(count + 1, _MAX_UNSENT)

    async def _find(self, session_id: str, attachment_ids: Sequence[str]) -> tuple[AttachmentRef, ...]:
        # PostgreSQL does not even compare with a NUL, which an address may hold.
        if any("\0" in attachment_id for attachment_id in attachment_ids):
            raise AttachmentNotFoundError
        query = select(AttachmentRow).where(
            AttachmentRow.session_id == session_id, AttachmentRow.id.in_(attachment_ids)
        )
        async with self._database.reading() as session:
            rows = {row.id: row for row in await session.scalars(query)}
        if len(rows) != len(attachment_ids):
            raise AttachmentNotFoundError
        return tuple(_reference(rows[attachment_id]) for attachment_id in attachment_ids)

    def _link(self, source_id: str, target_id: str, attachment_ids: Iterable[str]) -> None:
        for attachment_id in attachment_ids:
            source, target = self.path(source_id, attachment_id), self.path(target_id, attachment_id)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                os.link(source, target)
            except FileNotFoundError:
                # Lost on this machine; its row tells at least what it was.
                continue
            except OSError:
                # Not every file system has links.
                shutil.copyfile(source, target)

    # --- delivering ---------------------------------------------------------------------------------------------

    def _deliver(self, session_id: str, workspace: Path, text: str, attachments: Sequence[AttachmentRef]) -> Delivered:
        shown: list[JsonObject] = []
        not_shown: list[AttachmentRef] = []
        lines: list[str] = []
        room = MAX_SHOWN_BYTES
        for attachment in attachments:
            stored = self.path(session_id, attachment.attachment_id)
            if not stored.is_file():
                raise AttachmentNotFoundError
            place = place_file(workspace, attachment.name, stored)
            remark = ""
            if attachment.media_type in IMAGES or attachment.media_type == PDF:
                weight = _weight(attachment)
                if weight <= room:
                    room -= weight
                    shown.append(_block(attachment.media_type, stored.read_bytes()))
                else:
                    not_shown.append(attachment)
                    remark = "; too large to be shown here, use your tools to look into it"
            lines.append(f"- {place} ({attachment.media_type}, {attachment.size_bytes} bytes{remark})")
        words = [] if not text.strip() else [{"type": "text", "text": text}]
        return Delivered(content=[*shown, _listing(lines), *words], not_shown=tuple(not_shown))


def _listing(lines: Sequence[str]) -> JsonObject:
    inside = "\n".join(["These files came with the message. In your working directory they are:", *lines])
    return {"type": "text", "text": f"<attached-files>\n{inside}\n</attached-files>"}


def _weight(attachment: AttachmentRef) -> int:
    size = attachment.size_bytes
    return size if attachment.media_type == PDF else min(size, _MAX_IMAGE_BYTES)


def _block(kind: str, content: bytes) -> JsonObject:
    source: dict[str, Any] = {"type": "base64", "media_type": kind, "data": base64.b64encode(content).decode()}
    return {"type": "document" if kind == PDF else "image", "source": source}


def _write(file: int, content: bytes, *, flush: bool = False) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
    if flush:
        os.fsync(file)


def _reference(row: AttachmentRow) -> AttachmentRef:
    return AttachmentRef(attachment_id=row.id, name=row.name, size_bytes=row.size_bytes, media_type=row.media_type)


def _copied(row: AttachmentRow, session_id: str) -> AttachmentRow:
    return AttachmentRow(
        session_id=session_id,
        id=row.id,
        name=row.name,
        size_bytes=row.size_bytes,
        media_type=row.media_type,
        created_at=row.created_at,
        sent_at=row.sent_at,
    )
