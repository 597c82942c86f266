"""Patterns of commands, such as ``git push *`` or ``rm ** -*r* **``, as one regular expression for many.

Within a word ``*``, ``?`` and ``[...]`` are as in file names. ``*`` as last word stands for any rest, ``**`` for any
words in between. A pattern that begins with ``NAME=`` is about a variable set for the command; one whose program has a
folder is about the program in that folder alone.
"""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from claude_sdk_pattern.policy.shell import Command

# Ends each word. The shell has no such character in a word, so no word can pose as two.
_END = "\0"

_ANY_WORDS = f"(?:[^{_END}]*{_END})*"


def command_matches(command: Command, patterns: Sequence[str]) -> bool:
    """Whether a command fits one of the patterns."""
    expression = _compiled(tuple(patterns))
    text = _END.join(command.text) + _END
    if expression.fullmatch(text):
        return True
    if command.path != command.program and expression.fullmatch(command.path + text[len(command.program) :]):
        return True
    return any(expression.fullmatch(f"{name}={_END}{text}") for name in command.variables)


@lru_cache(maxsize=1024)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern) for pattern in patterns), re.DOTALL)


def _expression(pattern: str) -> str:
    try:
        words = shlex.split(pattern)
    except ValueError:
        # A quotation mark that stands alone means itself.
        words = pattern.split()
    parts = [
        _ANY_WORDS if word == "**" or (word == "*" and index == len(words) - 1) else _word(word) + _END
        for index, word in enumerate(words)
    ]
    return "".join(parts)


def _word(word: str) -> str:
    """Return the expression of one word. ``fnmatch.translate`` has none that stays within a word."""
    found: list[str] = []
    rest = word
    while rest:
        bracket = re.match(r"\[(!?)(\]?[^\]]*)\]", rest)
        if rest[0] == "*":
            found.append(f"[^{_END}]*")
        elif rest[0] == "?":
            found.append(f"[^{_END}]")
        elif bracket:
            inside = bracket[2].replace("\\", r"\\").replace("^", r"\^")
            found.append(f"[{'^' if bracket[1] else ''}{inside}]")
            rest = rest[bracket.end() :]
            continue
        else:
            found.append(re.escape(rest[0]))
        rest = rest[1:]
    return "".join(found)
