"""The transcript store against the SDK's own conformance suite, on real SQLite and real PostgreSQL."""

import pytest
from claude_agent_sdk.testing import run_session_store_conformance
from claude_agent_sdk.types import SessionStoreEntry
from sqlalchemy import delete

from claude_sdk_pattern.sessions.transcripts import TranscriptStore
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import TranscriptEntryRow

pytestmark = pytest.mark.anyio


async def test_the_store_passes_the_sdks_conformance_suite(database: Database) -> None:
    async def empty_store() -> TranscriptStore:
        async with database.sessions.begin() as session:
            await session.execute(delete(TranscriptEntryRow))
        return TranscriptStore(database)

    await run_session_store_conformance(empty_store)


async def test_a_transcript_is_found_from_another_folder(database: Database) -> None:
    store = TranscriptStore(database, project_key="sessions")
    entries: list[SessionStoreEntry] = [{"type": "user", "uuid": "a"}, {"type": "assistant", "uuid": "b"}]
    await store.append({"project_key": "-machine-one-workspace", "session_id": "s"}, entries)
    assert await store.load({"project_key": "-machine-two-elsewhere", "session_id": "s"}) == entries
    assert await store.exists({"project_key": "anything", "session_id": "s"})
    assert not await store.exists({"project_key": "anything", "session_id": "t"})


async def test_text_of_any_kind_comes_back_as_it_was(database: Database) -> None:
    store = TranscriptStore(database)
    key = {"project_key": "p", "session_id": "s"}
    entry: SessionStoreEntry = {"type": "user", "uuid": "x"}
    entry["text"] = 'quotes " \\ \u2028 \U0001f600 \n' + " " * 200_000  # type: ignore[typeddict-unknown-key]
    await store.append({"project_key": "p", "session_id": "s"}, [entry])
    assert await store.load({"project_key": key["project_key"], "session_id": key["session_id"]}) == [entry]
