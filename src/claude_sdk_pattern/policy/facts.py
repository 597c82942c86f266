"""What can be said about a call before any rule is asked: its category, its files, its commands, its hosts."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from claude_sdk_pattern.policy.calls import GateContext, ToolCall
from claude_sdk_pattern.policy.hosts import hosts_of_command, hosts_of_tool
from claude_sdk_pattern.policy.model import Category, Policy
from claude_sdk_pattern.policy.paths import Access, NamedPath, is_inside, named_paths, resolve, shown
from claude_sdk_pattern.policy.shell import Script, has_hidden_characters, read_script

# Where commands may write besides the session: devices that keep nothing, and the agent's private scratch folder.
_HARMLESS_TARGETS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/", "/tmp/")  # noqa: S108


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a call is about.

    Attributes:
        category: None if the tool is not declared.
        paths: the files it names, as rules see them.
        outside: those that lie outside of the session.
        hosts: the hosts it reaches.
        script: what it runs, for the shell.
        is_unsandboxed: it asks to run outside of Claude Code's sandbox.
        has_hidden_characters: what it runs is not what a person would see.
    """

    category: Category | None
    paths: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    script: Script | None = None
    is_unsandboxed: bool = False
    has_hidden_characters: bool = False


def category_of(tool: str, policy: Policy) -> Category | None:
    """Return what kind of tool this is, None if nobody declared it. A full name counts before a pattern."""
    if tool in policy.tools:
        return policy.tools[tool]
    return next((category for pattern, category in policy.tools.items() if fnmatchcase(tool, pattern)), None)


def facts_of(call: ToolCall, policy: Policy, context: GateContext) -> Facts:
    """Return the facts of a call."""
    category = category_of(call.tool, policy)
    match category:
        case "files.read" | "files.write":
            return _of_files(call, category, context)
        case "shell":
            return _of_shell(call, context)
        case "network":
            return Facts(category=category, hosts=tuple(hosts_of_tool(call.tool, call.input)))
        case _:
            return Facts(category=category)


def _of_files(call: ToolCall, category: Category, context: GateContext) -> Facts:
    default: Access = "write" if category == "files.write" else "read"
    found = named_paths(call.tool, call.input, context, default=default)
    outside = [path for path in found if not is_inside(path.resolved, context, path.access)]
    return Facts(
        category=category,
        paths=tuple(shown(path, context) for path in found),
        outside=tuple(_told(path) for path in outside),
    )


def _told(path: NamedPath) -> str:
    if path.resolved is None or str(path.resolved) == path.given:
        return path.given
    return f"{path.given} (which leads to {path.resolved})"


def _of_shell(call: ToolCall, context: GateContext) -> Facts:
    command = call.input.get("command")
    text = command if isinstance(command, str) else ""
    script = read_script(text)
    hosts = [host for found in script.commands for host in hosts_of_command(found)]
    outside = [
        redirect.target.text
        for redirect in script.redirects
        if redirect.writes and redirect.target.is_static and _leaves(redirect.target.text, context)
    ]
    return Facts(
        category="shell",
        hosts=tuple(hosts),
        outside=tuple(outside),
        script=script,
        is_unsandboxed=bool(call.input.get("dangerouslyDisableSandbox")),
        has_hidden_characters=has_hidden_characters(text),
    )


def _leaves(target: str, context: GateContext) -> bool:
    if target.startswith(_HARMLESS_TARGETS) and ".." not in target:
        return False
    return not is_inside(resolve(target, context), context, "write")
