"""Placeholders. Pure; nothing is faked."""

import pytest

from claude_sdk_pattern.model_gateway.scripted.errors import PlayError
from claude_sdk_pattern.model_gateway.scripted.templates import fill, fill_number, problems


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ name }}!", "a b\nc!"),
        ("{{name | one line}}", "a b c"),
        ("{{ name | quote }}", "> a b\n> c"),
        ("{{ name | first 1 line }}", "a b"),
        ("{{ name | first 2 words }}", "a b"),
        ("{{ name | code }}", "```\na b\nc\n```"),
        ("{{ name | json }}", '"a b\\nc"'),
        ('{{ empty | or "{}" }}', "{}"),
        ('{{ empty | or "" }}', ""),
        ('{{ name | or "x" | one line }}', "a b c"),
        ("{ not one }", "{ not one }"),
    ],
)
def test_a_placeholder_is_filled_in(template: str, expected: str) -> None:
    assert fill(template, {"name": "a b\nc", "empty": ""}) == expected


def test_words_put_in_are_not_read_as_placeholders() -> None:
    assert fill("{{ prompt }}", {"prompt": "{{ model }}", "model": "secret"}) == "{{ model }}"


def test_a_code_block_is_fenced_longer_than_any_fence_inside() -> None:
    assert fill("{{ x | code }}", {"x": "```\na\n```"}) == "````\n```\na\n```\n````"


def test_words_that_are_no_number_are_refused_with_the_words() -> None:
    assert fill_number("{{ x }}", {"x": "2.5"}) == 2.5
    with pytest.raises(PlayError, match="many"):
        fill_number("{{ x }}", {"x": "many"})


def test_problems_name_the_unknown_and_the_known() -> None:
    assert list(problems("{{ prompt | code }}", frozenset({"prompt"}))) == []
    (name, helper) = problems("{{ promt | shout }}", frozenset({"prompt"}))
    assert "promt" in name
    assert "prompt" in name
    assert "shout" in helper
