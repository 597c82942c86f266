"""One person with many sessions does not keep others waiting. Real: the CLI, the gateway, SQLite."""

from pathlib import Path

import pytest
from tests.support.platform import PASSWORD, running_platform

from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.events import types as events

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

NOISY_SESSIONS = 5


async def test_whoever_asks_little_is_answered_before_the_rest_of_those_who_ask_much(
    sqlite_url: str, tmp_path: Path
) -> None:
    """R29: two places, five sessions of one person ask for them; the next place goes to the other person."""
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, max_sessions=2) as platform:
        users = platform.services.accounts.users
        await users.ensure("bob", PASSWORD, Role.USER)
        bob = (await users.find("bob")).user
        noisy = [await platform.chat() for _ in range(NOISY_SESSIONS)]
        quiet = await platform.watch((await platform.services.manager.create(owner_id=bob.id)).id)
        for chat in (*noisy, quiet):
            await chat.__aenter__()
        turns = [await chat.say("stream 20 tokens at 20 tokens per second") for chat in noisy]
        await noisy[0].until_type(events.StreamEvent)
        waiting = await quiet.say("say exactly: hello")
        answered = await quiet.until_type(events.Result, turn_id=waiting.turn_id)
        assert answered.subtype == "success"
        tapes = [await chat.tape() for chat in noisy]
        still_waiting = [tape for tape in tapes if not any(isinstance(item.event, events.Result) for item in tape)]
        assert len(still_waiting) >= NOISY_SESSIONS - 3, "of those before it, only what was at work came first"
        for chat, turn in zip(noisy, turns, strict=True):
            ended = await chat.until_type(events.Result, turn_id=turn.turn_id)
            assert ended.subtype == "success", "and nobody is forgotten"
        for chat in (*noisy, quiet):
            await chat.__aexit__(None, None, None)
