"""Scenario files: what is refused and in which words, and which scenario answers which message. Real files on disk."""

from pathlib import Path

import pytest

from claude_sdk_pattern.model_gateway.scripted import ScenarioError, Scenarios, load_scenarios


@pytest.fixture(scope="module")
def packaged() -> Scenarios:
    return load_scenarios()


@pytest.mark.parametrize(
    ("message", "name", "words"),
    [
        ("Hello!", "tour", {}),
        ("  what can you do?? ", "tour", {}),
        ("say exactly: Hello", "say-exactly", {"text": "Hello"}),
        ("say exactly: two\nlines", "say-exactly", {"text": "two\nlines"}),
        (
            "stream 200 tokens at 50 tokens per second",
            "stream-tokens",
            {"count": "200", "rate": "50", "timestamps": ""},
        ),
        (
            "Stream 5 tokens with timestamps",
            "stream-tokens",
            {"count": "5", "rate": "", "timestamps": " with timestamps"},
        ),
        ("long answer of 5000 words", "long-answer-of", {"words": "5000"}),
        ("think about the moon", "think-about", {"topic": "the moon"}),
        ("write file a/b.txt with x y", "write-file", {"name": "a/b.txt", "content": "x y"}),
        ("read file a.txt", "read-file", {"name": "a.txt"}),
        ("edit file a.txt: replace x with y", "edit-file", {"name": "a.txt", "old": "x", "new": "y"}),
        ("call mcp tool s t with {}", "call-mcp-tool", {"server": "s", "tool": "t", "arguments": "{}"}),
        ("call tool Glob", "call-tool", {"tool": "Glob", "arguments": ""}),
        ("What did I tell you earlier?", "recall", {}),
        ("fail with status 529", "fail-with-status", {"status": "529", "attempts": "", "wait": ""}),
        (
            "fail with 429 2 times, retry after 0.5 seconds",
            "fail-with-status",
            {"status": "429", "attempts": "2", "wait": "0.5"},
        ),
        ("start a subagent to run bash: ls", "subagent", {"task": "run bash: ls"}),
    ],
)
def test_the_packaged_scenario_is_chosen_by_the_words(
    packaged: Scenarios, message: str, name: str, words: dict[str, str]
) -> None:
    match = packaged.choose(message)
    assert match is not None
    assert (match.scenario.name, match.words) == (name, words)


def test_a_message_that_fits_nothing_has_no_scenario(packaged: Scenarios) -> None:
    assert packaged.choose("Please refactor the billing module.") is None


def test_every_scenario_can_be_reached_by_its_first_whole_message(packaged: Scenarios) -> None:
    for scenario in packaged.scenarios:
        for phrase in scenario.when.says:
            match = packaged.choose(phrase)
            assert match is not None
            assert match.scenario.name == scenario.name


def test_own_scenarios_come_first_and_replace_those_of_the_same_name(tmp_path: Path) -> None:
    _write(tmp_path, "own.yaml", _scenario("tour", "says: [guide me]"), _scenario("mine", "mentions: [say exactly]"))
    scenarios = load_scenarios([tmp_path])
    assert scenarios.choose("hello") is None
    assert _chosen(scenarios, "guide me") == "tour"
    assert _chosen(scenarios, "say exactly: x") == "mine"


def test_an_own_fallback_replaces_the_packaged_one(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("about: mine\nfallback:\n  say: Pardon?\n")
    assert load_scenarios([tmp_path / "own.yaml"]).fallback.say == "Pardon?"


def test_a_phrase_is_found_as_whole_words_only(tmp_path: Path) -> None:
    _write(tmp_path, "own.yaml", _scenario("cat", "mentions: [the cat]"))
    scenarios = load_scenarios([tmp_path])
    assert _chosen(scenarios, "Look at The  Cat!") == "cat"
    assert scenarios.choose("the category") is None


def test_a_scenario_for_a_tool_needs_the_tool_offered(tmp_path: Path) -> None:
    _write(tmp_path, "own.yaml", _scenario("search", "{mentions: [find], tool_offered: Grep}"))
    scenarios = load_scenarios([tmp_path])
    assert scenarios.choose("find it", ["Bash"]) is None
    assert scenarios.choose("find it", ["Bash", "Grep"]) is not None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("scenarios: [", "this is not YAML"),
        ("- a list", 'a file starts with "about:"'),
        ("scenarios: []", 'field "about": this is missing; add it'),
        ("about: x\nscenario: []", '"scenario" is not known here; write one of: about,'),
        (
            "about: x\nscenarios:\n  - {name: A b, about: x, when: {says: [a]}, steps: [{say: x}]}",
            'scenario "A b", field "name": use small letters',
        ),
        (
            "about: x\nscenarios:\n  - {about: x, when: {says: [a]}, steps: [{say: x}]}",
            'scenario "number 1", field "name": this is missing',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {}, steps: [{say: x}]}",
            'scenario "a", field "when": give at least one of: says, mentions, matches',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {matches: ['(']}, steps: [{say: x}]}",
            'scenario "a", field "when.matches": \'(\' is not a regular expression',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, steps: []}",
            'scenario "a", field "steps": write a list',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, steps: [{pace: {}}]}",
            'scenario "a", field "steps.0": give at least one of: think, say, generate, use, fault',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, "
            "steps: [{say: x, pace: {tokens_per_second: fast}}]}",
            "write a number such as 50, or a placeholder",
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, steps: [{say: '{{ nmae }}'}]}",
            'scenario "a", field "steps.0.say": "{{ nmae }}" is not known here; use one of: attachments,',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, steps: [{say: '{{ prompt | loud }}'}]}",
            'field "steps.0.say": "| loud" is not known; use one of: | code,',
        ),
        (
            "about: x\nscenarios:\n  - {name: a, about: x, when: {says: [a]}, steps: [{fault: {kind: boom}}]}",
            'scenario "a", field "steps.0.fault.kind": ',
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_to_write_instead(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(content)
    with pytest.raises(ScenarioError) as caught:
        load_scenarios([tmp_path])
    assert str(file) in str(caught.value)
    assert complaint in str(caught.value)


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", _scenario("same", "says: [a]"))
    _write(tmp_path, "b.yaml", _scenario("same", "says: [b]"))
    with pytest.raises(ScenarioError, match=r"b\.yaml.*has this name already"):
        load_scenarios([tmp_path])


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file or folder"):
        load_scenarios([tmp_path / "none"])


def _chosen(scenarios: Scenarios, message: str) -> str | None:
    match = scenarios.choose(message)
    return match.scenario.name if match else None


def _scenario(name: str, when: str) -> str:
    inner = when if when.startswith("{") else f"{{{when}}}"
    return f"  - {{name: {name}, about: x, when: {inner}, steps: [{{say: x}}]}}"


def _write(folder: Path, name: str, *scenarios: str) -> None:
    (folder / name).write_text("\n".join(["about: x", "scenarios:", *scenarios]))
