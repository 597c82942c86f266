"""What ``plugin new`` writes, tried as its author would: its own tests, in their own pytest, with the real CLI."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from claude_sdk_pattern.plugins.manifest import PluginType
from claude_sdk_pattern.plugins.scaffold import write_scaffold


@pytest.mark.cli
@pytest.mark.timeout(400)
def test_tests_of_new_plugins_of_all_types_pass(tmp_path: Path) -> None:
    for kind in get_args(PluginType):
        write_scaffold(tmp_path, f"my-{kind}", kind)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "4 passed" in ran.stdout, ran.stdout + ran.stderr
