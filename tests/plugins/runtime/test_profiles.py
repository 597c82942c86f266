"""Profiles of plugins in sessions: the real Claude Code, the real gateway, the scripted model, real plugins."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.support.platform import Platform, eventually, running_platform
from tests.support.plugins_at_work import EXAMPLES, activate, call_tool, write_plugin

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.plugins.errors import ActivationError, UnknownProfileError

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

EXAMPLE_NAMES = ("dice", "notes", "house-rules", "changelog")
SKILL = "---\nname: {name}\ndescription: The skill {name}.\n---\nDo {name}.\n"


@pytest.fixture
async def platform(sqlite_url: str, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Platform]:
    """A platform whose pool keeps one process."""
    async with running_platform(sqlite_url, tmp_path / "data") as running:
        yield running


def crew(folder: Path, **profile: Any) -> Path:
    """Write a plugin with a profile, two skills and two subagents."""
    agent = {"description": "Helps.", "prompt": "Help."}
    return write_plugin(
        folder / "crew",
        {
            "skills/sailing/SKILL.md": SKILL.format(name="sailing"),
            "skills/fishing/SKILL.md": SKILL.format(name="fishing"),
            "captain.md": "You are the captain.\n" + "Stay on course. Ahoi! – " * 6000,
        },
        type="skill",
        capabilities={"skills": ["skills"]},
        agents={"cook": agent, "mate": agent},
        profiles={"captain": {"display_name": "The captain", "prompt_file": "captain.md", **profile}},
    )


def asked(platform: Platform) -> dict[str, Any]:
    """Return what the model was asked last."""
    return next(request.body for request in reversed(platform.model.requests) if "tools" in request.body)


def warm_starts(platform: Platform) -> float:
    """Return how many sessions have got a process that was ready."""
    name = 'csp_session_init_duration_seconds_count{start="warm"} '
    told = platform.services.metrics.render().decode()
    return float(told.partition(name)[2].partition("\n")[0] or 0)


async def test_a_profile_is_the_system_prompt_of_its_sessions_and_of_no_others(
    platform: Platform, tmp_path: Path
) -> None:
    await activate(platform, crew(tmp_path, model="claude-haiku-4-5", permission_mode="plan"))
    async with await platform.chat(profile="crew:captain") as chat, await platform.chat() as other:
        session = chat.conversation.session
        assert (session.profile, session.model, session.permission_mode) == ("crew:captain", "claude-haiku-4-5", "plan")
        assert (await chat.ask("hello"))[1].subtype == "success"
        # Longer than any argument of a program may be.
        assert "You are the captain." in str(asked(platform)["system"])
        assert len(str(asked(platform)["system"])) > 128 * 1024
        await other.ask("hello")
        assert "captain" not in str(asked(platform)["system"])
    async with await platform.chat(profile="crew:captain", model="claude-opus-4-5", permission_mode="default") as own:
        # What a person chooses comes before what the profile says.
        assert own.conversation.session.model == "claude-opus-4-5"
        assert own.conversation.session.permission_mode == "default"


async def test_a_profile_narrows_plugins_skills_and_subagents(platform: Platform, tmp_path: Path) -> None:
    profile = {"plugins": ["dice", "changelog"], "skills": ["fishing"], "agents": ["mate"]}
    await activate(platform, crew(tmp_path, **profile), *(EXAMPLES / name for name in EXAMPLE_NAMES))
    async with await platform.chat(profile="crew:captain") as chat:
        assert not (await call_tool(chat, "Skill", skill="crew:fishing")).is_error
        assert "Do fishing." in str(asked(platform))
        assert (await call_tool(chat, "Skill", skill="crew:sailing")).is_error
        process = chat.conversation.process
        assert process is not None
        # The one with a security hook guards every session.
        assert process.plugins.names == {"crew", "dice", "house-rules", "changelog"}
        told = json.dumps(asked(platform))
        assert "crew:mate" in told
        assert "crew:cook" not in told
        assert "changelog:historian" not in told
        assert "house-rules:reviewer" not in told
        assert "The skill fishing." in told
        assert "The skill sailing." not in told
    async with await platform.chat(profile="crew:captain", plugins=["notes", "dice"]) as chosen:
        # Chosen as well, they have to be in both.
        assert platform.services.manager.plugins.of(chosen.conversation.session).names == {
            "crew",
            "dice",
            "house-rules",
        }


async def test_a_session_whose_profile_is_gone_goes_on_without_it_and_says_so(
    platform: Platform, tmp_path: Path
) -> None:
    await activate(platform, crew(tmp_path))
    async with await platform.chat(profile="crew:captain") as chat:
        await platform.services.plugins.deactivate("crew", actor="u1")
        assert (await chat.ask("hello"))[1].subtype == "success"
        assert "captain" not in str(asked(platform)["system"])
        (notice,) = [
            item.event
            for item in chat.seen
            if isinstance(item.event, events.Notice) and item.event.code == "profile_missing"
        ]
        assert "crew:captain" in notice.message
        assert platform.services.manager.plugins.profile_of(chat.conversation.session) is None
        fork = await platform.services.manager.fork(chat.session_id, owner_id=platform.user.id)
        assert fork.profile == "crew:captain"


async def test_processes_of_a_profile_are_kept_warm_for_it_alone(platform: Platform, tmp_path: Path) -> None:
    await activate(platform, crew(tmp_path))

    async def both_are_warm() -> bool:
        # One for whoever names no profile, and one for the profile that was used last.
        return platform.services.manager.pool.size == 2

    async with await platform.chat(profile="crew:captain") as first:
        await first.ask("hello")
        await eventually(both_are_warm)
        before = warm_starts(platform)
        async with await platform.chat(profile="crew:captain") as second:
            await second.ask("hello")
            assert "You are the captain." in str(asked(platform)["system"])
            assert warm_starts(platform) == before + 1


@pytest.mark.parametrize("name", ["captain", "crew:", "crew:cook", "nobody:captain", "crew:captain:"])
async def test_an_unknown_profile_is_refused_by_name(platform: Platform, tmp_path: Path, name: str) -> None:
    await activate(platform, crew(tmp_path))
    with pytest.raises(UnknownProfileError, match=name):
        await platform.services.manager.create(owner_id=platform.user.id, profile=name)


async def test_a_profile_whose_prompt_is_no_text_is_refused_at_activation(platform: Platform, tmp_path: Path) -> None:
    root = crew(tmp_path)
    (root / "captain.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ActivationError, match="utf-8"):
        await activate(platform, root)
