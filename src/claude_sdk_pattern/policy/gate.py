"""PermissionGate: the one decision about every tool call.

Pure: the same call, context and policy give the same verdict, and nothing is waited for but the links of the file
system. The order is that of the steps in :meth:`PermissionGate.decide`; docs/policy.md describes it for operators.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from claude_sdk_pattern.policy.calls import GateContext, ToolCall, Verdict
from claude_sdk_pattern.policy.command_patterns import command_matches
from claude_sdk_pattern.policy.facts import Facts, facts_of
from claude_sdk_pattern.policy.hosts import SEARCH, is_allowed_host
from claude_sdk_pattern.policy.matching import is_role_enough, matches
from claude_sdk_pattern.policy.model import Decision, Policy, Rule
from claude_sdk_pattern.policy.secret_references import (
    is_secret,
    secret_references,
    without_references,
    without_secrets,
)
from claude_sdk_pattern.policy.shell import read_script

# Rules that are code and not data, by the names under which verdicts know them.
UNDECLARED = "tools.undeclared"
ROLE = "tools.role"
BAD_INPUT = "tools.bad-input"
OUTSIDE = "files.outside-session"
UNSANDBOXED = "shell.unsandboxed"
HOST = "network.host"
UNREADABLE = "shell.unreadable"
HIDDEN = "shell.hidden-characters"
FORK_BOMB = "shell.fork-bomb"
SECRET = "secrets.reference"  # noqa: S105 - the name of a rule
PERSON = "person.answers"
NEVER_ASKS = "mode.never-asks"

STRUCTURAL_RULES = (
    UNDECLARED, ROLE, BAD_INPUT, OUTSIDE, UNSANDBOXED, HOST, UNREADABLE, HIDDEN, FORK_BOMB, SECRET, PERSON, NEVER_ASKS,
)  # fmt: skip
"""Ids of all rules that no policy file holds."""

NEVER_ASK_MODE = "dontAsk"
"""The mode in which nobody is asked for permission. What the agent wants to know from a person is still asked."""


def denied_unasked(verdict: Verdict) -> Verdict:
    """Return what becomes of a call that a person would be asked about, in a session that asks nobody."""
    reason = f"This needs a person's consent, and this session asks nobody. {verdict.reason or ''}".rstrip()
    return replace(verdict, decision="deny", rule=verdict.rule or NEVER_ASKS, reason=reason)


class PermissionGate:
    """Decides by one policy.

    Args:
        policy: the built-in one, with the operator's and those of active plugins laid over it.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._readable = tuple(map(Path, policy.files.readable))
        self._writable = tuple(map(Path, policy.files.writable))

    def with_layers(self, layers: Sequence[Policy]) -> "PermissionGate":
        """Return a gate with more laid over its policy: what plugins declare.

        Raises:
            ValueError: a layer does not fit.
        """
        policy = self.policy
        for layer in layers:
            policy = policy.with_layer(layer)
        return PermissionGate(policy)

    def decide(self, call: ToolCall, context: GateContext) -> Verdict:
        """Return what becomes of a call."""
        if self._readable or self._writable:
            context = replace(
                context,
                readable=(*context.readable, *self._readable),
                writable=(*context.writable, *self._writable),
            )
        call, changes = self._without_secrets(call)
        facts = facts_of(call, self.policy, context)
        verdict = self._decide(call, facts, context)
        if verdict.decision == "ask" and context.permission_mode == NEVER_ASK_MODE and verdict.category != "person":
            verdict = denied_unasked(verdict)
        if changes and verdict.decision != "deny":
            verdict = replace(verdict, changed_input=call.input, changes=changes)
        return verdict

    def _decide(self, call: ToolCall, facts: Facts, context: GateContext) -> Verdict:
        # What no rule can allow.
        for rule, reason in self._barriers(call, facts, context):
            return Verdict(decision="deny", category=facts.category, rule=rule, reason=reason)
        policy_rules, category = self.policy.rules, facts.category
        found = self._first("deny", (*context.rules, *policy_rules), call, facts, context)
        # What a person allowed before is not asked about again, except what only a person can answer.
        if found is None and category != "person":
            found = self._first("allow", context.rules, call, facts, context)
        if found is None:
            for rule, reason in self._doubts(call, facts):
                return Verdict(decision="ask", category=category, rule=rule, reason=reason)
            found = self._first("ask", (*context.rules, *policy_rules), call, facts, context)
        if found is None and category != "person":
            found = self._first("allow", policy_rules, call, facts, context)
        if found is not None:
            return Verdict(decision=found.decision, category=category, rule=found.id, reason=found.reason)
        if category == "person":
            return Verdict(decision="ask", category=category)
        return Verdict(decision="allow", category=category)

    def _barriers(self, call: ToolCall, facts: Facts, context: GateContext) -> Iterator[tuple[str, str]]:
        category = facts.category
        if category is None:
            yield (
                UNDECLARED,
                (
                    f"The tool {call.tool} is not part of this platform's policy, and no active plugin declares it. "
                    "Use another tool."
                ),
            )
            return
        needed = self.policy.categories.get(category)
        if needed is None or not is_role_enough(context.role, needed.role):
            yield ROLE, f"Tools of the kind {category} are for people with another role. Do without {call.tool}."
        if category == "shell" and call.tool == "Bash" and not isinstance(call.input.get("command"), str):
            yield BAD_INPUT, "`command` has to be text."
        if facts.outside:
            yield OUTSIDE, f"{facts.outside[0]} is outside of this session's workspace. Use files in the workspace."
        if facts.is_unsandboxed and not self._may_leave_sandbox(facts):
            yield (
                UNSANDBOXED,
                "This command may not run outside of the sandbox. Run it without dangerouslyDisableSandbox.",
            )
        if facts.script is not None and facts.script.is_self_calling:
            yield FORK_BOMB, "A function that starts itself over and over uses up the machine."
        for host in facts.hosts:
            # Whether to search is a question for rules: the search engine is the model provider's.
            if host != SEARCH and not is_allowed_host(host, self.policy.hosts.allow):
                yield (
                    HOST,
                    f"The network policy does not open {host}. Work with what is in the workspace, or ask the person.",
                )
        if facts.script is not None and self._hides_secrets(facts):
            yield SECRET, "A script within this command refers to a secret variable. Leave the variable out."

    def _doubts(self, call: ToolCall, facts: Facts) -> Iterator[tuple[str, str]]:
        if facts.has_hidden_characters:
            yield HIDDEN, "The command holds characters that are not shown."
        if facts.script is not None and facts.script.problems:
            _, why = facts.script.problems[0]
            yield UNREADABLE, f"What this runs cannot be told before: {why}."

    def _first(
        self, decision: Decision, rules: Sequence[Rule], call: ToolCall, facts: Facts, context: GateContext
    ) -> Rule | None:
        return next(
            (rule for rule in rules if rule.decision == decision and matches(rule, call, facts, context.role)), None
        )

    def _may_leave_sandbox(self, facts: Facts) -> bool:
        script, patterns = facts.script, self.policy.unsandboxed
        if not patterns or script is None or not script.is_plain or not script.commands:
            return False
        return all(command_matches(command, patterns) for command in script.commands)

    def _hides_secrets(self, facts: Facts) -> bool:
        names = () if facts.script is None else facts.script.nested_references
        return any(is_secret(name, self.policy.secret_variables) for name in names)

    def _without_secrets(self, call: ToolCall) -> tuple[ToolCall, tuple[str, ...]]:
        """Return the call without references to secret variables, and the rule's words for each that was there."""
        patterns = self.policy.secret_variables
        command = call.input.get("command")
        if isinstance(command, str):
            references = secret_references(read_script(command), patterns)
            if not references:
                return call, ()
            changed = {**call.input, "command": without_references(command, references)}
            names = [reference.name for reference in references]
        else:
            changed, names = (
                without_secrets(call.input, patterns) if call.tool.startswith("mcp__") else (call.input, [])
            )
            if not names:
                return call, ()
        told = tuple(f"The reference to {name} was taken out." for name in dict.fromkeys(names))
        return replace(call, input=changed), told
