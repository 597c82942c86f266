"""What people see when the model fails, and what they pay: the real CLI, the real gateway, a scripted model that fails.

Each fault is the scripted model's; every turn has to end by itself, in words, within the limits that are set here.
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.support.platform import Chat, Platform, eventually, lent, running_platform, running_platform_in

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.ledger import BUDGET_HOURS
from claude_sdk_pattern.sessions.model_trouble import BUDGETS_SPENT
from claude_sdk_pattern.storage.tables import UsageRow

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

LIMITS: dict[str, Any] = {
    "model_first_byte_timeout_seconds": 2,
    "model_idle_timeout_seconds": 2,
    "model_max_retries": 1,
    "model_max_retry_wait_seconds": 5,
    "breaker_failures": 1000,
}

# An answer whose first block is complete when its second breaks off: Claude Code then asks the model to go on.
BROKEN_IN_ITS_SECOND_BLOCK = """
about: An answer that always breaks off in its second block.
scenarios:
  - name: think-and-break
    about: Thinks, and breaks off while speaking.
    when: {says: [think and break], mentions: [cut off mid-stream]}
    steps:
      - think: One thought that is complete.
        say: These words are cut off before they end, each time.
        pace: {tokens_per_second: 100}
        fault: {kind: cut_mid_stream, after_chunks: 8}
"""


@pytest.fixture(scope="module")
async def impatient(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncGenerator[Platform]:
    """A platform with short limits."""
    folder = tmp_path_factory.mktemp("impatient")
    scenarios = folder / "broken.yaml"
    scenarios.write_text(BROKEN_IN_ITS_SECOND_BLOCK)
    async with running_platform_in(folder, sqlite_template, scenarios=scenarios, **LIMITS) as running:
        yield running


@pytest.fixture
async def chat(impatient: Platform) -> AsyncGenerator[Chat]:
    """A session on a platform with short limits."""
    async with lent(impatient) as platform:
        await platform.warm()
        async with await platform.chat() as opened:
            yield opened


def asked(chat: Chat, text: str) -> int:
    """Return how many requests reached the model for a message."""
    return sum(text.encode() in request.raw_body for request in chat.platform.model.requests)


def error_of(chat: Chat, turn_id: str) -> events.Error:
    """Return a turn's one error."""
    [found] = [item.event for item in chat.seen if item.turn_id == turn_id and item.type == "error"]
    assert isinstance(found, events.Error)
    return found


def statuses(chat: Chat, turn_id: str) -> list[str]:
    told = (item.event for item in chat.seen if item.turn_id == turn_id and item.type == "status")
    return [event.status for event in told if isinstance(event, events.Status)]


def blocks(chat: Chat, turn_id: str) -> list[events.Text]:
    told = (item.event for item in chat.seen if item.turn_id == turn_id and item.type == "text")
    return [event for event in told if isinstance(event, events.Text)]


async def fails(chat: Chat, text: str) -> tuple[events.Error, str]:
    """Send a message whose turn has to fail; return what was said about it, and the turn."""
    accepted = await chat.say(text)
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert (ended.subtype, ended.is_error) == ("error", True)
    error = error_of(chat, accepted.turn_id)
    assert ended.error == error.message
    return error, accepted.turn_id


async def is_well_again(chat: Chat) -> None:
    """Have the session answer the next message."""
    assert (await chat.ask("say exactly: well again"))[0] == "well again"


@pytest.mark.parametrize(
    ("text", "code"),
    [("bad key", "api_not_authorized"), ("forbidden", "api_not_authorized"), ("no credit", "api_no_credit")],
)
async def test_a_refused_key_ends_the_turn_at_once(chat: Chat, text: str, code: str) -> None:
    error, turn_id = await fails(chat, text)
    assert (error.code, error.recoverable) == (code, False)
    assert asked(chat, text) == 1
    assert "retrying" not in statuses(chat, turn_id)
    await is_well_again(chat)


async def test_a_short_rate_limit_is_waited_for_and_the_wait_is_shown(chat: Chat) -> None:
    accepted = await chat.say("rate limit")
    retrying = await chat.until(lambda event: isinstance(event, events.Status) and event.status == "retrying")
    assert isinstance(retrying, events.Status)
    assert (retrying.attempt, retrying.max_attempts) == (1, 1)
    assert retrying.delay_ms is not None
    assert retrying.delay_ms >= 1000
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "success"
    assert chat.answer(accepted.turn_id) == "The limit is over, here I am."


async def test_a_long_rate_limit_ends_the_turn_and_says_when_to_try_again(chat: Chat) -> None:
    text = "fail with status 429 99 times, retry after 3600 seconds"
    error, turn_id = await fails(chat, text)
    assert (error.code, error.recoverable, error.retry_after_ms) == ("rate_limited", True, 3_600_000)
    assert asked(chat, text) == 1
    assert "retrying" not in statuses(chat, turn_id)
    await is_well_again(chat)


