"""The store of uploaded files: real folders, a real SQLite file and a real PostgreSQL."""

import errno
import shutil
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from tests.support.pictures import pdf, png
from tests.support.rows import store_sessions

from claude_sdk_pattern.events.types import AttachmentRef, UserMessage
from claude_sdk_pattern.sessions.attachments import MAX_SHOWN_BYTES, AttachmentStore
from claude_sdk_pattern.sessions.disk import DiskWatermark
from claude_sdk_pattern.sessions.errors import (
    AttachmentNotFoundError,
    AttachmentTooLargeError,
    SessionNotFoundError,
    StorageFullError,
    TooManyAttachmentsError,
)
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import AttachmentRow, EventRow, SessionRow

pytestmark = pytest.mark.anyio

MAX_BYTES = 20 * 1024 * 1024


class Disk:
    """How much is free, as the test says."""

    def __init__(self) -> None:
        self.free_bytes = 10**12

    def of(self, folder: Path) -> int:
        assert folder.is_dir()
        return self.free_bytes


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def store(database: Database, tmp_path: Path, disk: Disk) -> AttachmentStore:
    await store_sessions(database, "s1", "s2")
    watermark = DiskWatermark(tmp_path, min_free_bytes=1000, free_bytes=disk.of)
    return AttachmentStore(database, tmp_path, disk=watermark, max_bytes=MAX_BYTES)


async def pieces(content: bytes, size: int = 100_000) -> AsyncGenerator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def add(store: AttachmentStore, name: str, content: bytes, session_id: str = "s1") -> AttachmentRef:
    return await store.add(session_id, name, pieces(content))


def files(store: AttachmentStore) -> list[Path]:
    """Return every file below the store's folder."""
    folder = store.path("x", "y").parent.parent
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_file_is_kept_as_it_came(store: AttachmentStore) -> None:
    content = png(500, 500, noise=True) + b"\0" * 2_000_000
    stored = await add(store, "../holiday.exe", content)
    assert (stored.name, stored.size_bytes, stored.media_type) == ("holiday.exe", len(content), "image/png")
    assert await store.get("s1", stored.attachment_id) == stored
    assert store.path("s1", stored.attachment_id).read_bytes() == content
    assert files(store) == [store.path("s1", stored.attachment_id)]


async def test_a_file_of_another_session_does_not_exist_in_this_one(store: AttachmentStore) -> None:
    stored = await add(store, "a.txt", b"mine")
    for session_id, attachment_id in (("s2", stored.attachment_id), ("s1", "unknown"), ("s1", "a\0b"), ("s1", "..")):
        with pytest.raises(AttachmentNotFoundError):
            await store.get(session_id, attachment_id)
        with pytest.raises(AttachmentNotFoundError):
            await store.take(session_id, [attachment_id])


async def test_nothing_is_kept_of_a_file_that_is_too_large_and_the_rest_is_not_read(store: AttachmentStore) -> None:
    read = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal read
        while True:
            read += 100_000
            yield b"x" * 100_000

    with pytest.raises(AttachmentTooLargeError):
        await store.add("s1", "endless", endless())
    assert read <= MAX_BYTES + 100_000
    assert files(store) == []
    assert (await add(store, "just.fits", b"x" * MAX_BYTES)).size_bytes == MAX_BYTES


async def test_nothing_is_kept_of_an_upload_that_breaks_off(store: AttachmentStore) -> None:
    async def broken() -> AsyncGenerator[bytes]:
        yield b"x" * 2_000_000
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await store.add("s1", "broken", broken())
    assert files(store) == []


async def test_a_file_for_a_session_that_was_deleted_meanwhile_leaves_nothing(
    store: AttachmentStore, database: Database
) -> None:
    async def slow() -> AsyncGenerator[bytes]:
        yield b"begin"
        async with database.sessions.begin() as session:
            await session.execute(delete(SessionRow).where(SessionRow.id == "s1"))
        yield b"end"

    with pytest.raises(SessionNotFoundError):
        await store.add("s1", "late.txt", slow())
    assert files(store) == []
    assert not store.path("s1", "x").parent.exists()


async def test_no_upload_begins_or_goes_on_below_the_watermark(store: AttachmentStore, disk: Disk) -> None:
    disk.free_bytes = 999
    with pytest.raises(StorageFullError):
        await add(store, "a.txt", b"x")

    async def filling() -> AsyncGenerator[bytes]:
        disk.free_bytes = 5000
        yield b"x" * 2_000_000
        disk.free_bytes = 10
        yield b"x" * 2_000_000

    disk.free_bytes = 5000
    with pytest.raises(StorageFullError):
        await store.add("s1", "b.txt", filling())
    assert files(store) == []
    disk.free_bytes = 5000
    assert (await add(store, "c.txt", b"x")).name == "c.txt"


async def test_a_disk_that_is_full_all_the_same_is_told_as_such(store: AttachmentStore) -> None:
    async def full() -> AsyncGenerator[bytes]:
        yield b"x"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageFullError):
        await store.add("s1", "a.txt", full())
    assert files(store) == []


