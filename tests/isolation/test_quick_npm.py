"""The program in front of ``npm``: it answers one question of Claude Code's, and is npm for everybody else."""

import socket
import subprocess
from pathlib import Path

import pytest

from claude_sdk_pattern.isolation import quick_npm


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program, in front of an npm that says what it was asked."""
    system = tmp_path / "system"
    system.mkdir()
    real = system / "npm"
    real.write_text('#!/bin/sh\necho "npm $*"\n')
    real.chmod(0o755)
    monkeypatch.setattr(quick_npm, "SEARCH_PATH", str(system))
    folder = quick_npm.write_quick_npm(tmp_path / "programs")
    assert folder is not None
    return folder / "npm"


def test_claude_codes_question_is_answered_without_npm(npm: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        asked = subprocess.run([npm, "root", "-g"], cwd="/", stdin=theirs.fileno(), capture_output=True, check=False)
    assert (asked.returncode, asked.stdout) == (1, b"")


@pytest.mark.parametrize(("words", "folder"), [("root -g", None), ("root -g", "/"), ("install left-pad", "/")])
def test_everything_else_is_npms(npm: Path, tmp_path: Path, words: str, folder: str | None) -> None:
    asked = subprocess.run(
        [npm, *words.split()], cwd=folder or tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert asked.stdout.decode() == f"npm {words}\n"


def test_without_npm_there_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_npm, "SEARCH_PATH", str(tmp_path))
    assert quick_npm.write_quick_npm(tmp_path / "programs") is None
