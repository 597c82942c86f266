"""The documents against the code they describe: whatever is public has to be written down, and nothing else may be.

Real: the documents, the models, the routes and the settings of this checkout. Error codes and close codes are read
out of the source, where they are literals.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from pydantic import AliasChoices, BaseModel
from pydantic_core import PydanticUndefined
from typer.core import TyperGroup
from typer.main import get_group

from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.api import frames
from claude_sdk_pattern.api.event_stream import QueryStream
from claude_sdk_pattern.api.schema import openapi_schema
from claude_sdk_pattern.cli import app
from claude_sdk_pattern.config.settings import ENV_PREFIX, Settings
from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.model_gateway.breaker import BreakerState
from claude_sdk_pattern.telemetry.metrics import Metrics, Start, WatchdogAction

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "claude_sdk_pattern"
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def _section(title: str, document: str = PROTOCOL) -> str:
    """Return what stands under a heading, without the sections below it."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", document, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title!r}"
    return found[1]


def _rows(text: str) -> dict[str, list[str]]:
    """Return the rows of all tables in a text, by what stands in backticks in their first column."""
    rows: dict[str, list[str]] = {}
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_heading = following.startswith("|---")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and not is_heading and (name := re.match(r"`([^`]+)`", cells[0])):
            rows[name[1]] = cells
    return rows


def _names(cell: str) -> set[str]:
    """Return what stands in backticks in a table's cell, without the mark of what is optional."""
    return {name.rstrip("?") for name in re.findall(r"`([^`]+)`", cell)}


def _fields(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields) - {"type"}


def _literal(model: type[BaseModel], field: str) -> str:
    (value,) = get_args(model.model_fields[field].annotation)
    return value


def _members(union: Any) -> list[type[BaseModel]]:
    """Return the models of a discriminated union, through annotations and unions inside it."""
    if isinstance(union, type):
        return [union]
    found = [part for part in get_args(getattr(union, "__value__", union)) if isinstance(part, type) or get_args(part)]
    return [model for part in found for model in _members(part)]


# --- settings ---------------------------------------------------------------------------------------------------


def _variable(field: str) -> str:
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else (ENV_PREFIX + field).upper()


def _default(field: str) -> str | None:
    """Return a setting's default as one would write it in the environment; None for a setting without one."""
    default = Settings.model_fields[field].default
    if isinstance(default, tuple):
        return ",".join(cast("tuple[str, ...]", default))
    match default:
        case value if value is PydanticUndefined:
            return None
        case None:
            return ""
        case bool(value):
            return str(value).lower()
        case float(value):
            return f"{value:g}"
        case value:
            return str(value)


def test_every_setting_is_documented_with_its_default_and_meaning() -> None:
    expected = {
        _variable(field): [
            f"`{_variable(field)}`",
            {None: "required", "": "unset"}.get(_default(field), f"`{_default(field)}`"),
            info.description,
        ]
        for field, info in Settings.model_fields.items()
    }
    assert _rows(CONFIGURATION) == expected


def test_env_example_holds_every_setting_with_its_default() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    held = dict(line.removeprefix("#").split("=", 1) for line in lines if re.match(r"#?[A-Z_]+=", line))
    assert held == {_variable(field): _default(field) or "" for field in Settings.model_fields}


# --- security ---------------------------------------------------------------------------------------------------


def test_every_test_behind_a_promise_is_there() -> None:
    promises = _section("Promises", SECURITY) + "".join(
        _section(title, SECURITY) for title in re.findall(r"^### (.*)$", SECURITY, re.MULTILINE)
    )
    rows = [line for line in promises.splitlines() if line.startswith("|") and not line.startswith("|--")]
    rows = [row for row in rows if row != "| promise | test |"]
    assert len(rows) > 15
    for row in rows:
        tests = re.findall(r"`([^`]+\.(?:py|tsx?))`", row)
        assert tests, row
        for test in tests:
            assert (ROOT / test).is_file(), test


def test_every_action_of_the_audit_log_is_documented() -> None:
    assert set(_rows((ROOT / "docs" / "audit.md").read_text())) == {action.value for action in AuditAction}


# --- the protocol -----------------------------------------------------------------------------------------------


def test_every_event_of_the_tape_is_documented_with_its_fields() -> None:
    rows = _rows(_section("Events of the tape"))
    models = {_literal(model, "type"): model for model in _members(events.AnyEvent)}
    assert {name: _names(cells[1]) for name, cells in rows.items()} == {
        name: _fields(model) for name, model in models.items()
    }


@pytest.mark.parametrize("name", [*get_args(events.StatusName), *get_args(events.ResultSubtype)])
def test_every_status_and_result_subtype_is_explained(name: str) -> None:
    assert f"`{name}`" in _section("Events of the tape")


def test_every_frame_from_the_client_is_documented_with_its_fields() -> None:
    rows = _rows(_section("From the client"))
    expected: dict[str, set[str]] = {}
    for model in _members(frames.ClientFrame):
        if "command" in model.model_fields:
            expected["session_command"] = {"command"}
            expected[_literal(model, "command")] = _fields(model) - {"command"}
        else:
            expected[_literal(model, "type")] = _fields(model)
    assert {name: _names(cells[1]) for name, cells in rows.items()} == expected


