"""Cursors of paged lists: the place in the list where the next page begins, made opaque."""

import base64
import binascii
from typing import Any, cast

import orjson

from claude_sdk_pattern.api.problems import Problem


def encoded(*place: str | float) -> str:
    """Return the cursor for a place."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode()


def decoded(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """Return the place a cursor stands for, whose parts are of these kinds.

    Raises:
        Problem: 422 ``invalid_cursor``.
    """
    try:
        found: Any = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError) as error:
        raise invalid_cursor() from error
    place = cast("list[Any]", found) if isinstance(found, list) else []
    # PostgreSQL does not even compare with a NUL.
    has_nul = any(isinstance(part, str) and "\0" in part for part in place)
    if has_nul or [type(part) for part in place] != list(kinds):
        raise invalid_cursor()
    return tuple(place)


def invalid_cursor() -> Problem:
    """Return the problem of a cursor that is none of ours."""
    return Problem(422, "invalid_cursor", "The cursor is not one this server gave out.")
