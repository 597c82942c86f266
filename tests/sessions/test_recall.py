"""What the agent remembers against what the tape says: with the real CLI, and as a rule on tapes of their own."""

from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import delete, select
from tests.support.platform import Chat, Platform
from tests.support.rows import store_sessions
from tests.support.tapes import AGENT, Tape, open_tape

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.events.types import Event
from claude_sdk_pattern.sessions.recall import MEMORY_CLEARED, MEMORY_LOST, find_last_checkpoint
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import TranscriptEntryRow

pytestmark = pytest.mark.anyio


@pytest.fixture
async def tape(database: Database, anyio_backend: str) -> AsyncGenerator[Tape]:
    """An open tape of the session ``s1``."""
    await store_sessions(database, "s1")
    async with open_tape(database) as opened:
        yield opened


def answer(checkpoint: str | None) -> events.Result:
    return events.Result(subtype="success", is_error=False, checkpoint=checkpoint)


type Case = tuple[list[tuple[str | None, Event]], str | None]

NOTHING: Case = ([], None)
A_FAILED_TURN = ([("t1", answer(None))], None)
ONE = ([("t1", answer("c1"))], "c1")
BROKEN_OFF_SINCE = ([("t1", answer("c1")), ("t2", answer(None))], "c1")
LOST_BEFORE = ([("t1", answer("c1")), ("t2", MEMORY_LOST)], None)
ANSWERED_SINCE = ([("t1", MEMORY_LOST), ("t1", answer("c2"))], "c2")
CLEARED = ([("t1", answer("c1")), ("t2", MEMORY_CLEARED)], None)
OTHER_NEWS = ([("t1", answer("c1")), ("t2", events.Notice(code="other", message="x"))], "c1")
TAKEN_BACK = (
    [("t1", answer("c1")), ("t2", answer("c2")), (None, events.Rewound(before_seq=2))],
    "c1",
)
ALL_TAKEN_BACK = ([("t1", answer("c1")), (None, events.Rewound(before_seq=1))], None)
TAKEN_BACK_AND_ANSWERED = (
    [("t1", answer("c1")), (None, events.Rewound(before_seq=1)), ("t2", answer("c2"))],
    "c2",
)


@pytest.mark.parametrize(
    ("events_of_the_tape", "expected"),
    [
        NOTHING,
        A_FAILED_TURN,
        ONE,
        BROKEN_OFF_SINCE,
        LOST_BEFORE,
        ANSWERED_SINCE,
        CLEARED,
        OTHER_NEWS,
        TAKEN_BACK,
        ALL_TAKEN_BACK,
        TAKEN_BACK_AND_ANSWERED,
    ],
)
async def test_the_last_answer_is_the_last_that_stands_and_was_not_forgotten(
    tape: Tape, events_of_the_tape: list[tuple[str | None, Event]], expected: str | None
) -> None:
    for turn_id, event in events_of_the_tape:
        await tape.log.append("s1", event, turn_id=turn_id, actor=AGENT)
    assert await find_last_checkpoint(tape.log, "s1") == expected


async def test_an_answer_far_back_is_found(tape: Tape) -> None:
    await tape.log.append("s1", answer("c1"), turn_id="t1", actor=AGENT)
    for _ in range(50):
        await tape.log.append("s1", answer(None), turn_id="t2", actor=AGENT)
    assert await find_last_checkpoint(tape.log, "s1") == "c1"


# --- with the CLI -------------------------------------------------------------------------------------------------


async def forget(platform: Platform, chat: Chat, *, since: str | None = None) -> None:
    """Take the agent's transcript away, or what it holds from an entry on."""
    row = TranscriptEntryRow
    doomed = row.agent_session_id == chat.conversation.session.agent_session_id
    async with platform.services.database.write_engine.begin() as connection:
        if since is not None:
            doomed &= row.id >= await connection.scalar(select(row.id).where(row.entry_uuid == since))
        assert (await connection.execute(delete(row).where(doomed))).rowcount


