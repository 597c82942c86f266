"""Read scenario files into a ``Scenarios`` collection that knows which scenario answers which message."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from claude_sdk_pattern.model_gateway.scripted.errors import ScenarioError
from claude_sdk_pattern.model_gateway.scripted.schema import Scenario, ScenarioFile, Step, When
from claude_sdk_pattern.model_gateway.scripted.templates import CONVERSATION_NAMES, problems

PACKAGED_FOLDER = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, kw_only=True)
class Match:
    """A chosen scenario and the words that the named groups of its pattern caught (empty text: caught nothing)."""

    scenario: Scenario
    words: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Scenarios:
    """All scenarios in the order in which they are tried, and the answers for when none applies."""

    scenarios: tuple[Scenario, ...]
    fallback: Step
    after_a_failed_tool: Step
    after_the_last_step: Step
    after_a_message_in_between: Step

    def choose(self, prompt: str, tools: Iterable[str] = ()) -> Match | None:
        """Return the first scenario that fits what was written, or None: then ``fallback`` is the answer."""
        offered = set(tools)
        for scenario in self.scenarios:
            needed = scenario.when.tool_offered
            if needed is not None and needed not in offered:
                continue
            words = _fits(scenario.when, prompt)
            if words is not None:
                return Match(scenario=scenario, words=words)
        return None


def load_scenarios(paths: Sequence[Path] | None = None) -> Scenarios:
    """Load the packaged scenarios and those of ``paths`` (files or folders of ``*.yaml``).

    What ``paths`` hold is tried first, in the order given, and replaces a packaged scenario of the same name. Raises
    ScenarioError for the first mistake found.
    """
    own = [_load(file) for path in paths or () for file in _files(path)]
    packaged = [_load(file) for file in _files(PACKAGED_FOLDER)]
    _refuse_same_names(own)
    _refuse_same_names(packaged)
    replaced = {scenario.name for _, content in own for scenario in content.scenarios}
    contents = [content for _, content in own + packaged]
    scenarios = [scenario for _, content in own for scenario in content.scenarios]
    scenarios += [s for _, content in packaged for s in content.scenarios if s.name not in replaced]
    return Scenarios(
        scenarios=tuple(scenarios),
        fallback=_first(content.fallback for content in contents),
        after_a_failed_tool=_first(content.after_a_failed_tool for content in contents),
        after_the_last_step=_first(content.after_the_last_step for content in contents),
        after_a_message_in_between=_first(content.after_a_message_in_between for content in contents),
    )


def _first(steps: Iterable[Step | None]) -> Step:
    return next(step for step in steps if step is not None)  # the packaged files give each


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.yaml"))
    if not path.is_file():
        raise ScenarioError(path, None, None, "there is no such file or folder; check the path")
    return [path]


def _load(file: Path) -> tuple[Path, ScenarioFile]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as problem:
        raise ScenarioError(file, None, None, f"this is not YAML: {_one_line(problem)}") from None
    except UnicodeDecodeError:
        raise ScenarioError(file, None, None, "save the file as UTF-8 text") from None
    if not isinstance(data, dict):
        raise ScenarioError(file, None, None, 'a file starts with "about:" and then lists "scenarios:"')
    try:
        content = ScenarioFile.model_validate(data)
    except ValidationError as problem:
        raise _explained(file, data, problem) from None  # pyright: ignore[reportUnknownArgumentType]
    _refuse_unknown_placeholders(file, content)
    return file, content


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def _explained(file: Path, data: Mapping[str, Any], problem: ValidationError) -> ScenarioError:
    error = problem.errors(include_url=False, include_context=False)[0]
    place = list(error["loc"])
    scenario = None
    if len(place) >= 2 and place[0] == "scenarios" and isinstance(place[1], int):
        scenario = _name_of(data["scenarios"][place[1]], place[1])
        place = place[2:]
    # Where a field has a choice of types, pydantic adds the type that it tried, such as "dict[str,any]".
    field = ".".join(str(part) for part in place if not re.search(r"\W", str(part)))
    return ScenarioError(file, scenario, field or None, _advice(error["type"], error["msg"]))


def _name_of(entry: object, position: int) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return str(name) if name else f"number {position + 1}"  # pyright: ignore[reportUnknownArgumentType]


def _advice(kind: str, message: str) -> str:
    if kind == "missing":
        return "this is missing; add it"
    if kind.startswith(("tuple", "list", "too_short")):
        return "write a list, one entry per line, each starting with a dash"
    if kind.startswith(("string_type",)):
        return "write a text; put quotes around it if it looks like a number or yes/no"
    if kind == "string_pattern_mismatch":
        return "use small letters, digits and dashes only, such as slow-answer"
    if kind.startswith(("model_type", "dict")):
        return "write fields below it, each as name: value, further to the right"
    if kind.startswith(("int", "greater_than")):
        return "write a whole number, 1 or more"
    return message.removeprefix("Value error, ").replace("Input should be", "write one of:")


def _refuse_unknown_placeholders(file: Path, content: ScenarioFile) -> None:
    for scenario in content.scenarios:
        caught = {name for pattern in scenario.when.matches for name in re.compile(pattern).groupindex}
        _check_placeholders(file, scenario.name, scenario, CONVERSATION_NAMES | caught)
    for name in ("fallback", "after_a_failed_tool", "after_the_last_step", "after_a_message_in_between"):
        if (step := getattr(content, name)) is not None:
            _check_placeholders(file, None, step, CONVERSATION_NAMES, name)


def _check_placeholders(
    file: Path, scenario: str | None, part: BaseModel, names: frozenset[str], place: str = ""
) -> None:
    for field, text in _texts(part.model_dump(exclude={"name", "about", "when"}), place):
        for problem in problems(text, names):
            raise ScenarioError(file, scenario, field, problem)


def _texts(tree: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield place, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(value, f"{place}.{key}".lstrip("."))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _texts(value, f"{place}.{index}".lstrip("."))  # pyright: ignore[reportUnknownArgumentType]


def _refuse_same_names(files: Iterable[tuple[Path, ScenarioFile]]) -> None:
    seen: dict[str, Path] = {}
    for file, content in files:
        for scenario in content.scenarios:
            if scenario.name in seen:
                where = seen[scenario.name]
                raise ScenarioError(file, scenario.name, "name", f"{where} has this name already; choose another")
            seen[scenario.name] = file


def _fits(when: When, prompt: str) -> dict[str, str] | None:
    plain = _plain(prompt)
    if any(plain == _plain(phrase) for phrase in when.says):
        return {}
    if any(_phrase_pattern(phrase).search(prompt) for phrase in when.mentions):
        return {}
    for pattern in when.matches:
        if found := _pattern(pattern).search(prompt):
            return {name: value or "" for name, value in found.groupdict().items()}
    return None


def _plain(text: str) -> str:
    words = " ".join(text.casefold().split())
    start, end = 0, len(words)
    while start < end and _is_punctuation(words[start]):
        start += 1
    while end > start and _is_punctuation(words[end - 1]):
        end -= 1
    return words[start:end]


def _is_punctuation(character: str) -> bool:
    return character == " " or unicodedata.category(character)[0] in "PS"


@cache
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
