"""What ``plugin new`` and the guide write, tried as an author would: their tests, in their own pytest, the real CLI."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from claude_sdk_pattern.plugins.manifest import PluginType
from claude_sdk_pattern.plugins.scaffold import write_scaffold

GUIDE = Path(__file__).parents[2] / "docs" / "plugin-guide.md"


@pytest.mark.cli
@pytest.mark.timeout(400)
def test_tests_of_new_plugins_of_all_types_and_of_the_guide_pass(tmp_path: Path) -> None:
    for kind in get_args(PluginType):
        write_scaffold(tmp_path, f"my-{kind}", kind)
    guide = GUIDE.read_text()
    for name, text in re.findall(r"^`(weather/\S+)`\n\n```\w+\n(.*?)^```", guide, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (test,) = re.findall(r"^```python\n([^`]*active_plugin[^`]*)^```", guide, re.MULTILINE)
    (tmp_path / "weather" / "test_weather.py").write_text(test)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "5 passed" in ran.stdout, ran.stdout + ran.stderr
