"""Control groups of agents, in a folder that stands in for the kernel's file system of them.

Machines that run tests seldom let them make control groups. What is tried here is which files are written and what is
said where there are none; that the kernel then keeps the limits is not.
"""

from pathlib import Path

import pytest

from claude_sdk_pattern.isolation.cgroups import AgentCgroups, CgroupsUnavailableError


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """What the kernel says of the server's own group."""
    path = tmp_path / "own"
    path.write_text("0::/service\n")
    return path


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """The server's own group, with a process in it."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids io\n")
    made = tmp_path / "service"
    made.mkdir()
    (made / "cgroup.controllers").write_text("cpu memory pids\n")
    (made / "cgroup.procs").write_text("4242\n")
    return made


def prepare(tmp_path: Path, own: Path) -> AgentCgroups:
    return AgentCgroups.prepare(memory_bytes=1000, processes=10, root=tmp_path, own=own)


def test_the_server_moves_down_before_it_hands_controllers_on(tmp_path: Path, group: Path, own: Path) -> None:
    found = prepare(tmp_path, own)
    assert found.folder == group / "csp-agents"
    assert (group / "csp-server" / "cgroup.procs").read_text() == "4242"
    for parent in (group, found.folder):
        assert (parent / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"


def test_a_server_that_starts_again_in_its_group_finds_the_one_above(tmp_path: Path, group: Path, own: Path) -> None:
    own.write_text("0::/service/csp-server\n")
    assert prepare(tmp_path, own).folder == group / "csp-agents"


def test_an_agent_gets_a_group_with_its_limits(tmp_path: Path, group: Path, own: Path) -> None:
    made = prepare(tmp_path, own).create("p1")
    assert {path.name: path.read_text() for path in made.iterdir()} == {
        "memory.max": "1000",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "10",
        "cpu.weight": "50",
    }


@pytest.mark.parametrize(
    ("controllers", "own_text", "reason"),
    [
        ("cpu\n", "0::/service\n", "not delegated"),
        ("cpu memory pids\n", "4:memory:/x\n", "version 2"),
        ("cpu memory pids\n", "0::/elsewhere\n", "cannot be changed"),
    ],
)
def test_where_there_are_none_it_says_why(
    tmp_path: Path, group: Path, own: Path, controllers: str, own_text: str, reason: str
) -> None:
    (group / "cgroup.controllers").write_text(controllers)
    own.write_text(own_text)
    with pytest.raises(CgroupsUnavailableError, match=reason):
        prepare(tmp_path, own)


def test_a_group_that_was_not_made_is_no_trouble_to_remove(tmp_path: Path, group: Path, own: Path) -> None:
    prepare(tmp_path, own).remove("p1")
