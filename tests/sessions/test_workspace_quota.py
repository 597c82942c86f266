"""How much an agent keeps on disk. Real: files."""

import os
from itertools import count
from pathlib import Path

import pytest

from claude_sdk_pattern.sessions.workspace_quota import WorkspaceQuota, usage

pytestmark = pytest.mark.anyio

KIBIBYTE = 1024


def write(path: Path, size: int) -> None:
    path.write_bytes(os.urandom(size))


def test_all_that_lies_in_the_folders_is_counted_and_no_link_followed(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "folder").mkdir(parents=True)
    second.mkdir()
    write(first / "folder" / "file", 64 * KIBIBYTE)
    write(second / "file", 64 * KIBIBYTE)
    (first / "link").symlink_to("/usr")
    (first / "round").symlink_to(first)
    found = usage(first, second)
    assert found.files == 5
    assert 128 * KIBIBYTE <= found.size_bytes < 192 * KIBIBYTE


def test_a_hole_in_a_file_is_not_on_disk(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(1024**3)
    assert usage(tmp_path).size_bytes < KIBIBYTE**2


def test_what_is_gone_is_nothing(tmp_path: Path) -> None:
    assert usage(tmp_path / "nowhere").files == 0


@pytest.fixture
def quota() -> WorkspaceQuota:
    """Room for 100 KiB and 10 files. Each look takes a second, by a clock of its own."""
    return WorkspaceQuota(max_bytes=100 * KIBIBYTE, max_files=10, monotonic=count().__next__)


async def looked_at(quota: WorkspaceQuota, folder: Path) -> bool:
    """Ask until there was time for a look; return what it found."""
    found = [await quota.exceeded("p1", folder) for _ in range(30)]
    return any(found)


async def test_who_has_too_much_and_adds_to_it_is_noticed(quota: WorkspaceQuota, tmp_path: Path) -> None:
    write(tmp_path / "a", 200 * KIBIBYTE)
    assert not await looked_at(quota, tmp_path)
    write(tmp_path / "b", 8 * KIBIBYTE)
    assert await looked_at(quota, tmp_path)
    (tmp_path / "b").unlink()
    assert not await looked_at(quota, tmp_path)


async def test_many_small_files_are_too_much_too(quota: WorkspaceQuota, tmp_path: Path) -> None:
    assert not await looked_at(quota, tmp_path)
    for number in range(12):
        (tmp_path / str(number)).touch()
    assert await looked_at(quota, tmp_path)


async def test_a_workspace_that_takes_long_to_look_at_is_looked_at_less_often(
    quota: WorkspaceQuota, tmp_path: Path
) -> None:
    await quota.exceeded("p1", tmp_path)
    write(tmp_path / "a", 200 * KIBIBYTE)
    # A look took one second, so that there is none for the next twenty.
    assert not any([await quota.exceeded("p1", tmp_path) for _ in range(10)])
    assert await looked_at(quota, tmp_path)
