"""Keeping secrets and floods out of the logs.

What a field is called and what its text looks like both count, and so do the secrets this server knows it has. No
field, however long, fills a disk.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from structlog.typing import EventDict

REDACTED: Final = "[redacted]"

# A log line names things; what was said and done is on the tape.
MAX_FIELD_LENGTH: Final = 2_000
MAX_TRACEBACK_LENGTH: Final = 16_000
MAX_ITEMS: Final = 50
MAX_DEPTH: Final = 5

# Shorter ones occur in ordinary text.
_MIN_SECRET_LENGTH: Final = 8

_SECRET_NAME: Final = re.compile(
    r"password|passwd|secret|token|authorization|api_?key|cookie|ticket|credential|private_?key", re.IGNORECASE
)
_SECRET_TEXT: Final = re.compile(
    r"sk-ant-[\w-]{8,}"  # API keys of the model provider
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*"  # JSON Web Tokens
    r"|csp_(?:rt|tk)_[\w-]+"  # refresh tokens and tickets
    r"|csp-[\w-]{43}"  # tokens of agent processes
    r"|(?<=bearer )[\w.~+/=-]{8,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # user:password in a URL
    r"|(?<=ticket=)[^&\s\"']+",
    re.IGNORECASE,
)


class Redactor:
    """A structlog processor; goes last but for the renderer, when tracebacks are text already."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def register(self, *secrets: str) -> None:
        """Never log these. Also in the middle of a longer text, and whatever the field is called."""
        self._secrets.update(secret for secret in secrets if len(secret) >= _MIN_SECRET_LENGTH)

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        """Return the event with nothing secret and nothing endless in it."""
        return {
            self.text(name, MAX_FIELD_LENGTH): self._field(name, value, _limit(name), MAX_DEPTH)
            for name, value in event.items()
        }

    def text(self, text: str, limit: int) -> str:
        """Return a text without the secrets in it, and no longer than ``limit`` characters."""
        # Cut first: a pattern need not be looked for in a megabyte. A secret that the cut goes through would not be
        # recognised any more, so some more is looked at than is kept.
        kept = text[: limit + MAX_FIELD_LENGTH]
        for secret in self._secrets:
            kept = kept.replace(secret, REDACTED)
        # Half a surrogate pair is no text that could be written down.
        kept = _SECRET_TEXT.sub(REDACTED, kept).encode("utf-8", "backslashreplace").decode()
        if len(text) <= limit and len(kept) <= limit:
            return kept
        return f"{kept[:limit]}... [{len(text)} characters]"

    def _field(self, name: str, value: Any, limit: int, depth: int) -> Any:
        # A count of tokens is no token.
        if value is None or isinstance(value, bool | int | float):
            return value
        if _SECRET_NAME.search(name):
            return REDACTED
        return self._value(value, limit, depth)

    def _value(self, value: Any, limit: int, depth: int) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value, limit)
        if depth > 0 and isinstance(value, Mapping):
            pairs: list[tuple[Any, Any]] = list(value.items())[:MAX_ITEMS]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return {self.text(str(name), limit): self._field(str(name), one, limit, depth - 1) for name, one in pairs}
        if depth > 0 and isinstance(value, list | tuple | set | frozenset):
            items: list[Any] = list(value)[:MAX_ITEMS]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return [self._value(one, limit, depth - 1) for one in items]
        return self.text(_shown(value), limit)


def _limit(name: str) -> int:
    return MAX_TRACEBACK_LENGTH if name in {"exception", "stack"} else MAX_FIELD_LENGTH


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a log line is never worth an exception
        return f"[{type(value).__name__} that cannot be shown: {type(error).__name__}]"


def without_query(path: str) -> str:
    """Return a request's path without its query: tickets and search words are in there."""
    return path.partition("?")[0]
