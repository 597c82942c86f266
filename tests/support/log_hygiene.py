"""What must not be in a server's log: secrets of any kind, and whatever a test planted to be looked for.

Every server that tests start writes to a file, and each file is looked at when its server ends. A test that wants to
know whether something leaks has only to put :data:`CANARY` in it.
"""

import re
from pathlib import Path
from typing import Final

from tests.support.platform import PASSWORD, REAL_KEY, SECRET_KEY

CANARY: Final = "canary"
"""Part of what tests plant in messages, titles, file names, inputs of tools and keys."""

_FORBIDDEN: Final = {
    "the password of a user": re.escape(PASSWORD),
    "the signing key": re.escape(SECRET_KEY),
    "the key of the model's API": re.escape(REAL_KEY),
    "an API key": r"sk-ant-[\w-]{8,}",
    "an access token": r"eyJ[\w-]{10,}\.[\w-]{10,}\.",
    "a refresh token or ticket": r"csp_(?:rt|tk)_[\w-]{8,}",
    "the token of an agent process": r"\bcsp-[\w-]{43}\b",
    "a query, which may hold a ticket": r"[?&]ticket=(?!\[redacted\])",
    "what a test planted": CANARY,
}


def leaks_in(log: str) -> list[str]:
    """Return what was found that must not be there, with the line it is in."""
    return [
        f"{what}: {line[:500]}"
        for line in log.splitlines()
        for what, pattern in _FORBIDDEN.items()
        if re.search(pattern, line, re.IGNORECASE)
    ]


def assert_clean(file: Path) -> None:
    """Fail if a log holds what it must not."""
    leaks = leaks_in(file.read_text(errors="replace")) if file.exists() else []
    assert not leaks, "\n".join(["the server's log holds", *leaks[:10]])
