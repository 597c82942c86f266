"""Placeholders in scenario texts: ``{{ last_tool_result | first 20 lines | code }}``.

A small language on purpose: a scenario author needs names and a few helpers, not a programming language. A text is
filled in one pass, so words quoted from a conversation are never themselves read as placeholders.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from claude_sdk_pattern.model_gateway.scripted.errors import PlayError

CONVERSATION_NAMES = frozenset(
    {
        "prompt",
        "model",
        "attachments",
        "working_directory",
        "message_count",
        "turn_number",
        "first_message",
        "previous_message",
        "earlier_messages",
        "messages_in_between",
        "last_answer",
        "last_tool_result",
        "tool_results",
        "tool_names",
    }
)
"""Names that every scenario may use; ``conversation.py`` gives them their values, the docs explain them."""

_PLACEHOLDER = re.compile(r'\{\{((?:"[^"]*"|[^"{}])*)\}\}')
_FIRST = re.compile(r"first (\d+) (line|word)s?")
_OR = re.compile(r'or "([^"]*)"')


def is_template(text: str) -> bool:
    return _PLACEHOLDER.search(text) is not None


def problems(text: str, names: frozenset[str]) -> Iterator[str]:
    """Say, in words for the author, what is wrong with the placeholders of ``text``; nothing when all is well."""
    for match in _PLACEHOLDER.finditer(text):
        name, *helpers = _parts(match[1])
        if name not in names:
            yield f'"{{{{ {name} }}}}" is not known here; use one of: {", ".join(sorted(names))}'
        for helper in helpers:
            if _helper(helper) is None:
                yield (
                    f'"| {helper}" is not known; use one of: | code, | quote, | one line, | json, '
                    '| first 20 lines, | first 5 words, | or "other words"'
                )


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with each placeholder replaced. A name without a value is an empty text."""

    def replace(match: re.Match[str]) -> str:
        name, *helpers = _parts(match[1])
        value = values.get(name, "")
        for written in helpers:
            helper = _helper(written)
            if helper is not None:  # the loader refused unknown ones
                value = helper(value)
        return value

    return _PLACEHOLDER.sub(replace, text)


def fill_number(value: float | str, values: Mapping[str, str]) -> float:
    """Return the number that ``value`` stands for. Raises PlayError when the words put in are no number."""
    if not isinstance(value, str):
        return value
    words = fill(value, values).strip()
    try:
        return float(words)
    except ValueError:
        raise PlayError(f'I need a number there, and "{words}" is none.') from None


def _parts(inside: str) -> list[str]:
    return [part.strip() for part in inside.split("|")]


def _helper(written: str) -> Callable[[str], str] | None:
    if written in _HELPERS:
        return _HELPERS[written]
    if first := _FIRST.fullmatch(written):
        split, joint = (str.splitlines, "\n") if first[2] == "line" else (str.split, " ")
        return lambda value: joint.join(split(value)[: int(first[1])])
    if other := _OR.fullmatch(written):
        return lambda value: value or other[1]
    return None


def _code(value: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", value)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{value}\n{fence}"


_HELPERS: dict[str, Callable[[str], str]] = {
    "code": _code,
    "quote": lambda value: "\n".join(f"> {line}" for line in value.splitlines()),
    "one line": lambda value: " ".join(value.split()),
    "json": json.dumps,
}