@pytest.mark.parametrize("text", ["server error", "overloaded"])
async def test_a_failing_model_is_asked_again_so_many_times(chat: Chat, text: str) -> None:
    error, turn_id = await fails(chat, text)
    assert (error.code, error.recoverable) == ("api_unavailable", True)
    assert asked(chat, text) == 2
    assert statuses(chat, turn_id).count("retrying") == 1
    await is_well_again(chat)


async def test_a_model_that_says_nothing_is_a_time_out_after_one_more_try(chat: Chat) -> None:
    error, turn_id = await fails(chat, "hang")
    assert (error.code, error.recoverable) == ("api_timeout", True)
    assert asked(chat, "hang") == 2
    assert "retrying" in statuses(chat, turn_id)
    await is_well_again(chat)


@pytest.mark.parametrize(
    ("text", "code", "requests"),
    [
        ("hang after 3 tokens", "api_timeout", 2),
        ("only pings after 3 tokens", "api_timeout", 1),
        ("cut the stream 99 times", "api_unavailable", 2),
        ("send garbage 99 times", "api_unavailable", 2),
        ("fail in the middle 99 times", "api_unavailable", 2),
    ],
)
async def test_an_answer_that_breaks_off_ends_in_words_and_what_was_shown_stays(
    chat: Chat, text: str, code: str, requests: int
) -> None:
    error, turn_id = await fails(chat, text)
    assert (error.code, error.recoverable) == (code, True)
    assert asked(chat, text) == requests
    last = blocks(chat, turn_id)[-1]
    shown = [
        item.event.delta
        for item in chat.seen
        if item.turn_id == turn_id
        and isinstance(item.event, events.StreamEvent)
        and item.event.block_id == last.block_id
    ]
    assert last.content == "".join(shown) != ""
    assert last.partial is True
    await is_well_again(chat)


@pytest.mark.parametrize("text", ["cut the stream 1 times", "send garbage 1 times", "fail in the middle 1 times"])
async def test_an_answer_that_breaks_off_once_is_given_again_as_a_whole(chat: Chat, text: str) -> None:
    accepted = await chat.say(text)
    ended = await chat.until_type(events.Result, turn_id=accepted.turn_id)
    assert ended.subtype == "success"
    assert "retrying" in statuses(chat, accepted.turn_id)
    assert "whole" in chat.answer(accepted.turn_id)
    assert not any(block.partial for block in blocks(chat, accepted.turn_id))


async def test_an_answer_that_breaks_off_behind_a_complete_block_is_not_begun_over_and_over(chat: Chat) -> None:
    error, turn_id = await fails(chat, "think and break")
    assert error.code == "api_unavailable"
    assert asked(chat, "think and break") == 2
    assert blocks(chat, turn_id)[-1].partial
    await is_well_again(chat)


async def test_an_answer_that_is_slow_but_alive_is_waited_for(chat: Chat) -> None:
    text, ended = await chat.ask("stream 60 tokens at 15 tokens per second")
    assert ended.duration_ms > 1000 * max(
        LIMITS["model_idle_timeout_seconds"], LIMITS["model_first_byte_timeout_seconds"]
    )
    assert ended.subtype == "success"
    assert text != ""


async def test_a_conversation_that_is_too_long_is_told_as_such(chat: Chat) -> None:
    error, _ = await fails(chat, "prompt too long")
    assert (error.code, error.recoverable) == ("conversation_too_long", True)


# --- the circuit breaker ---------------------------------------------------------------------------------------


async def test_while_the_model_is_down_messages_are_answered_at_once_and_kept(sqlite_url: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"breaker_failures": 2, "breaker_open_seconds": 3, "model_max_retries": 0}
    async with (
        running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, **settings) as platform,
        await platform.chat() as chat,
    ):
        for _ in range(2):
            error, _ = await fails(chat, "overloaded")
            assert error.code == "api_unavailable"
        error, turn_id = await fails(chat, "say exactly: too early")
        assert (error.code, error.recoverable) == ("api_unavailable", True)
        assert error.retry_after_ms is not None
        assert 0 < error.retry_after_ms <= 3000
        assert asked(chat, "too early") == 0
        assert chat.types(turn_id)[0] == "user_message"
        async with await platform.chat() as other:
            error, _ = await fails(other, "say exactly: too early as well")
            assert error.code == "api_unavailable"
            assert other.conversation.status == "hibernated", "no process was started for it"

        async def answers() -> bool:
            return (await chat.ask("say exactly: back"))[0] == "back"

        await eventually(answers)
        assert (await chat.ask("say exactly: and closed"))[0] == "and closed"


async def test_a_breaker_that_opens_in_a_turn_ends_it_and_says_when_to_try_again(
    sqlite_url: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"breaker_failures": 2, "breaker_open_seconds": 60, "model_max_retries": 3}
    async with (
        running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, **settings) as platform,
        await platform.chat() as chat,
    ):
        error, _ = await fails(chat, "overloaded")
        assert error.code == "api_unavailable"
        assert error.retry_after_ms is not None
        assert 30_000 < error.retry_after_ms <= 60_000
        assert asked(chat, "overloaded") == 2


