"""Takes the values of secrets out of what a plugin says: results of tools, errors, messages of its server."""

import json
from typing import Any, Final, cast

REDACTED: Final = "[redacted]"

MIN_SECRET_LENGTH: Final = 6
"""Shorter ones occur in ordinary text, and everything would be full of holes."""


class SecretRedactor:
    """Knows values that nobody may see. Values that were changed are still known until the server ends."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._longest_first: tuple[str, ...] = ()

    def register(self, *secrets: str) -> None:
        """Take these out from now on, in the forms in which they turn up in JSON as well."""
        for secret in secrets:
            if len(secret) >= MIN_SECRET_LENGTH:
                self._secrets |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        # One secret may be the beginning of another.
        self._longest_first = tuple(sorted(self._secrets, key=len, reverse=True))

    def text(self, text: str) -> str:
        """Return a text without the secrets in it."""
        for secret in self._longest_first:
            text = text.replace(secret, REDACTED)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value without the secrets in its texts and keys."""
        if not self._longest_first:
            return value
        match value:
            case str():
                return self.text(value)
            case dict():
                pairs = cast("dict[Any, Any]", value).items()
                return {self.text(key) if isinstance(key, str) else key: self.value(one) for key, one in pairs}
            case list():
                return [self.value(one) for one in cast("list[Any]", value)]
            case _:
                return value
