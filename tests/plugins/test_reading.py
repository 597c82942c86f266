"""Folders of all formats, in the shapes in which they are found in the world: official repositories among them."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.plugins import SKILL, manifest, write_files, write_plugin

from claude_sdk_pattern.plugins.cli_validation import CliValidator, Findings
from claude_sdk_pattern.plugins.errors import InvalidPluginError
from claude_sdk_pattern.plugins.folders import folder_digest, folder_fingerprint
from claude_sdk_pattern.plugins.native import write_native_copy
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.reading import read_package
from claude_sdk_pattern.runtime import CLI

HOOKS = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "python3 x.py"}]}]}

COMMAND = "---\ndescription: Commit what is staged\nallowed-tools: Bash(git commit:*)\n---\nCommit.\n"
AGENT = "---\nname: reviewer\ndescription: Reviews code. Example: a: b\nmodel: sonnet\n---\nReview.\n"

CLAUDE_CODE = {
    ".claude-plugin/plugin.json": json.dumps(
        {"name": "toolkit", "version": "1.2.0", "description": "Many things", "author": {"name": "Ada"}}
    ),
    "commands/commit.md": COMMAND,
    "commands/git/push.md": COMMAND,
    "agents/reviewer.md": AGENT,
    "skills/greeting/SKILL.md": SKILL,
    "skills/greeting/scripts/run.py": "print('hello')\n",
    "hooks/hooks.json": json.dumps({"description": "Looks at calls", "hooks": HOOKS}),
    ".mcp.json": json.dumps({"mcpServers": {"files": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/s.js"]}}}),
    ".lsp.json": json.dumps({"go": {"command": "gopls", "extensionToLanguage": {".go": "go"}}}),
    "output-styles/terse.md": "---\nname: terse\ndescription: Short\n---\nBe short.\n",
    "README.md": "# Toolkit\n",
}


def read(root: Path, files: dict[str, str]) -> PluginPackage:
    """Write a folder and read it."""
    return read_package(write_files(root, files))


def problems(root: Path) -> str:
    """Return what is wrong with a folder."""
    with pytest.raises(InvalidPluginError) as caught:
        read_package(root)
    return str(caught.value)


def test_folder_of_claude_code_is_read_with_everything_in_it(tmp_path: Path) -> None:
    package = read(tmp_path / "folder", CLAUDE_CODE)
    assert (package.name, package.version, package.format) == ("toolkit", "1.2.0", "claude-code")
    brought = package.inventory
    assert brought.commands == ("commit", "git:push")
    assert (brought.agents, brought.skills, brought.hooks) == (("reviewer",), ("greeting",), ("PreToolUse",))
    assert (brought.mcp_servers, brought.other) == (("files",), ("lsp", "output-styles"))
    assert package.permissions.tools == ("mcp__plugin_toolkit_files__*",)
    assert package.permissions.events == ("PreToolUse",)


def test_folder_of_claude_code_needs_no_manifest(tmp_path: Path) -> None:
    files = {path: text for path, text in CLAUDE_CODE.items() if "plugin.json" not in path}
    package = read(tmp_path / "toolkit", files)
    assert (package.name, package.version, package.format) == ("toolkit", "0.0.0", "claude-code")
    assert package.inventory.commands == ("commit", "git:push")


def test_parts_may_be_named_by_the_manifest(tmp_path: Path) -> None:
    named = {
        "name": "named",
        "commands": {"about": {"content": "Say it."}, "help": {"source": "./docs/help.md"}},
        "agents": ["./people/ada.md"],
        "skills": ["./more", "./"],
        "hooks": [{"hooks": HOOKS}, "./other-hooks.json"],
        "mcpServers": {"inline": {"type": "http", "url": "https://x.example"}},
        "network": {"hosts": ["X.example", "not a host"]},
        "dependencies": ["base", {"name": "other", "version": "^1.0"}],
    }
    package = read(
        tmp_path / "x",
        {
            ".claude-plugin/plugin.json": json.dumps(named),
            "docs/help.md": COMMAND,
            "people/ada.md": AGENT,
            "more/one/SKILL.md": SKILL.replace("greeting", "one"),
            "SKILL.md": SKILL.replace("greeting", "root-skill"),
            "other-hooks.json": json.dumps({"hooks": {"Stop": [], "SessionStart": []}}),
        },
    )
    brought = package.inventory
    assert (brought.commands, brought.agents) == (("about", "help"), ("reviewer",))
    assert brought.skills == ("one", "root-skill")
    assert brought.hooks == ("PreToolUse", "SessionStart", "Stop")
    assert brought.mcp_servers == ("inline",)
    assert package.permissions.hosts == ("x.example",)
    assert package.dependencies == {"base": "*", "other": "^1.0"}


def test_bare_skill_and_folder_of_skills_are_plugins(tmp_path: Path) -> None:
    one = read(tmp_path / "greeting", {"SKILL.md": SKILL, "scripts/x.sh": "echo\n"})
    assert (one.name, one.format, one.inventory.skills) == ("greeting", "skills", ("greeting",))
    assert one.description == "Says hello the way it is done here."
    many = read(tmp_path / "all", {"a/SKILL.md": SKILL.replace("greeting", "a"), "b/SKILL.md": SKILL, "README.md": ""})
    assert (many.format, many.inventory.skills) == ("skills", ("a", "b"))


def test_skill_with_frontmatter_that_is_hardly_yaml_is_read_as_claude_code_does(tmp_path: Path) -> None:
    odd = "---\nname: pdf\ndescription: Use for: filling forms, merging: everything\nlicense: see [LICENSE\n---\nText\n"
    package = read(tmp_path / "pdf", {"SKILL.md": odd})
    assert package.inventory.skills == ("pdf",)
    assert package.description == "Use for: filling forms, merging: everything"
    assert package.warnings == ()


def test_skill_nobody_will_find_is_a_warning_and_no_error(tmp_path: Path) -> None:
    package = read(tmp_path / "x", {"a/SKILL.md": "no frontmatter\n", "b/SKILL.md": "---\nname: b\n---\n"})
    assert [str(warning.file) for warning in package.warnings] == ["a/SKILL.md", "b/SKILL.md"]


def test_own_manifest_goes_before_the_other_formats(tmp_path: Path) -> None:
    package = read(tmp_path / "x", CLAUDE_CODE | {"plugin.json": json.dumps(manifest()), "tools.py": ""})
    assert (package.name, package.format) == ("weather", "platform")


def test_plugin_json_of_another_standard_does_not_hide_claude_codes(tmp_path: Path) -> None:
    standard = {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "other"}
    package = read(tmp_path / "x", CLAUDE_CODE | {"plugin.json": json.dumps(standard)})
    assert (package.name, package.format) == ("toolkit", "claude-code")


def test_files_that_the_manifest_names_have_to_be_there(tmp_path: Path) -> None:
    named = manifest(
        capabilities={"tools": {"module": "weather.tools"}, "skills": ["skills"]},
        agents={"a": {"description": "d", "prompt_file": "prompts/a.md"}},
        permissions={"slots": ["side-panel"]},
        ui=[{"slot": "side-panel", "bundle": "ui/panel.js", "style": "ui/panel.css", "title": "Panel"}],
    )
    said = problems(write_files(tmp_path / "x", {"plugin.json": json.dumps(named)}))
    for text in (
        "write weather/tools.py",
        "skills holds no SKILL.md",
        "prompts/a.md is not there",
        "ui/panel.js",
        "ui/panel.css",
    ):
        assert text in said


def test_modules_may_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    named = manifest(capabilities={"tools": {"module": "weather.tools"}})
    files = {"plugin.json": json.dumps(named), "python/weather/__init__.py": "", "python/weather/tools.py": ""}
    assert read(tmp_path / "x", files).inventory.has_tools


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"notes.txt": "x"}, "put a plugin.json there"),
        ({".claude-plugin/marketplace.json": "{}"}, "it is a marketplace"),
        ({"plugin.json": '{"name": "x"}'}, 'write "manifest_version": "1"'),
        ({".claude-plugin/plugin.json": "{"}, "is no JSON"),
        ({".claude-plugin/plugin.json": "[]"}, "has to be an object"),
        ({".claude-plugin/plugin.json": "{}"}, "name: is missing"),
        ({".claude-plugin/plugin.json": '{"name": "../up"}'}, "cannot be the name"),
        ({".claude-plugin/plugin.json": '{"name": "two words"}'}, "cannot be the name"),
    ],
    ids=["nothing", "marketplace", "no-version", "no-json", "no-object", "no-name", "path-as-name", "spaces"],
)
def test_what_is_no_plugin_says_what_is_missing(tmp_path: Path, files: dict[str, str], said: str) -> None:
    assert said in problems(write_files(tmp_path / "folder", files))


def test_link_out_of_the_folder_is_refused_and_one_inside_is_not(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path)
    (folder / "alias.py").symlink_to("tools.py")
    read_package(folder)
    (folder / "passwords").symlink_to("/etc/passwd")
    assert "passwords: is a link that leads out" in problems(folder)


def test_device_in_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path)
    os.mkfifo(folder / "pipe")
    assert "pipe: is neither a file nor a folder" in problems(folder)


def test_digest_is_of_names_contents_and_execution_and_of_nothing_else(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path)
    before, looked = folder_digest(folder), folder_fingerprint(folder)
    write_files(folder, {"__pycache__/tools.pyc": "x", ".git/HEAD": "x"})
    os.utime(folder / "tools.py", (0, 0))
    assert folder_digest(folder) == before
    assert folder_fingerprint(folder) != looked
    (folder / "tools.py").chmod(0o755)
    executable = folder_digest(folder)
    assert executable != before
    (folder / "tools.py").rename(folder / "sloot.py")
    assert folder_digest(folder) not in {before, executable}


# --- Claude Code's own word -------------------------------------------------------------------------------------


@pytest.mark.cli
@pytest.mark.anyio
async def test_claude_code_itself_judges_what_it_is_to_load(tmp_path: Path) -> None:
    validate = CliValidator(CLI)
    good = await validate(read(tmp_path / "toolkit", CLAUDE_CODE))
    assert good.errors == ()
    bare = await validate(read(tmp_path / "greeting", {"SKILL.md": SKILL}))
    assert (bare.errors, bare.warnings) == ((), ())
    broken = {
        **CLAUDE_CODE,
        "hooks/hooks.json": "{ no json",
        ".claude-plugin/plugin.json": '{"name": "x", "author": "me"}',
    }
    bad = await validate(read(tmp_path / "x", broken))
    assert {problem.file for problem in bad.errors} == {"hooks/hooks.json", ".claude-plugin/plugin.json"}


def test_copy_for_claude_code_holds_the_skills_and_a_manifest(tmp_path: Path) -> None:
    one = read(tmp_path / "greeting", {"SKILL.md": SKILL, "scripts/x.sh": "echo\n"})
    write_native_copy(one, tmp_path / "copy")
    copied = read_package(tmp_path / "copy")
    assert (copied.name, copied.format, copied.inventory.skills) == ("greeting", "claude-code", ("greeting",))
    assert (tmp_path / "copy" / "skills" / "greeting" / "scripts" / "x.sh").is_file()


@pytest.mark.cli
@pytest.mark.anyio
async def test_plugins_that_are_asked_about_together_each_get_what_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []
    executed = asyncio.create_subprocess_exec

    async def counted(program: str, *arguments: str, **options: Any) -> asyncio.subprocess.Process:
        runs.append(arguments[-1])
        return await executed(program, *arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    validate = CliValidator(CLI)
    texts = {"good": SKILL, "bare": "---\nname: x\n---\nx\n", "odd": '---\nname: x\n"b: c\n- [{\n---\nx\n'}
    packages = [read(tmp_path / name, {"same/SKILL.md": text}) for name, text in texts.items()]
    packages += [read(tmp_path / f"more-{number}", {"SKILL.md": SKILL}) for number in range(20)]
    asked = [asyncio.create_task(validate(package)) for package in packages]
    # Who leaves before the answer takes nobody along.
    await asyncio.sleep(0)
    asked[0].cancel()
    left, bare, odd, *more = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(left, asyncio.CancelledError)
    assert isinstance(bare, Findings)
    assert isinstance(odd, Findings)
    assert [(one.file, one.path) for one in bare.warnings] == [("skills/same/SKILL.md", "description")]
    assert [(one.file, one.path) for one in odd.warnings] == [("skills/same/SKILL.md", "frontmatter")]
    assert more == [Findings()] * 20
    assert len(runs) < 5
