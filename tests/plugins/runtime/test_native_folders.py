"""The folders that Claude Code is given: one for each set, with all of its plugins under their names."""

from pathlib import Path

import pytest
from tests.support.platform import running_platform
from tests.support.plugins import SKILL, write_files
from tests.support.plugins_at_work import active, tool_plugin

from claude_sdk_pattern.isolation.launcher import READ_ONLY_VARIABLE
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet
from claude_sdk_pattern.plugins.runtime import native_folders
from claude_sdk_pattern.plugins.runtime.native_folders import NativeFolders
from claude_sdk_pattern.sessions.options import OptionsBuilder


def skill(root: Path, name: str) -> ActivePlugin:
    return active(write_files(root / name, {"SKILL.md": SKILL}))


def test_a_set_lies_in_one_folder_and_nothing_else_does(tmp_path: Path) -> None:
    native = write_files(tmp_path / "native", {".claude-plugin/plugin.json": '{"name": "native"}', "agents/a.md": "x"})
    tools = tool_plugin(tmp_path / "tools", "")
    plugins = PluginSet.of([skill(tmp_path, "one"), skill(tmp_path, "two"), active(native), active(tools)])
    folders = NativeFolders(tmp_path / "made")
    place = folders.use(plugins)
    assert place == folders.place(plugins)
    assert sorted(path.name for path in place.iterdir()) == ["native", "one", "two"]
    assert (place / "one" / "skills" / "one" / "SKILL.md").read_text() == SKILL
    assert (place / "native" / "agents" / "a.md").read_text() == "x"
    # Its own folder: what a session has turned off is not in there.
    less = folders.use(plugins.without(["two"]))
    assert sorted(path.name for path in less.iterdir()) == ["native", "one"]


def test_sets_that_nobody_uses_go_away_and_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_folders, "_KEPT_UNUSED", 1)
    write_files(tmp_path / "made" / "sets" / "of-an-earlier-server", {"x": "x"})
    folders = NativeFolders(tmp_path / "made")
    sets = [PluginSet.of([skill(tmp_path, f"skill-{number}")]) for number in range(5)]
    used = folders.use(sets[0])
    for other in sets[1:]:
        folders.prepare(other)
    left = set((tmp_path / "made" / "sets").iterdir())
    assert left == {used, folders.place(sets[3]), folders.place(sets[4])}
    # Made again when it is wanted again.
    assert folders.use(sets[1]).is_dir()
    folders.leave(used)
    folders.prepare(sets[2])
    assert not used.exists()


@pytest.mark.cli
@pytest.mark.anyio
async def test_an_agent_is_given_one_mount_however_many_plugins(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts: list[str] = []
    build = OptionsBuilder.build

    def told(*arguments: object, **named: object) -> object:
        options = build(*arguments, **named)  # pyright: ignore[reportArgumentType, reportCallIssue]
        mounts.append(options.env[READ_ONLY_VARIABLE])
        return options

    monkeypatch.setattr(OptionsBuilder, "build", told)
    plugins = tmp_path / "plugins"
    # More than bubblewrap has arguments for, one mount each.
    names = [f"skill-{number:03}" for number in range(260)]
    for name in names:
        write_files(plugins / name, {"SKILL.md": SKILL})
    async with running_platform(sqlite_url, tmp_path / "data", prewarm_pool_size=0, plugins_dir=plugins) as platform:
        for name in names:
            await platform.services.plugins.activate(name, actor="u1")
        async with await platform.chat() as chat:
            assert (await chat.ask("say exactly: still here"))[0] == "still here"
    (given,) = mounts
    assert given.count("plugin-folders") == 1
