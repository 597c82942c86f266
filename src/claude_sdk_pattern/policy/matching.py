"""Whether a rule is about a call."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from claude_sdk_pattern.policy.calls import ToolCall, input_hash
from claude_sdk_pattern.policy.command_patterns import command_matches
from claude_sdk_pattern.policy.facts import Facts
from claude_sdk_pattern.policy.hosts import is_allowed_host
from claude_sdk_pattern.policy.model import ROLE_RANK, RoleName, Rule


def matches(rule: Rule, call: ToolCall, facts: Facts, role: RoleName) -> bool:
    """Whether a rule speaks about a call.

    An ``allow`` has to cover the whole of it: every command, path and host. The others need to touch one.
    """
    if not any(pattern in ("*", call.tool) or fnmatchcase(call.tool, pattern) for pattern in rule.tools):
        return False
    if rule.roles and role not in rule.roles:
        return False
    if rule.input_hash is not None:
        return rule.input_hash == input_hash(call.tool, call.input)
    return _covers(rule, facts) if rule.decision == "allow" else _touches(rule, facts)


def is_role_enough(role: RoleName, needed: RoleName) -> bool:
    """Whether somebody of this role may do what ``needed`` may."""
    return ROLE_RANK[role] >= ROLE_RANK[needed]


def _covers(rule: Rule, facts: Facts) -> bool:
    script = facts.script
    if script is not None and not script.is_plain:
        # What a script expands is not known, so nothing but the very same script was ever allowed.
        return False
    if rule.commands and not (
        script is not None
        and script.commands
        and all(command_matches(command, rule.commands) for command in script.commands)
    ):
        return False
    if rule.paths and not (facts.paths and all(_path_fits(path, rule.paths) for path in facts.paths)):
        return False
    return not rule.hosts or (bool(facts.hosts) and all(is_allowed_host(host, rule.hosts) for host in facts.hosts))


def _touches(rule: Rule, facts: Facts) -> bool:
    if rule.commands:
        commands = () if facts.script is None else facts.script.commands
        if not any(command_matches(command, rule.commands) for command in commands):
            return False
    if rule.paths and not any(_path_fits(path, rule.paths) for path in facts.paths):
        return False
    return not rule.hosts or any(is_allowed_host(host, rule.hosts) for host in facts.hosts)


def _path_fits(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
