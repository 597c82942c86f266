"""What a username and a password must look like."""

import re

from claude_sdk_pattern.accounts.errors import InvalidUsernameError, WeakPasswordError

MIN_PASSWORD_LENGTH = 8

# Longer ones add nothing but work for whoever checks them.
MAX_PASSWORD_LENGTH = 1024

# The width of the column.
MAX_USERNAME_LENGTH = 64

_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]*")


def normal_username(username: str) -> str:
    """Return the form in which names are stored and looked up: Alice and alice are one user."""
    return username.strip().lower()


def checked_username(username: str) -> str:
    """Return the normal form of a new user's name.

    Raises:
        InvalidUsernameError: it is empty, too long, or holds other characters than those allowed. Only plain
            letters are: names that look the same and are not would let one user pose as another.
    """
    name = normal_username(username)
    if len(name) > MAX_USERNAME_LENGTH:
        raise InvalidUsernameError(f"a username has at most {MAX_USERNAME_LENGTH} characters")
    if not _USERNAME.fullmatch(name):
        raise InvalidUsernameError(
            "a username begins with a letter (a-z) or digit and goes on with letters, digits and . _ @ + -"
        )
    return name


def check_new_password(password: str, username: str) -> None:
    """Do nothing if a user of this name may have this password.

    Raises:
        WeakPasswordError: it is too short or too long, or is the username.
    """
    if len(password) < MIN_PASSWORD_LENGTH:
        raise WeakPasswordError(f"a password has at least {MIN_PASSWORD_LENGTH} characters")
    if len(password) > MAX_PASSWORD_LENGTH:
        raise WeakPasswordError(f"a password has at most {MAX_PASSWORD_LENGTH} characters")
    if normal_username(password) == normal_username(username):
        raise WeakPasswordError("the password must not be the username")
