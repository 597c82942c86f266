"""Files attached to messages, end to end below the API: real CLI, real gateway, scripted model, SQLite."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.pictures import pdf, png
from tests.support.platform import Chat, Platform, running_platform

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.attachments import MAX_SHOWN_BYTES
from claude_sdk_pattern.sessions.errors import AttachmentNotFoundError, EmptyMessageError, TooManyAttachmentsError

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


def shown(chat: Chat) -> list[dict[str, Any]]:
    """Return the pictures and documents in the last request that reached the model."""
    messages = chat.platform.model.requests[-1].body["messages"]
    blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
    return [block["source"] for block in blocks if block["type"] in ("image", "document")]


async def test_the_model_sees_pictures_and_documents_and_the_agent_can_read_every_file(chat: Chat) -> None:
    notes = "the word is heron"
    sent = [
        await chat.attach("fox.png", png(20, 20)),
        await chat.attach("report.pdf", pdf(1000)),
        await chat.attach("notes.txt", notes.encode()),
    ]
    ids = [attachment.attachment_id for attachment in sent]
    text, ended = await chat.ask("what is in the picture", attachments=ids)
    assert ended.subtype == "success"
    assert "- document, application/pdf, 1000 bytes" in text
    # The CLI makes pictures anew, so only their kind is certain.
    assert re.search(r"- image, image/\w+, \d+ bytes", text)
    assert len(shown(chat)) == 2
    message = chat.seen[0].event
    assert isinstance(message, events.UserMessage)
    assert message.attachments == tuple(sent)
    assert (chat.workspace / "attachments" / "report.pdf").read_bytes() == pdf(1000)
    text, _ = await chat.ask("read file attachments/notes.txt")
    assert notes in text


async def test_a_picture_larger_than_the_api_takes_reaches_the_model_made_smaller(chat: Chat) -> None:
    large = await chat.attach("large.png", png(1800, 1500, noise=True))
    assert large.size_bytes > 8_000_000
    text, ended = await chat.ask("what is in the picture", attachments=[large.attachment_id])
    assert (ended.subtype, text.count("- image")) == ("success", 1)
    assert len(shown(chat)[0]["data"]) <= 5 * 1024 * 1024


async def test_files_without_a_word_are_a_message_and_name_the_session(chat: Chat) -> None:
    report = await chat.attach("report.pdf", pdf(1000))
    text, _ = await chat.ask("", attachments=[report.attachment_id])
    assert "- document, application/pdf, 1000 bytes" in text
    assert (await chat.platform.services.manager.get(chat.session_id)).title == "report.pdf"
    with pytest.raises(EmptyMessageError):
        await chat.say("  ")


async def test_what_is_too_large_to_be_shown_is_a_file_and_everybody_is_told(chat: Chat) -> None:
    huge = await chat.attach("huge.pdf", pdf(MAX_SHOWN_BYTES + 1))
    _, ended = await chat.ask("what is in the file", attachments=[huge.attachment_id])
    assert ended.subtype == "success"
    assert shown(chat) == []
    (notice,) = [item.event for item in chat.seen if isinstance(item.event, events.Notice)]
    assert notice.code == "attachment_not_shown"
    assert "huge.pdf" in notice.message
    assert "attachments/huge.pdf" in str(chat.platform.model.requests[-1].body["messages"])
    assert (chat.workspace / "attachments" / "huge.pdf").stat().st_size == huge.size_bytes


async def test_as_much_as_may_be_shown_in_one_message_fits_into_a_request(chat: Chat) -> None:
    half = [await chat.attach(f"{number}.pdf", pdf(MAX_SHOWN_BYTES // 2)) for number in range(2)]
    text, ended = await chat.ask("what is in the file", attachments=[each.attachment_id for each in half])
    assert (ended.subtype, text.count("- document")) == ("success", 2)
    assert len(chat.platform.model.requests[-1].raw_body) < 32_000_000


async def test_a_message_with_unknown_foreign_or_too_many_files_is_refused_and_leaves_nothing(
    platform: Platform, chat: Chat
) -> None:
    async with await platform.chat() as other:
        theirs = await other.attach("theirs.txt", b"x")
    mine = await chat.attach("mine.txt", b"x")
    for ids in (["unknown"], [mine.attachment_id, theirs.attachment_id]):
        with pytest.raises(AttachmentNotFoundError):
            await chat.say("look", "the-id", attachments=ids)
    with pytest.raises(TooManyAttachmentsError):
        await chat.say("look", "the-id", attachments=[mine.attachment_id] * 11)
    assert await chat.tape() == []
    # Nor is the client's id used up.
    await chat.say("look", "the-id", attachments=[mine.attachment_id])


async def test_a_fork_keeps_its_files_when_its_source_is_deleted(platform: Platform, chat: Chat) -> None:
    notes = await chat.attach("notes.txt", b"the word is heron")
    await chat.ask("what do you see", attachments=[notes.attachment_id])
    manager = platform.services.manager
    fork = await manager.fork(chat.session_id, owner_id=platform.user.id)
    await manager.delete(chat.session_id)
    assert not (platform.data_dir / "attachments" / chat.session_id).exists()
    async with await platform.watch(fork.id) as forked:
        text, _ = await forked.ask("run bash: cat attachments/notes.txt")
        assert "heron" in text
        assert await manager.attachments.get(fork.id, notes.attachment_id) == notes
        assert manager.attachments.path(fork.id, notes.attachment_id).read_bytes() == b"the word is heron"


async def test_attached_pictures_are_remembered_by_a_process_that_resumes(chat: Chat) -> None:
    report = await chat.attach("report.pdf", pdf(1000))
    await chat.ask("what is in the file", attachments=[report.attachment_id])
    await chat.until_status("idle")
    await chat.fall_asleep()
    await chat.ask("say exactly: awake")
    assert [source["media_type"] for source in shown(chat)] == ["application/pdf"]


async def test_a_file_that_got_lost_ends_the_turn_and_not_the_session(chat: Chat) -> None:
    notes = await chat.attach("notes.txt", b"x")
    stored = chat.platform.services.manager.attachments.path(chat.session_id, notes.attachment_id)
    shutil.rmtree(stored.parent)
    _, ended = await chat.ask("what do you see", attachments=[notes.attachment_id])
    assert (ended.subtype, ended.is_error) == ("error", True)
    (error,) = [item.event for item in chat.seen if isinstance(item.event, events.Error)]
    assert (error.code, error.recoverable) == ("attachment_not_found", False)
    text, ended = await chat.ask("say exactly: still here")
    assert (text, ended.subtype) == ("still here", "success")


async def test_what_was_half_uploaded_when_the_server_died_is_gone_after_its_start(
    sqlite_url: str, tmp_path: Path
) -> None:
    half = tmp_path / "data" / "attachments" / "incoming" / "half"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0):
        assert not half.exists()
