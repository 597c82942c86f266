"""The chain that makes changes to the audit log show: each entry's hash covers the entry and the hash before it.

The hash of an entry is SHA-256 over this JSON list, encoded in UTF-8 without spaces::

    [previous_hash, seq, at_ms, action, actor, target, details, correlation_id]

``details`` has its keys in order. The first entry follows :data:`GENESIS`. Anybody can compute that, so the chain by
itself shows what was changed by hand, not what was forged by somebody who computed everything after it anew. An anchor
shows that: number and hash of some entry, noted where they cannot reach.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import orjson
from pydantic import JsonValue

GENESIS = "0" * 64

# Past these there is something wrong on a larger scale, and a longer list helps nobody.
_MAX_FAULTS = 20

_ANCHOR = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry. ``at_ms`` is milliseconds since 1970 by the clock of the server that wrote it."""

    seq: int
    at_ms: int
    action: str
    actor: str | None
    target: str | None
    details: dict[str, JsonValue]
    correlation_id: str | None
    hash: str

    @property
    def at(self) -> datetime:
        """When it happened."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC)

    def hash_after(self, previous_hash: str) -> str:
        """Return the hash this entry has to have behind one with the given hash."""
        content = [
            previous_hash,
            self.seq,
            self.at_ms,
            self.action,
            self.actor,
            self.target,
            self.details,
            self.correlation_id,
        ]
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def to_json(self) -> bytes:
        """Return the entry as one line of an export, without the line's end."""
        return orjson.dumps(self, option=orjson.OPT_SORT_KEYS)

    @classmethod
    def from_json(cls, line: bytes) -> Self:
        """Return the entry of a line of an export.

        Raises:
            ValueError: the line is none.
        """
        try:
            return cls(**orjson.loads(line))
        except TypeError as error:
            raise ValueError("the line is no entry of an audit log") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Number and hash of an entry that was there once; 0 and :data:`GENESIS` for an empty log."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the anchor that is written as ``SEQ:HASH``.

        Raises:
            ValueError: it is not.
        """
        found = _ANCHOR.fullmatch(text.strip().lower())
        if found is None:
            raise ValueError("an anchor is written SEQ:HASH, the hash in 64 hexadecimal digits")
        return cls(seq=int(found[1]), hash=found[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What a look at the whole chain found. ``faults`` are sentences; there are none if it is intact."""

    head: Anchor
    faults: Sequence[str]

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found to be removed, altered or moved."""
        return not self.faults


class ChainCheck:
    """Looks at entries in the order of their numbers, one after the other, and keeps none of them."""

    def __init__(self, anchors: Iterable[Anchor] = ()) -> None:
        self._anchors = frozenset(anchors)
        self._last = Anchor(seq=0, hash=GENESIS)
        self._faults: list[str] = []

    def see(self, entry: AuditEntry) -> None:
        """Look at the next entry."""
        expected = self._last.seq + 1
        if entry.seq > expected:
            self._fault(_missing(expected, entry.seq - 1))
        elif entry.seq < expected:
            self._fault(f"entry {entry.seq} is out of order")
        elif entry.hash != entry.hash_after(self._last.hash):
            self._fault(f"entry {entry.seq} was altered, or is not the one that followed entry {expected - 1}")
        self._last = Anchor(seq=entry.seq, hash=entry.hash)
        if any(anchor.seq == entry.seq and anchor != self._last for anchor in self._anchors):
            self._fault(f"entry {entry.seq} is not the one that was anchored: what leads to it was forged")

    def report(self) -> ChainReport:
        """Return what was found."""
        last_known = max((anchor.seq for anchor in self._anchors), default=0)
        if last_known > self._last.seq:
            self._fault(_missing(self._last.seq + 1, last_known))
        return ChainReport(head=self._last, faults=tuple(self._faults))

    def _fault(self, fault: str) -> None:
        if len(self._faults) < _MAX_FAULTS:
            self._faults.append(fault)


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
