"""Versions (semver 2.0.0) and ranges as npm and Claude Code write them: ``^1.2``, ``>=0.1.0 <2``, ``1.x || 2.x``."""

from semantic_version import NpmSpec, Version  # pyright: ignore[reportMissingTypeStubs] - it has none


def is_version(text: str) -> bool:
    """Whether a text is a version such as ``1.2.0``."""
    try:
        Version(text)
    except ValueError:
        return False
    return True


def is_range(text: str) -> bool:
    """Whether a text is a range of versions."""
    try:
        NpmSpec(text)
    except ValueError:
        return False
    return True


def fits(version: str, wanted: str) -> bool:
    """Whether a version lies in a range. ``*`` takes what is no version, too; no other range does."""
    if wanted.strip() in {"", "*"}:
        return True
    return is_version(version) and is_range(wanted) and Version(version) in NpmSpec(wanted)