async def test_a_message_takes_files_in_its_order_each_once(store: AttachmentStore) -> None:
    first, second = await add(store, "1.txt", b"1"), await add(store, "2.txt", b"2")
    ids = [second.attachment_id, first.attachment_id, second.attachment_id]
    assert await store.take("s1", ids) == (second, first)
    assert await store.take("s1", ids) == (second, first)
    assert await store.take("s1", []) == ()


async def test_what_is_never_sent_is_kept_for_a_day_and_is_bounded(store: AttachmentStore, database: Database) -> None:
    sent = await add(store, "sent.txt", b"x")
    await store.take("s1", [sent.attachment_id])
    unsent = [await add(store, f"{number}.txt", b"x") for number in range(100)]
    with pytest.raises(TooManyAttachmentsError):
        await add(store, "one more.txt", b"x")
    async with database.sessions.begin() as session:
        old = update(AttachmentRow).where(AttachmentRow.id != unsent[-1].attachment_id)
        await session.execute(old.values(created_at=datetime.now(UTC) - timedelta(days=2)))
    new = await add(store, "one more.txt", b"x")
    kept = {sent.attachment_id, unsent[-1].attachment_id, new.attachment_id}
    assert {path.name for path in files(store)} == kept
    with pytest.raises(AttachmentNotFoundError):
        await store.get("s1", unsent[0].attachment_id)


async def test_a_fork_has_what_its_messages_carry_and_outlives_its_source(
    store: AttachmentStore, database: Database
) -> None:
    carried, other = await add(store, "carried.txt", b"carried"), await add(store, "other.txt", b"other")
    await store.take("s1", [carried.attachment_id])
    message = UserMessage(text="look", client_id="c", attachments=(carried,))
    async with database.sessions.begin() as session:
        row = {"session_id": "s2", "seq": 1, "type": "user_message", "actor": "user:x", "ts_ms": 0}
        session.add(EventRow(**row, payload=message.encode().decode()))
    await store.copy("s1", "s2")
    with pytest.raises(AttachmentNotFoundError):
        await store.get("s2", other.attachment_id)
    async with database.sessions.begin() as session:
        await session.execute(delete(SessionRow).where(SessionRow.id == "s1"))
    await store.remove("s1")
    assert await store.get("s2", carried.attachment_id) == carried
    assert store.path("s2", carried.attachment_id).read_bytes() == b"carried"
    with pytest.raises(AttachmentNotFoundError):
        await store.get("s1", carried.attachment_id)
    assert len(files(store)) == 1


async def test_what_a_killed_server_left_half_written_is_swept(store: AttachmentStore) -> None:
    kept = await add(store, "kept.txt", b"kept")
    half = store.path("incoming", "half")
    half.write_bytes(b"half a fi")
    await store.sweep()
    assert files(store) == [store.path("s1", kept.attachment_id)]
    await add(store, "next.txt", b"x")


async def test_pictures_and_documents_come_before_the_words_and_every_file_is_in_the_workspace(
    store: AttachmentStore, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    sent = [
        await add(store, "fox.png", png(2, 2)),
        await add(store, "a.csv", b"1;2"),
        await add(store, "a.pdf", pdf(9)),
    ]
    delivered = await store.deliver("s1", workspace, "What is this?", sent)
    picture, document, listing, words = delivered.content
    assert (picture["type"], picture["source"]["media_type"]) == ("image", "image/png")
    assert (document["type"], document["source"]["data"]) == ("document", "JVBERi0xLjQK")
    assert words == {"type": "text", "text": "What is this?"}
    assert "- attachments/fox.png (image/png" in listing["text"]
    assert "- attachments/a.csv (text/plain, 3 bytes)" in listing["text"]
    assert {path.name for path in (workspace / "attachments").iterdir()} == {"fox.png", "a.csv", "a.pdf"}
    assert delivered.not_shown == ()


async def test_what_would_make_the_request_too_large_is_a_file_only_and_said_to_be(
    store: AttachmentStore, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    large = await add(store, "large.pdf", pdf(MAX_SHOWN_BYTES - 10))
    sent = [large, await add(store, "more.pdf", pdf(11)), await add(store, "small.pdf", pdf(10))]
    delivered = await store.deliver("s1", workspace, "", sent)
    assert [block["type"] for block in delivered.content] == ["document", "document", "text"]
    assert sum(len(block["source"]["data"]) for block in delivered.content[:2]) <= 24 * 1024 * 1024 + 8
    assert delivered.not_shown == (sent[1],)
    assert "more.pdf (application/pdf, 11 bytes; too large" in delivered.content[-1]["text"]
    assert (workspace / "attachments" / "more.pdf").exists()


async def test_a_file_that_is_not_on_this_disk_any_more_cannot_be_delivered(
    store: AttachmentStore, tmp_path: Path
) -> None:
    stored = await add(store, "a.txt", b"x")
    shutil.rmtree(store.path("s1", stored.attachment_id).parent)
    with pytest.raises(AttachmentNotFoundError):
        await store.deliver("s1", tmp_path, "", [stored])
