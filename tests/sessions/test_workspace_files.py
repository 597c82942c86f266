"""Files put into a workspace in which an agent has been at work. A real folder."""

from pathlib import Path

import pytest

from claude_sdk_pattern.sessions.workspace_files import place_file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source"
    file.write_bytes(b"content")
    return file


def test_a_file_lands_under_its_name_and_is_a_copy(workspace: Path, source: Path) -> None:
    assert place_file(workspace, "notes.txt", source) == "attachments/notes.txt"
    placed = workspace / "attachments" / "notes.txt"
    placed.write_bytes(b"changed")
    assert source.read_bytes() == b"content"


def test_a_name_that_is_taken_gets_a_number(workspace: Path, source: Path) -> None:
    places = [place_file(workspace, "notes.txt", source) for _ in range(3)]
    assert places == ["attachments/notes.txt", "attachments/notes-2.txt", "attachments/notes-3.txt"]


def test_a_planted_link_to_a_folder_is_not_followed(workspace: Path, source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "attachments").symlink_to(outside)
    (workspace / "attachments-2").write_text("a file")
    assert place_file(workspace, "notes.txt", source) == "attachments-3/notes.txt"
    assert list(outside.iterdir()) == []
    assert (workspace / "attachments-3" / "notes.txt").read_bytes() == b"content"


def test_a_planted_link_to_a_file_is_not_followed(workspace: Path, source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("untouched")
    (workspace / "attachments").mkdir()
    (workspace / "attachments" / "notes.txt").symlink_to(outside)
    (workspace / "attachments" / "notes-2.txt").symlink_to(tmp_path / "not there")
    assert place_file(workspace, "notes.txt", source) == "attachments/notes-3.txt"
    assert outside.read_text() == "untouched"
    assert not (tmp_path / "not there").exists()


def test_a_workspace_that_is_a_link_is_refused(workspace: Path, source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        place_file(link, "notes.txt", source)


def test_nothing_is_left_of_a_file_that_could_not_be_copied(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        place_file(workspace, "notes.txt", tmp_path)
    assert not (workspace / "attachments").exists()
