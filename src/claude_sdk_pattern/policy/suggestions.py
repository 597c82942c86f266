"""Which rule would spare a person the same question next time."""

from claude_sdk_pattern.policy.calls import GateContext, ToolCall, input_hash
from claude_sdk_pattern.policy.facts import facts_of
from claude_sdk_pattern.policy.hosts import UNKNOWN
from claude_sdk_pattern.policy.model import Policy, Rule

_EDITS = ("Write", "Edit", "MultiEdit", "NotebookEdit")


def suggest_rules(call: ToolCall, policy: Policy, context: GateContext) -> tuple[Rule, ...]:
    """Return rules that allow a call, the narrowest first; none for what only a person can answer.

    The first is what "remember" takes. Each says in its ``reason`` what it allows.
    """
    facts = facts_of(call, policy, context)
    exact = _rule(call.tool, f"This {call.tool} call, exactly as it is.", input_hash=input_hash(call.tool, call.input))
    match facts.category:
        case "person" | None:
            return ()
        case "shell":
            return (exact, *_of_programs(call, policy, context))
        case "files.write":
            return (_rule(_EDITS if call.tool in _EDITS else call.tool, "Changes to files in the workspace."), exact)
        case "files.read":
            return (_rule(call.tool, f"{call.tool} for files in the workspace."),)
        case "network" if facts.hosts and UNKNOWN not in facts.hosts and call.tool != "WebSearch":
            names = ", ".join(facts.hosts)
            return (_rule(call.tool, f"{call.tool} for {names}.", hosts=facts.hosts), exact)
        case _:
            return (_rule(call.tool, f"Every use of {call.tool}."), exact)


def _of_programs(call: ToolCall, policy: Policy, context: GateContext) -> tuple[Rule, ...]:
    """Return the rule that allows the same programs with other arguments, where that can be told."""
    script = facts_of(call, policy, context).script
    if script is None or not script.is_plain or not script.commands:
        return ()
    patterns = tuple(dict.fromkeys(f"{_quoted(command.program)} *" for command in script.commands))
    told = ", ".join(f"`{pattern}`" for pattern in patterns)
    return (_rule(call.tool, f"Commands like {told}.", commands=patterns),)


def _quoted(word: str) -> str:
    # A program's name with a wildcard in it would allow others too.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in word)


def _rule(
    tools: str | tuple[str, ...],
    reason: str,
    *,
    input_hash: str | None = None,
    commands: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
) -> Rule:
    return Rule(
        id="suggested",
        decision="allow",
        tools=(tools,) if isinstance(tools, str) else tools,
        input_hash=input_hash,
        commands=commands,
        hosts=hosts,
        reason=reason[:500],
    )
