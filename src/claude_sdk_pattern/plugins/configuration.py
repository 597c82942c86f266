"""The configuration of a plugin against its schema: values, defaults, and secrets that are kept apart."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator, ValidationError

from claude_sdk_pattern.plugins.errors import InvalidConfigError, PluginProblem
from claude_sdk_pattern.plugins.manifest import secret_keys
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.secret_store import MASK, MAX_SECRET_LENGTH

MAX_CONFIG_BYTES: Final = 262_144

_FILE: Final = "config"


def split_values(package: PluginPackage, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return a new configuration, and the secrets that change with it (``None``: removed).

    A secret that is left out or masked stays as it is. Every other key that is left out goes back to its default.

    Raises:
        InvalidConfigError: a value does not fit. That one is still missing is no fault: see :func:`check_complete`.
    """
    secrets = secret_keys(dict(package.config_schema))
    plain = {key: value for key, value in values.items() if key not in secrets and value is not None}
    changed = {key: value for key, value in values.items() if key in secrets and value != MASK}
    problems = [*_faults(package.config_schema, {**plain, **_given(changed)}, ignore_missing=True)]
    problems += [_problem(key, "is too long") for key, value in changed.items() if len(str(value)) > MAX_SECRET_LENGTH]
    if len(orjson.dumps(plain)) > MAX_CONFIG_BYTES:
        problems.append(_problem("", f"has more than {MAX_CONFIG_BYTES} bytes"))
    if problems:
        raise InvalidConfigError(problems)
    return plain, changed


def with_defaults(schema: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the defaults of its schema filled in."""
    properties: dict[str, Any] = schema.get("properties", {})
    defaults = {key: part["default"] for key, part in properties.items() if "default" in part}
    # What an older version of the plugin had is kept in the database and not handed to this one.
    return {**defaults, **{key: value for key, value in config.items() if key in properties}}


def check_complete(package: PluginPackage, config: Mapping[str, Any], present_secrets: Collection[str]) -> None:
    """Do nothing if a plugin could be started with a configuration and the secrets that are set.

    Raises:
        InvalidConfigError: something is missing, or an update has made the schema another one.
    """
    schema = package.config_schema
    secrets = secret_keys(dict(schema)) & set(present_secrets)
    whole = with_defaults(schema, config)
    missing = [key for key in schema.get("required", []) if key not in whole and key not in secrets]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    problems = [_problem(str(key), "has to be set") for key in missing]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    problems += _faults(schema, whole, ignore_missing=True)
    if problems:
        raise InvalidConfigError(problems)


def _faults(schema: Mapping[str, Any], config: Mapping[str, Any], *, ignore_missing: bool) -> Iterator[PluginProblem]:
    closed: dict[str, Any] = {"additionalProperties": False, "type": "object", "properties": {}, **schema}
    if ignore_missing:
        closed.pop("required", None)
    error: ValidationError
    for error in Draft202012Validator(closed).iter_errors(dict(config)):  # pyright: ignore[reportUnknownMemberType]
        path = ".".join(str(part) for part in error.absolute_path)
        yield _problem(path, _said(error, schema))


def _said(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Return what is wrong, without the value: it may be a secret that was sent under a wrong name."""
    match error.validator:
        case "type":
            return f"has to be of the type {error.validator_value}"
        case "enum":
            return f"has to be one of {error.validator_value}"
        case "additionalProperties":
            return f"has a key that is not one of {sorted(schema.get('properties', {}))}"
        case other:
            return f"does not fit: {other} is {str(error.validator_value)[:100]}"


def _given(secrets: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in secrets.items() if value is not None}


def _problem(path: str, message: str) -> PluginProblem:
    return PluginProblem(file=_FILE, path=path, message=message)