async def test_a_conversation_that_is_refused_twice_in_a_row_is_told_as_damaged(platform: Platform) -> None:
    async with await platform.chat() as chat:
        codes: list[str] = []
        for text in ("fail with 400", "fail with 400", "say exactly: fine", "fail with 400"):
            accepted = await chat.say(text)
            await chat.until_type(events.Result, turn_id=accepted.turn_id)
            codes += [
                item.event.code
                for item in chat.seen
                if item.turn_id == accepted.turn_id and isinstance(item.event, events.Error)
            ]
        assert codes == ["api_request_refused", "memory_damaged", "api_request_refused"]


# --- money -----------------------------------------------------------------------------------------------------


async def stored_cost(chat: Chat) -> float:
    return (await chat.platform.services.manager.get(chat.session_id)).cost_usd


async def test_every_answer_is_paid_whoever_asked_for_it(platform: Platform) -> None:
    """Retries and subagents included, the turns' costs are the session's, and both are the gateway's."""
    async with await platform.chat() as chat:
        costs: list[float] = []
        for text in ("start a subagent", "cut the stream 1 times", "report 150000 input tokens and 77 output tokens"):
            _, ended = await chat.ask(text)
            assert ended.subtype == "success"
            costs.append(ended.cost_usd)
        assert costs[2] == pytest.approx((150_000 * 3 + 77 * 15) / 1_000_000)

        async def is_all_stored() -> bool:
            return await stored_cost(chat) == pytest.approx(sum(costs))

        await eventually(is_all_stored)
        gateway = platform.services.manager._services.model  # pyright: ignore[reportPrivateUsage]
        assert gateway.meter(chat.session_id, spent_usd=0.0, user_id="alice").spent_usd == pytest.approx(sum(costs))

        # A row for each answer of the API: what it was asked, and what it says it was paid.
        async with platform.services.database.reading() as session:
            rows = (await session.scalars(select(UsageRow).where(UsageRow.session_id == chat.session_id))).all()
        assert sum(row.cost_usd for row in rows) == pytest.approx(sum(costs))
        answered = [item for item in platform.model.requests if item.path == "/v1/messages"]
        assert len(rows) == len(answered)
        assert {row.turn_id for row in rows} == {item.turn_id for item in await chat.tape() if item.type == "result"}


async def test_a_turn_that_is_stopped_is_paid_as_well(platform: Platform) -> None:
    async with await platform.chat() as chat:
        accepted = await chat.say("hang after 3 tokens")
        await chat.until_type(events.StreamEvent)
        chat.conversation.interrupt()
        await chat.until_type(events.Result, turn_id=accepted.turn_id)

        async def is_paid() -> bool:
            return await stored_cost(chat) > 0

        await eventually(is_paid)


async def test_a_spent_budget_stops_a_running_turn_and_every_message_after_it(sqlite_url: str, tmp_path: Path) -> None:
    """Across hibernation and a restart, too; another session is not concerned."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_budget_usd=0.001) as platform:
        async with await platform.chat() as chat:
            _, ended = await chat.ask("run bash: echo hi")
            assert (ended.subtype, ended.is_error) == ("error_max_budget", True)
            assert ended.error is not None
            assert "budget" in ended.error
            assert ended.cost_usd >= 0.001
            assert [item.type for item in chat.seen].count("tool_result") == 1, "the tool still ran"
            assert asked(chat, "run bash: echo hi") == 1, "and the request with its result was refused"
            assert (await chat.ask("say exactly: once more"))[1].subtype == "error_max_budget"
            await chat.fall_asleep()
            assert (await chat.ask("say exactly: after sleep"))[1].subtype == "error_max_budget"
            assert asked(chat, "once more") == asked(chat, "after sleep") == 0
        async with await platform.chat() as other:
            assert (await other.ask("say exactly: fine"))[0] == "fine"
        session_id = chat.session_id
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_budget_usd=0.001) as platform:
        async with await platform.watch(session_id) as chat:
            assert (await chat.ask("say exactly: after a restart"))[1].subtype == "error_max_budget"
            assert asked(chat, "after a restart") == 0


async def test_a_persons_budget_holds_in_all_their_sessions_and_after_a_restart(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_user_budget_usd=0.001
    ) as platform:
        async with await platform.chat() as chat:
            _, ended = await chat.ask("run bash: echo hi")
            assert (ended.subtype, ended.error) == ("error_max_budget", BUDGETS_SPENT["user"])
        async with await platform.chat() as another:
            assert (await another.ask("say exactly: pelican"))[1].error == BUDGETS_SPENT["user"]
            assert asked(another, "pelican") == 0
    async with running_platform(
        sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_user_budget_usd=0.001
    ) as platform:
        async with await platform.chat() as chat:
            assert (await chat.ask("say exactly: after a restart"))[1].subtype == "error_max_budget"
            ledger = platform.services.manager.ledger
            # A day later it counts no more.
            async with platform.services.database.sessions.begin() as session:
                await session.execute(update(UsageRow).values(at_ms=UsageRow.at_ms - BUDGET_HOURS * 3_600_000))
            await ledger.refresh(ledger._meters.users)  # pyright: ignore[reportPrivateUsage]
            assert (await chat.ask("say exactly: a day later"))[0] == "a day later"
