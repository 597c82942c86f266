"""Takes references to secret variables out of what an agent wants to run.

No real key is in an agent's environment. This keeps a habit from becoming a leak the day one is, and keeps the
session's own token out of transcripts.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from claude_sdk_pattern.policy.calls import JsonObject
from claude_sdk_pattern.policy.shell import Reference, Script

_REFERENCE = re.compile(r"\$\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)[^}]*\}|\$(?P<plain>[A-Za-z_][A-Za-z0-9_]*)")


def is_secret(name: str, patterns: Sequence[str]) -> bool:
    """Whether a variable of this name is secret."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def secret_references(script: Script, patterns: Sequence[str]) -> list[Reference]:
    """Return the places of a script where a secret variable is expanded."""
    return [found for found in script.references if is_secret(found.name, patterns)]


def without_references(text: str, references: Sequence[Reference]) -> str:
    """Return a script with these references replaced by nothing."""
    encoded = text.encode()
    for found in sorted(references, key=lambda reference: reference.start, reverse=True):
        encoded = encoded[: found.start] + (b"" if found.is_quoted else b"''") + encoded[found.end :]
    return encoded.decode()


def without_secrets(value: JsonObject, patterns: Sequence[str]) -> tuple[JsonObject, list[str]]:
    """Return an input without references to secret variables, and the names that were in it."""
    names: list[str] = []

    def cleaned(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        if not is_secret(name, patterns):
            return match[0]
        names.append(name)
        return ""

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return _REFERENCE.sub(cleaned, item)
        if isinstance(item, list):
            return [walk(element) for element in item]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(item, dict):
            return {key: walk(element) for key, element in item.items()}  # pyright: ignore[reportUnknownVariableType]
        return item

    return walk(value), names