def test_every_frame_about_a_connection_is_documented_with_its_fields() -> None:
    rows = _rows(_section("About this connection"))
    assert {name: _names(cells[1]) for name, cells in rows.items()} == {
        _literal(model, "type"): _fields(model) for model in _members(frames.ServerFrame)
    }


def test_every_rest_route_is_documented() -> None:
    documented = {line for line in _rows(_section("REST")) if line.split()[0].isupper()}
    served = {f"{method.upper()} {path}" for path, methods in openapi_schema()["paths"].items() for method in methods}
    assert documented == served


def test_every_event_of_the_query_stream_is_documented() -> None:
    source = ast.parse((SOURCE / "api" / "event_stream.py").read_text())
    told = {
        node.value.elts[0].value
        for node in ast.walk(source)
        if isinstance(node, ast.Yield)
        and isinstance(node.value, ast.Tuple)
        and isinstance(node.value.elts[0], ast.Constant)
    }
    assert QueryStream.__doc__ is not None
    assert set(_rows(_section("Server-sent events"))) == told


def test_every_close_code_is_documented() -> None:
    used = {
        str(node.value.value)
        for node in ast.walk(ast.parse((SOURCE / "api" / "websocket.py").read_text()))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int)
        and 1000 <= node.value.value <= 4999
    }
    assert set(_rows(_section("Close codes"))) == used


def test_every_error_code_is_documented() -> None:
    files = [path for room in ("api", "sessions") for path in (SOURCE / room).glob("*.py")]
    used = {code for path in files for code in _error_codes(ast.parse(path.read_text()))}
    assert set(_rows(_section("Error codes"))) == used


def _error_codes(module: ast.Module) -> Iterator[str]:
    """Yield the error codes in a module, in the shapes in which this project writes them."""
    for node in ast.walk(module):
        match node:
            # Error(code="..."), ErrorFrame(code="...")
            case ast.Call(keywords=keywords):
                for keyword in keywords:
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                        yield from _code(keyword.value.value)
                # Problem(409, "...", ...), _told("...", ...)
                match node:
                    case ast.Call(func=ast.Name(id="Problem"), args=[_, ast.Constant(value=value), *_]):
                        yield from _code(value)
                    case ast.Call(func=ast.Name(id="_told"), args=[ast.Constant(value=value), *_]):
                        yield from _code(value)
                    case _:
                        pass
            # {409: "..."} for the errors of HTTP itself
            case ast.Dict(keys=[ast.Constant(value=int()), *_], values=values):
                for value in values:
                    if isinstance(value, ast.Constant):
                        yield from _code(value.value)
            # {Probe.READY: ("...", "Title")}
            case ast.Dict(values=[ast.Tuple(elts=[ast.Constant(), ast.Constant()]), *_] as values):
                for value in values:
                    if isinstance(value, ast.Tuple) and isinstance(value.elts[0], ast.Constant):
                        yield from _code(value.elts[0].value)
            # return "...", True
            case ast.Return(value=ast.Tuple(elts=[ast.Constant(value=value), ast.Constant(value=bool())])):
                yield from _code(value)
            case _:
                pass


def _code(value: object) -> Iterator[str]:
    if isinstance(value, str) and _CODE.fullmatch(value):
        yield value


# --- operations -------------------------------------------------------------------------------------------------


def test_every_metric_is_documented_with_the_values_of_its_labels() -> None:
    rows = _rows(_section("Metrics", OPERATIONS))
    assert set(rows) == Metrics().names
    for name, values in (
        ("csp_session_init_duration_seconds", get_args(Start.__value__)),
        ("csp_watchdog_actions_total", get_args(WatchdogAction.__value__)),
    ):
        assert set(values) <= _names(rows[name][2])
    for state in BreakerState:
        assert f"{state.value} {state.name.lower().replace('_', '-')}" in rows["csp_circuit_breaker_state"][2]


def test_every_command_is_documented() -> None:
    rows = [row.split() for row in _rows(_section("Commands")) if row.startswith("claude-sdk-pattern ")]
    commands: set[str] = set()
    for name, command in get_group(app).commands.items():
        inner = list(command.commands) if isinstance(command, TyperGroup) else []
        commands |= {f"{name} {sub}" for sub in inner} or {name}
    assert {" ".join(words[1:3]) for words in rows} == commands


# --- links ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path) if path else document
        assert file.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in _anchors(file.read_text()), f"{target}: no such heading"


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for decision in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        number, title = int(decision.name[:4]), decision.read_text().splitlines()[0].split(". ", 1)[1]
        assert f"{number}. [{title}](decisions/{decision.name})" in index


def test_every_runtime_dependency_has_its_reason_written_down() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=~!]", dependency)[0] for dependency in project["dependencies"]}
    decision = (ROOT / "docs" / "decisions" / "0002-runtime-dependencies.md").read_text()
    assert {name for cells in _rows(decision).values() for name in _names(cells[0])} == declared
