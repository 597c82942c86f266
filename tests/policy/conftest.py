"""A gate with the built-in policy and a workspace on a real disk, with things planted in and around it."""

from pathlib import Path

import pytest

from claude_sdk_pattern.policy.calls import GateContext
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.loading import builtin_policy


@pytest.fixture
def gate() -> PermissionGate:
    return PermissionGate(builtin_policy())


@pytest.fixture
def context(tmp_path: Path) -> GateContext:
    """A session's workspace with links that lead out of it, beside another session's."""
    workspaces = tmp_path / "workspaces"
    own, other = workspaces / "own", workspaces / "other"
    for folder in (own / "src", other, tmp_path / "private" / "plans", tmp_path / "private" / "projects"):
        folder.mkdir(parents=True)
    (other / "secret.txt").write_text("theirs")
    (own / "to-passwd").symlink_to("/etc/passwd")
    (own / "to-other").symlink_to(other)
    (own / "chain").symlink_to("to-other")
    (own / "src" / "up").symlink_to("../..")
    (own / "loop").symlink_to("loop")
    (own / "inner").symlink_to("src")
    (workspaces / "own-but-longer").mkdir()
    return GateContext(
        role="user",
        workspace=own,
        readable=(tmp_path / "private" / "projects",),
        writable=(tmp_path / "private" / "plans",),
        home=tmp_path / "private",
    )
