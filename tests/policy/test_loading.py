"""Policy files: laid over the built-in one, or refused with words that help."""

from pathlib import Path

import pytest

from claude_sdk_pattern.policy.errors import PolicyFileError
from claude_sdk_pattern.policy.loading import builtin_policy, load_policy

EXAMPLE = """
version: 1
tools: {"mcp__acme__*": mcp}
categories: {shell: {role: operator}}
hosts: {allow: ["*.example.org"]}
disable: [shell.publish]
rules:
  - {id: acme.no-force, decision: deny, tools: [Bash], commands: ["git push ** --force **"], reason: No force.}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(text)
    return path


def test_a_file_is_laid_over_the_built_in_policy(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, EXAMPLE))
    ids = [rule.id for rule in policy.rules]
    assert ids[0] == "acme.no-force"
    assert "shell.publish" not in ids
    assert "shell.privilege" in ids
    assert policy.categories["shell"].role == "operator"
    assert policy.tools["Read"] == "files.read"
    assert policy.hosts.allow == ("*.example.org",)
    assert policy.prompt == builtin_policy().prompt


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 2", "version"),
        ("version: 1\nhots: {}", "hots"),
        ("version: 1\ntools: {Read: reading}", "tools.Read"),
        ("version: 1\nrules: [{id: x, decision: maybe, reason: r}]", "rules.0.decision"),
        ("version: 1\nrules: [{id: X Y, decision: deny, reason: r}]", "rules.0.id"),
        ("version: 1\nrules: [{id: x, decision: deny}]", "rules.0.reason"),
        ("version: 1\nrules: [{id: shell.disk, decision: deny, reason: r}]", "used twice"),
        ("version: 1\ndisable: [shell.nothing]", "no rule shell.nothing"),
        ("version: 1\nfiles: {readable: [shared]}", "files.readable.0"),
        ("version: 1\nfiles: {writable: ['/srv/*']}", "files.writable.0"),
        ("version: [", "no YAML"),
        ("- a list", "the whole file"),
        ("", "the whole file"),
    ],
)
def test_a_file_that_is_wrong_is_refused_and_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PolicyFileError, match=words):
        load_policy(written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match="cannot be read"):
        load_policy(tmp_path / "none.yaml")


def test_a_host_that_is_open_to_agents_is_open_to_the_gate() -> None:
    assert set(load_policy(None, open_hosts=["example.org:8443", "*.example.net"]).hosts.allow) == {
        *load_policy(None).hosts.allow,
        "example.org",
        "*.example.net",
    }
