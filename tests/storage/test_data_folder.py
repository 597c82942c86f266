"""The lock on a data folder and the id kept in it. Real: the files, the kernel's lock, a process that is killed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claude_sdk_pattern.storage.data_folder import DataFolderInUse, locked_data_folder, require_free_data_folder

_HOLDER = """
import sys
from pathlib import Path
from claude_sdk_pattern.storage.data_folder import locked_data_folder
with locked_data_folder(Path(sys.argv[1])) as node_id:
    print(node_id, flush=True)
    sys.stdin.read()
"""


def test_a_second_server_on_the_folder_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with locked_data_folder(tmp_path), pytest.raises(DataFolderInUse, match=f"process {os.getpid()}") as refusal:
        require_free_data_folder(tmp_path)
    assert refusal.value.pid == os.getpid()
    assert "CLAUDE_SDK_PATTERN_DATA_DIR" in str(refusal.value)
    require_free_data_folder(tmp_path)


def test_a_killed_server_keeps_nothing_locked_and_its_successor_is_the_same_node(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDER, tmp_path], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout is not None
        node_id = holder.stdout.readline().strip()
        with pytest.raises(DataFolderInUse) as refusal:
            require_free_data_folder(tmp_path)
        assert refusal.value.pid == holder.pid
        holder.kill()
    with locked_data_folder(tmp_path) as successor:
        assert successor == node_id != ""


def test_processes_that_a_server_starts_do_not_keep_its_lock(tmp_path: Path) -> None:
    with locked_data_folder(tmp_path):
        child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    try:
        require_free_data_folder(tmp_path)
    finally:
        child.kill()
        child.communicate()


def test_a_copy_of_a_data_folder_is_another_node(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    with locked_data_folder(original) as node_id:
        pass
    shutil.copytree(original, copy)
    with locked_data_folder(copy) as other, locked_data_folder(original) as same:
        assert other != node_id == same


def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with locked_data_folder(folder):
        assert [path.stat().st_mode & 0o777 for path in (folder, folder / "run")] == [0o700, 0o700]
