"""Reads a shell script without running it: which commands it holds, where it writes, what cannot be told.

The parser is tree-sitter's grammar of bash (:mod:`.shell_tree`). Nothing here decides; what cannot be read with
certainty is a *problem*, and the gate asks a person about those.

Limits, on purpose: the code of other languages (``python -c``) and of files that are run is not looked into, and
neither is what a variable holds. The walls of an agent are its sandbox and its namespace, not this reading.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from claude_sdk_pattern.policy.shell_tree import Budget, Node, UnreadableError, parse

# Longer than anything a person could look through before saying yes.
MAX_SCRIPT_LENGTH = 20_000

# A script in a script in a script: real ones have one or two levels.
_MAX_NESTING = 4

# Of `nice`, `env` and their like, each running the next.
_MAX_WRAPPERS = 16

type Problem = Literal["unreadable", "dynamic-command", "nested-script", "piped-script"]

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish"})
_INTERPRETERS = _SHELLS | {"python", "python3", "perl", "ruby", "node", "php"}

# Programs that run the command behind them; with their options that take a value, and how many words come first.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset({"-u", "--unset", "-C", "--chdir"}), 0),
    "nohup": (frozenset(), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n", "-p"}), 0),
    "timeout": (frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "time": (frozenset({"-f", "-o"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "setsid": (frozenset(), 0),
    "xargs": (frozenset({"-I", "-i", "-n", "-P", "-L", "-d", "-a", "-E", "-s"}), 0),
    "parallel": (frozenset({"-j", "-n", "-a"}), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "busybox": (frozenset(), 0),
    "toybox": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "watch": (frozenset({"-n", "--interval"}), 0),
    "flock": (frozenset({"-w", "-E"}), 1),
    "strace": (frozenset({"-e", "-o", "-p", "-s"}), 0),
    "setpriv": (frozenset({"--reuid", "--regid", "--pdeathsig"}), 0),
}

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

# Control characters, and marks that hide or turn around what is shown; new lines and tabs are ordinary.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command. ``text`` has its quotes removed; where something is expanded, it stands as written."""

    text: str
    is_static: bool = True