def notices(chat: Chat) -> list[str]:
    return [item.event.code for item in chat.seen if isinstance(item.event, events.Notice)]


@pytest.mark.cli
@pytest.mark.parametrize("is_all", [True, False], ids=["all of it", "the end of it"])
async def test_an_agent_that_lost_its_transcript_goes_on_and_people_are_told_once(
    platform: Platform, chat: Chat, is_all: bool
) -> None:
    _, ended = await chat.ask("remember that the word is heron")
    shown = [item.frame for item in chat.seen if item.type != "stream_event"]
    await chat.fall_asleep()
    await forget(platform, chat, since=None if is_all else ended.checkpoint)
    text, ended = await chat.ask("what did I tell you earlier?")
    assert ended.subtype == "success"
    assert "heron" not in text
    assert notices(chat) == ["memory_lost"]
    stored = {item.frame for item in await chat.tape()}
    assert stored.issuperset(shown)
    await chat.ask("remember that the word is egret")
    await chat.fall_asleep()
    assert "egret" in (await chat.ask("what did I tell you earlier?"))[0]
    assert notices(chat) == ["memory_lost"]


@pytest.mark.cli
async def test_nobody_is_told_of_a_loss_where_nothing_was_lost(platform: Platform, chat: Chat) -> None:
    """A warm process, whose first words were forgotten; stopped, failed and crashed turns; a fork, and its fork."""
    accepted = await chat.say("hang")
    await platform.model.wait_for_request(lambda request: b"hang" in request.raw_body)
    chat.conversation.interrupt()
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    await chat.fall_asleep()
    await chat.ask("remember that the word is heron")
    for text in ("fail with status 400 1 times", "run bash: ls", "/compact"):
        await chat.ask(text)
        await chat.fall_asleep()
    accepted = await chat.say("stream 2000 tokens at 50 tokens per second")
    await chat.until_type(events.StreamEvent)
    process = chat.conversation.process
    assert process is not None
    process.kill()
    await chat.until_status("recovered")
    await chat.ask("remember that the bird is grey")
    manager = platform.services.manager
    fork = await manager.fork(chat.session_id, owner_id=platform.user.id)
    fork_of_fork = await manager.fork(fork.id, owner_id=platform.user.id)
    for session_id in (fork.id, fork_of_fork.id):
        async with await platform.watch(session_id) as copy:
            assert "grey" in (await copy.ask("what did I tell you earlier?"))[0]
            await copy.fall_asleep()
            assert "grey" in (await copy.ask("what did I tell you earlier?"))[0]
            assert notices(copy) == []
    assert notices(chat) == []


@pytest.mark.cli
async def test_a_session_whose_first_turn_left_no_transcript_has_lost_nothing(platform: Platform, chat: Chat) -> None:
    accepted = await chat.say("hang")
    await platform.model.wait_for_request(lambda request: b"hang" in request.raw_body)
    chat.conversation.interrupt()
    await chat.until_type(events.Result, turn_id=accepted.turn_id)
    await chat.fall_asleep()
    await forget(platform, chat)
    assert (await chat.ask("say exactly: first answer"))[0] == "first answer"
    assert notices(chat) == []


@pytest.mark.cli
async def test_an_agent_told_to_forget_stays_without_memory_and_nothing_counts_as_lost(
    platform: Platform, chat: Chat
) -> None:
    await chat.ask("remember that the word is heron")
    await chat.ask("/clear")
    assert notices(chat) == ["memory_cleared"]
    await chat.fall_asleep()
    assert "heron" not in (await chat.ask("what did I tell you earlier?"))[0]
    await chat.ask("remember that the word is egret")
    await chat.fall_asleep()
    text, _ = await chat.ask("what did I tell you earlier?")
    assert "egret" in text
    assert notices(chat) == ["memory_cleared"]
