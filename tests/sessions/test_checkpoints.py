"""Checkpoints of workspaces, on a real disk: all comes back as it was, and nothing outside is read or written."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_sdk_pattern.sessions import checkpoints as module
from claude_sdk_pattern.sessions.checkpoints import Checkpoints

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspaces" / "one"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path)


def look(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all that is in a folder: mode and content, of a link its target, of a folder nothing."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else b""
        found[str(path.relative_to(folder))] = (mode, path.read_bytes() if stat.S_ISREG(mode) else content)
    return found


async def test_files_folders_links_and_modes_come_back(workspace: Path, kept: Checkpoints) -> None:
    (workspace / "deep" / "er").mkdir(parents=True)
    (workspace / "empty").mkdir()
    (workspace / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "deep" / "er" / "run.sh").chmod(0o755)
    (workspace / "same").write_bytes(b"\0\xff" * 1000)
    (workspace / os.fsdecode(b"n\xe4me")).write_text("not UTF-8")
    (workspace / "link").symlink_to("deep/er/run.sh")
    (workspace / "broken").symlink_to("/nowhere")
    before = look(workspace)
    await kept.take(workspace, "t1")
    (workspace / "deep" / "er" / "run.sh").unlink()
    (workspace / "deep" / "er").rmdir()
    (workspace / "deep" / "er").write_text("a file now")
    (workspace / "new").write_text("new")
    (workspace / "same").chmod(0o600)
    (workspace / "link").unlink()
    (workspace / "link").mkdir()
    assert await kept.restore(workspace, "t1")
    assert look(workspace) == before


async def test_each_checkpoint_is_its_own(workspace: Path, kept: Checkpoints) -> None:
    for number in range(3):
        (workspace / "file").write_text(f"number {number}")
        await kept.take(workspace, f"t{number}")
    for number in (0, 2, 1):
        assert await kept.restore(workspace, f"t{number}")
        assert (workspace / "file").read_text() == f"number {number}"


async def test_without_a_checkpoint_nothing_is_touched(workspace: Path, kept: Checkpoints) -> None:
    (workspace / "file").write_text("here")
    assert not await kept.restore(workspace, "never taken")
    assert (workspace / "file").read_text() == "here"


async def test_links_are_kept_as_links_and_never_followed(workspace: Path, kept: Checkpoints, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("canary")
    (workspace / "folder").symlink_to(outside)
    (workspace / "file").symlink_to(outside / "secret")
    await kept.take(workspace, "t1")
    (workspace / "folder").unlink()
    (workspace / "folder").mkdir()
    (workspace / "folder" / "secret").write_text("overwritten")
    assert await kept.restore(workspace, "t1")
    assert (outside / "secret").read_text() == "canary"
    assert (workspace / "folder").is_symlink()
    held = [path for path in (tmp_path / "checkpoints").rglob("content/*") if path.read_bytes() == b"canary"]
    assert held == []


async def test_pipes_and_sockets_are_left_out(workspace: Path, kept: Checkpoints) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "file").write_text("x")
    await kept.take(workspace, "t1")
    assert await kept.restore(workspace, "t1")
    assert [path.name for path in workspace.iterdir()] == ["file"]


async def test_what_is_too_large_gets_no_checkpoint(
    workspace: Path, kept: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_FILE_BYTES", 10)
    (workspace / "large").write_bytes(b"x" * 11)
    await kept.take(workspace, "t1")
    assert not kept.exists(workspace, "t1")


async def test_the_oldest_are_forgotten_when_all_together_are_too_large(
    workspace: Path, kept: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT_BYTES", 2500)
    for number in range(5):
        (workspace / "file").write_bytes(str(number).encode() * 1000)
        await kept.take(workspace, f"t{number}")
    assert [kept.exists(workspace, f"t{number}") for number in range(5)] == [False, False, False, True, True]
    assert await kept.restore(workspace, "t3")
    assert (workspace / "file").read_bytes() == b"3" * 1000


async def test_a_copied_workspace_has_checkpoints_of_its_own(
    workspace: Path, kept: Checkpoints, tmp_path: Path
) -> None:
    (workspace / "file").write_text("then")
    await kept.take(workspace, "t1")
    copy = tmp_path / "workspaces" / "two"
    copy.mkdir()
    await kept.copy(workspace, copy)
    await kept.remove(workspace)
    assert await kept.restore(copy, "t1")
    assert (copy / "file").read_text() == "then"
    assert not kept.exists(workspace, "t1")


NAMES = st.sampled_from(["a", "b", "c/d", "c/e", "f"])
STEPS = st.lists(st.tuples(st.sampled_from(["write", "delete", "take", "restore"]), NAMES, st.binary(max_size=40)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_any_history_can_be_gone_back_in(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("history")
    workspace = root / "workspaces" / "one"
    workspace.mkdir(parents=True)
    kept = Checkpoints(root)
    taken: dict[str, dict[str, tuple[int, bytes]]] = {}
    for step, name, content in steps:
        path = workspace / name
        if step == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        elif step == "delete":
            path.unlink(missing_ok=True)
        elif step == "take":
            await kept.take(workspace, f"t-{name[0]}")
            taken[f"t-{name[0]}"] = look(workspace)
        elif f"t-{name[0]}" in taken:
            assert await kept.restore(workspace, f"t-{name[0]}")
            assert look(workspace) == taken[f"t-{name[0]}"]
