"""``docs/scripted-model.md`` names everything that a scenario file may hold, and its example works. The real page."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from claude_sdk_pattern.model_gateway.scripted import load_scenarios, schema
from claude_sdk_pattern.model_gateway.scripted.templates import CONVERSATION_NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "scripted-model.md").read_text(encoding="utf-8")
PARTS = [
    part
    for part in vars(schema).values()
    if isinstance(part, type) and issubclass(part, BaseModel) and part.__module__ == schema.__name__
]


def test_every_scenario_is_listed() -> None:
    missing = [scenario.name for scenario in load_scenarios().scenarios if f"`{scenario.name}`" not in PAGE]
    assert missing == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_field_is_explained(part: type[BaseModel]) -> None:
    assert [name for name in part.model_fields if f"`{name}`" not in PAGE] == []


def test_every_placeholder_is_explained() -> None:
    assert [name for name in sorted(CONVERSATION_NAMES) if f"`{name}`" not in PAGE] == []


def test_every_kind_of_fault_and_stop_reason_is_explained() -> None:
    names = [*get_args(schema.FaultKind.__value__), *get_args(schema.StopReason.__value__)]
    assert len(names) == 12
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_example_loads_and_answers(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (tmp_path / "bakery.yaml").write_text(example[1])
    match = load_scenarios([tmp_path]).choose("I order 3 loaves")
    assert match is not None
    assert (match.scenario.name, match.words) == ("order-bread", {"count": "3"})


def test_the_words_that_the_tour_proposes_are_known() -> None:
    scenarios = load_scenarios()
    tour = scenarios.choose("tour")
    assert tour is not None
    proposed = re.findall(r"`([^`]+)`", tour.scenario.steps[0].say or "")
    assert len(proposed) == 9
    assert [words for words in proposed if scenarios.choose(words) is None] == []


def test_the_words_that_the_page_proposes_lead_to_their_scenario() -> None:
    scenarios = load_scenarios()
    table = PAGE.partition("## What you can write")[2].partition("## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (`.+?`) \|", table, re.MULTILINE)
    assert len(rows) > 40
    for name, examples in rows:
        for example in re.findall(r"`([^`]+)`", examples):
            match = scenarios.choose(example)
            assert match is not None, example
            assert match.scenario.name == name
