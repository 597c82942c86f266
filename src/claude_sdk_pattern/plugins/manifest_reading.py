"""Reads a manifest from its text. Every fault is a problem with its place and what to write instead."""

import difflib
import json
from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError

from claude_sdk_pattern.plugins import manifest as models
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import MANIFEST_FILE, MANIFEST_VERSION, Manifest

MAX_MANIFEST_BYTES: Final = 1_048_576

_EXAMPLES: Final = {
    "name": 'write lower-case letters, digits and hyphens, such as "weather-report"',
    "module": 'write a Python module, such as "weather.tools"',
    "function": 'write a module and a function, such as "weather.hooks:check"',
    "url": 'write an address, such as "https://mcp.example.org/mcp"',
    "hosts": 'write a host, such as "api.example.org" or "*.example.org"',
    "author": 'write a name, or {"name": "...", "email": "..."}',
}

_REQUIRED: Final = {
    "manifest_version": f'"{MANIFEST_VERSION}"',
    "name": '"my-plugin"',
    "version": '"0.1.0"',
    "type": '"tool"',
    "module": '"my_plugin.tools"',
    "command": '"python3"',
    "url": '"https://..."',
    "description": '"..."',
}

_KNOWN_KEYS: Final = sorted(
    {
        field.alias or name
        for model in vars(models).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name, field in model.model_fields.items()
    }
)


def read_json(text: bytes, *, file: str) -> Any:
    """Return what a JSON file holds.

    Raises:
        InvalidPluginError: it is too long, no UTF-8, no JSON, or names a key twice in one object.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InvalidPluginError(
                    [PluginProblem(file=file, path=key, message="stands there twice", hint="keep one of them")]
                )
            found[key] = value
        return found

    if len(text) > MAX_MANIFEST_BYTES:
        raise InvalidPluginError([PluginProblem(file=file, message=f"has more than {MAX_MANIFEST_BYTES} bytes")])
    try:
        return json.loads(text.decode("utf-8-sig"), object_pairs_hook=unique)
    except UnicodeDecodeError:
        problem = PluginProblem(file=file, message="is no UTF-8 text", hint="save it as UTF-8")
    except json.JSONDecodeError as error:
        problem = PluginProblem(
            file=file, message=f"is no JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        )
    except RecursionError:
        problem = PluginProblem(file=file, message="is nested too deeply")
    raise InvalidPluginError([problem])


def read_manifest(text: bytes, *, file: str = MANIFEST_FILE) -> Manifest:
    """Return the manifest in a text.

    Raises:
        InvalidPluginError: it is none; ``problems`` are all that were found.
    """
    data = read_json(text, file=file)
    if not isinstance(data, dict):
        raise InvalidPluginError([PluginProblem(file=file, message="has to be an object", hint="write { ... }")])
    found = cast("dict[str, Any]", data)
    if (problem := _version_problem(found, file)) is not None:
        raise InvalidPluginError([problem])
    try:
        return Manifest.model_validate(found)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=True)
        raise InvalidPluginError(_unrepeated([_problem(fault, found, file) for fault in faults])) from error


def _version_problem(data: dict[str, Any], file: str) -> PluginProblem | None:
    """Say what is wrong with the manifest's version: nothing else can be judged before."""
    version = data.get("manifest_version")
    if version == MANIFEST_VERSION:
        return None
    where, write = "manifest_version", f'write "manifest_version": "{MANIFEST_VERSION}"'
    if version is None:
        return PluginProblem(file=file, path=where, message="is missing", hint=write)
    if str(version) == MANIFEST_VERSION:
        return PluginProblem(file=file, path=where, message="has to be text", hint=write)
    return PluginProblem(
        file=file,
        path=where,
        message=f"{str(version)[:20]!r} is not supported; this server reads {MANIFEST_VERSION!r}",
        hint=f"{write} and describe the plugin as docs/plugins.md does under Manifest versions, "
        "or run it on a server that reads its version",
    )


def _problem(fault: Any, data: dict[str, Any], file: str) -> PluginProblem:
    kind: str = fault["type"]
    location = _location(fault["loc"], data)
    name = next((str(part) for part in reversed(location) if isinstance(part, str)), "")
    message, hint = str(fault["msg"]).removeprefix("Value error, "), _EXAMPLES.get(name, "")
    match kind:
        case "missing":
            message, hint = "is missing", f'write "{name}": {_REQUIRED.get(name, "...")}'
        case "extra_forbidden":
            message, hint = "is no field here", _likely(name)
        case "literal_error" | "union_tag_invalid":
            expected = fault["ctx"].get("expected") or fault["ctx"].get("expected_tags")
            message, hint = "is not one of the values there are", f"write {expected}"
        case "union_tag_not_found":
            message, hint = "has no `type`", 'write "type": "stdio", "http" or "sse"'
        case "string_pattern_mismatch":
            message = "is not written as it has to be"
            hint = hint or f"it has to match {fault['ctx']['pattern']}"
        case _:
            pass
    return PluginProblem(file=file, path=_written(location), message=message, hint=hint)


def _location(raw: Sequence[str | int], data: Any) -> list[str | int]:
    """Return where a fault is in the file: pydantic also names the kinds it tried on its way."""
    place: list[str | int] = []
    for index, part in enumerate(raw):
        is_last = index == len(raw) - 1
        if isinstance(data, dict) and (part in data or is_last):
            place.append(part)
            data = data.get(part)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):  # pyright: ignore[reportUnknownArgumentType]
            place.append(part)
            data = data[part]  # pyright: ignore[reportUnknownVariableType]
    return place


def _written(location: Sequence[str | int]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:64]}" for part in location)
    return path.removeprefix(".")


def _likely(name: str) -> str:
    close = difflib.get_close_matches(name, _KNOWN_KEYS, n=1)
    return f"did you mean `{close[0]}`? Otherwise remove it" if close else "remove it"


def _unrepeated(problems: Sequence[PluginProblem]) -> list[PluginProblem]:
    """Return the problems without repetitions: a union reports each of its members."""
    return list(dict.fromkeys(problems))
