"""Names of files that come from outside, made safe to store, to show and to hand to an agent. Pure."""

import unicodedata
from pathlib import PurePosixPath

_MAX_CHARACTERS = 100

# File systems take 255 bytes; a number may be added to a name.
_MAX_BYTES = 200

_NAMELESS = "file"


def safe_name(given: str) -> str:
    """Return a name without folders, control characters, marks that turn text around, or dots and spaces at its ends.

    Its extension stays if the whole gets too long.
    """
    last = unicodedata.normalize("NFC", given).replace("\\", "/").rsplit("/", 1)[-1]
    # C: control characters, bidirectional and zero-width marks, half surrogate pairs, what nobody has assigned.
    shown = "".join(letter if unicodedata.category(letter)[0] != "C" else " " for letter in last)
    name = " ".join(shown.split()).strip(". ")
    if not name:
        return _NAMELESS
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix) <= 20 and len(path.suffix.encode()) <= 40 else ""
    stem = name.removesuffix(suffix)
    while len(stem) + len(suffix) > _MAX_CHARACTERS or len((stem + suffix).encode()) > _MAX_BYTES:
        stem = stem[:-1]
    return stem.rstrip(". ") + suffix


def numbered(name: str, number: int) -> str:
    """Return the name for the ``number``-th file of this name in a folder: ``a.txt``, ``a-2.txt``, ``a-3.txt``."""
    path = PurePosixPath(name)
    return name if number == 1 else f"{path.stem}-{number}{path.suffix}"