# Without slots, here and for scripts: what rules look at again and again is worked out once.
@dataclass(frozen=True)
class Command:
    """A simple command. ``words[0]`` is the program without its folder."""

    words: tuple[Word, ...]
    variables: tuple[str, ...] = ()
    """Names of variables set for it alone."""
    path: str = ""
    """The program as it was named."""

    @cached_property
    def text(self) -> tuple[str, ...]:
        """The words as text, which is what rules are about."""
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].text

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words behind the program."""
        return self.words[1:]

    def __str__(self) -> str:
        return " ".join(self.text)


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that is read or written by redirection."""

    target: Word
    writes: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable that is expanded; ``start`` and ``end`` are its place in the script, in bytes."""

    name: str
    start: int
    end: int
    is_quoted: bool
    is_indirect: bool = False


@dataclass(frozen=True)
class Script:
    """All that could be read of a script, scripts within it included."""

    commands: tuple[Command, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    references: tuple[Reference, ...] = ()
    """Of the script itself only: places in scripts within it are not places in it."""
    nested_references: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    problems: tuple[tuple[Problem, str], ...] = ()
    is_self_calling: bool = False
    """A function starts itself again in a pipe or in the background."""

    @cached_property
    def is_plain(self) -> bool:
        """Whether what runs is what is written: all of it was read, and nothing in it is expanded."""
        return not (self.problems or self.references or self.nested_references) and all(
            word.is_static for command in self.commands for word in command.words
        )


def has_hidden_characters(text: str) -> bool:
    """Whether a text holds characters that are not shown, or that change how others are."""
    return _HIDDEN.search(text) is not None


# The gate reads a script, and again what is left of it without its secrets; a person's answer has it read once more.
@lru_cache(maxsize=256)
def read_script(text: str) -> Script:
    """Return what a script does, as far as it can be read. Never raises."""
    return _Reader().read(text, depth=0)


class _Reader:
    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._redirects: list[Redirect] = []
        self._references: list[Reference] = []
        self._nested_references: list[str] = []
        self._assigned: list[str] = []
        self._problems: list[tuple[Problem, str]] = []
        self._is_self_calling = False
        self._budget = Budget()

    def read(self, text: str, *, depth: int) -> Script:
        self._read(text, depth)
        return Script(
            commands=tuple(self._commands),
            redirects=tuple(self._redirects),
            references=tuple(self._references),
            nested_references=tuple(self._nested_references),
            assigned=tuple(self._assigned),
            problems=tuple(self._problems),
            is_self_calling=self._is_self_calling,
        )

    def _read(self, text: str, depth: int) -> None:
        if depth > _MAX_NESTING or len(text) > MAX_SCRIPT_LENGTH:
            self._problems.append(("unreadable", "it is too long or too deeply nested"))
            return
        try:
            root, is_whole = parse(text, self._budget)
        except UnreadableError as error:
            self._problems.append(("unreadable", str(error)))
            return
        if not is_whole:
            # What could be read is still looked at: a denial needs no more than one command.
            self._problems.append(("unreadable", "it is not complete, or uses syntax that cannot be followed"))
        for node in root.every():
            match node.type:
                case "command":
                    self._command(node, depth)
                case "declaration_command" | "unset_command":
                    self._declaration(node)
                case "file_redirect":
                    self._redirect(node)
                case "variable_assignment":
                    self._assignment(node)
                case "simple_expansion" | "expansion":
                    self._reference(node, depth)
                case "function_definition":
                    self._function(node)
                case _:
                    pass

    # --- commands -----------------------------------------------------------------------------------------------

    def _command(self, node: Node, depth: int) -> None:
        words: list[Word] = []
        variables: list[str] = []
        heredoc = _heredoc(node)
        for child in node.named_children:
            if child.type == "variable_assignment":
                variables.append(_name_of(child))
            elif child.type == "command_name":
                words.append(_word(child.named_children[0]) if child.named_children else Word(child.text))
            elif child.type == "herestring_redirect":
                heredoc = _word(child.named_children[-1]) if child.named_children else Word("", is_static=False)
            elif not child.type.endswith("redirect") and child.type != "comment":
                words.append(_word(child))
        if words:
            self._add(words, variables, depth, stdin=heredoc, is_piped=_is_piped_into(node))

    def _add(
        self,
        words: Sequence[Word],
        variables: Sequence[str],
        depth: int,
        *,
        stdin: Word | None,
        is_piped: bool,
        wrappers: int = 0,
    ) -> None:
        """Note a command, and those it runs in turn. ``wrappers`` is how many others run it."""
        if wrappers > _MAX_WRAPPERS:
            self._problems.append(("unreadable", "too many commands run each other in it"))
            return
        name = words[0]
        if not name.is_static or "{" in name.text or "*" in name.text or "?" in name.text or not name.text:
            self._problems.append(("dynamic-command", f"the program of `{_brief(words)}` is only known when it runs"))
            if not name.text:
                return
        program = name.text.rsplit("/", 1)[-1] or name.text
        self._commands.append(Command((Word(program, name.is_static), *words[1:]), tuple(variables), name.text))
        arguments = list(words[1:])
        if program in _SHELLS:
            self._shell(arguments, depth, stdin=stdin, is_piped=is_piped)
        elif program in _INTERPRETERS and is_piped and not _positional(arguments):
            self._problems.append(("piped-script", f"`{program}` runs what another command prints"))
        elif program in ("eval", "trap"):
            self._nested(arguments[:1] if program == "trap" else arguments, depth)
        elif program in _WRAPPERS:
            inner = _behind_wrapper(program, arguments)
            if program == "env" and arguments and arguments[0].text in ("-S", "--split-string"):
                self._nested(arguments[1:], depth)
            elif inner:
                self._add(inner, variables, depth, stdin=stdin, is_piped=is_piped, wrappers=wrappers + 1)
        elif program == "find":
            for inner in _find_commands(arguments):
                self._add(inner, variables, depth, stdin=None, is_piped=False, wrappers=wrappers + 1)

    def _shell(self, arguments: list[Word], depth: int, *, stdin: Word | None, is_piped: bool) -> None:
        for index, word in enumerate(arguments):
            if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text:
                self._nested(arguments[index + 1 : index + 2], depth)
                return
        if not _positional(arguments) or any(word.text in ("-s", "-") for word in arguments):
            if stdin is not None:
                self._nested([stdin], depth)
            elif is_piped:
                self._problems.append(("piped-script", "a shell runs what another command prints"))

    def _nested(self, words: Sequence[Word], depth: int) -> None:
        if not words:
            return
        if not all(word.is_static for word in words):
            self._problems.append(("nested-script", f"`{_brief(words)}` is run as a script and not known before"))
            return
        self._read(" ".join(word.text for word in words), depth + 1)

    def _declaration(self, node: Node) -> None:
        words = [Word(node.children[0].text)]
        words += [_word(child) for child in node.named_children]
        self._commands.append(Command(tuple(words), path=words[0].text))

    def _function(self, node: Node) -> None:
        name = node.named_children[0].text if node.named_children else ""
        calls = [inner for inner in node.every() if inner.type == "command_name" and inner.text == name]
        if any(_is_concurrent(call) for call in calls):
            self._is_self_calling = True

    # --- what belongs to them -----------------------------------------------------------------------------------

    def _redirect(self, node: Node) -> None:
        signs = [child.text for child in node.children if not child.is_named]
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        if not targets or targets[-1].type == "number":
            return
        # `2>&-` and `>&2` name no file, `<>` and everything with `>` write one.
        self._redirects.append(Redirect(_word(targets[-1]), writes=any(">" in sign for sign in signs)))

    def _assignment(self, node: Node) -> None:
        if node.parent is None or node.parent.type != "command":
            self._assigned.append(_name_of(node))

    def _reference(self, node: Node, depth: int) -> None:
        names = [child for child in node.named_children if child.type == "variable_name"]
        if not names:
            return
        name = names[0].text
        if depth:
            self._nested_references.append(name)
            return
        is_indirect = any(child.type == "!" for child in node.children)
        is_quoted = any(parent.type in ("string", "heredoc_body") for parent in node.parents())
        self._references.append(Reference(name, node.start_byte, node.end_byte, is_quoted, is_indirect))


def _name_of(assignment: Node) -> str:
    return assignment.children[0].text.partition("[")[0] if assignment.children else ""


def _brief(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)[:80]


def _word(node: Node) -> Word:
    """Return what the shell makes of a word, as far as that can be told without running it."""
    match node.type:
        case "word" | "number" | "variable_name" | "test_operator":
            return Word(_unescaped(node.text))
        case "raw_string":
            return Word(node.text[1:-1])
        case "ansi_c_string":
            return _ansi_word(node.text[2:-1])
        case "string":
            return _string_word(node)
        case "concatenation" | "variable_assignment":
            parts = [_word(child) for child in node.children]
            return Word("".join(part.text for part in parts), all(part.is_static for part in parts))
        case _ if not node.is_named:
            return Word(node.text)
        case _:
            return Word(node.text, is_static=False)


def _string_word(node: Node) -> Word:
    parts: list[str] = []
    place = node.start_byte + 1
    source = node.source
    for child in node.named_children:
        # What is between its parts, spaces before an expansion for one, has no node of its own.
        parts.append(source[place : child.start_byte].decode(errors="replace"))
        parts.append(child.text)
        place = child.end_byte
    parts.append(source[place : node.end_byte - 1].decode(errors="replace"))
    is_static = all(child.type == "string_content" for child in node.named_children)
    return Word(re.sub(r'\\(["\\$`\n])', lambda match: "" if match[1] == "\n" else match[1], "".join(parts)), is_static)


def _ansi_word(text: str) -> Word:
    try:
        return Word(codecs.decode(text.replace("\\'", "'").encode("latin-1", "backslashreplace"), "unicode_escape"))
    except (UnicodeError, ValueError):
        return Word(text, is_static=False)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)


def _positional(arguments: Sequence[Word]) -> list[Word]:
    return [word for word in arguments if not word.text.startswith("-")]


def _behind_wrapper(program: str, arguments: Sequence[Word]) -> list[Word]:
    """Return the command that a wrapper runs."""
    takes_value, leading = _WRAPPERS[program]
    rest = list(arguments)
    while rest:
        text = rest[0].text
        if text == "--":
            rest.pop(0)
            break
        if text.startswith("-") and len(text) > 1:
            rest.pop(0)
            if text in takes_value and rest:
                rest.pop(0)
        elif program in ("env", "sudo", "doas") and _ASSIGNMENT.match(text):
            rest.pop(0)
        else:
            break
    return rest[leading:]


def _find_commands(arguments: Sequence[Word]) -> Iterator[list[Word]]:
    inner: list[Word] | None = None
    for word in arguments:
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = []
        elif inner is not None and word.text in (";", "+"):
            if inner:
                yield inner
            inner = None
        elif inner is not None:
            inner.append(word)
    if inner:
        yield inner


def _heredoc(command: Node) -> Word | None:
    """Return what a here-document gives a command to read."""
    statement = command.parent
    if statement is None or statement.type != "redirected_statement":
        return None
    for node in statement.every():
        if node.type == "heredoc_body":
            is_static = not any(child.type != "heredoc_content" for child in node.named_children)
            return Word(node.text, is_static)
        if node.type == "herestring_redirect" and node.named_children:
            return _word(node.named_children[-1])
    return None


def _is_piped_into(command: Node) -> bool:
    """Whether a command reads what another one prints."""
    node = command
    for parent in command.parents():
        if parent.type == "pipeline" and parent.named_children and parent.named_children[0] != node:
            return True
        if parent.type not in ("redirected_statement", "pipeline", "subshell", "compound_statement", "list"):
            return False
        node = parent
    return False


def _is_concurrent(call: Node) -> bool:
    for parent in call.parents():
        if parent.type == "function_definition":
            return False
        if parent.type == "pipeline" or any(child.type == "&" for child in parent.children):
            return True
    return False
