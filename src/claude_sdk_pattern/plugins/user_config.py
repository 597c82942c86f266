"""``userConfig`` of Claude Code's format: what a plugin asks people for, as the JSON Schema of a configuration.

The values are given to Claude Code with its settings. It puts them where the plugin writes ``${user_config.KEY}``, and
into the environment of its hooks as ``CLAUDE_PLUGIN_OPTION_KEY``. Hooks and servers run beside the agent as the same
user, so the agent can read what they are given. That is why secrets are not asked for.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from claude_sdk_pattern.plugins.errors import PluginProblem

_TYPES: Final = {
    "string": "string",
    "number": "number",
    "boolean": "boolean",
    "directory": "string",
    "file": "string",
}

_KEYWORDS: Final = {
    "title": "title",
    "description": "description",
    "default": "default",
    "min": "minimum",
    "max": "maximum",
    "options": "enum",
}


def config_schema(user_config: Any) -> dict[str, Any]:
    """Return the JSON Schema of what is asked for; empty for nothing."""
    fields = {key: field for key, field in _fields(user_config) if field.get("sensitive") is not True}
    if not fields:
        return {}
    return {
        "type": "object",
        "properties": {key: _property(field) for key, field in fields.items()},
        "required": [key for key, field in fields.items() if field.get("required") is True],
    }


def secret_problems(user_config: Any, *, file: str) -> Iterator[PluginProblem]:
    """Yield a problem for each secret that a plugin would like to have."""
    for key, field in _fields(user_config):
        if field.get("sensitive") is True:
            yield PluginProblem(
                file=file,
                path=f"userConfig.{key}",
                message="is a secret and not asked for, because the agent could read it: what needs it will not work",
                hint="a plugin of this platform's own format can keep a secret from the agent",
            )


def _fields(user_config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(user_config, dict):
        for key, field in cast("dict[str, Any]", user_config).items():
            if isinstance(field, dict):
                yield key, cast("dict[str, Any]", field)


def _property(field: dict[str, Any]) -> dict[str, Any]:
    kind = _TYPES.get(str(field.get("type")), "string")
    found: dict[str, Any] = {"type": kind}
    if field.get("multiple") is True:
        found = {"type": "array", "items": found}
    return found | {keyword: field[name] for name, keyword in _KEYWORDS.items() if name in field}
