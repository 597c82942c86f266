"""Fills in what a manifest leaves open until a server or an agent is started."""

from collections.abc import Mapping
from typing import Any

from claude_sdk_pattern.plugins.manifest import PLACEHOLDER


def config_values(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a configuration by what stands for them in texts."""
    return {f"config.{key}": _as_text(value) for key, value in config.items()}


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its placeholders filled in; one without a value becomes nothing."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], ""), text)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
