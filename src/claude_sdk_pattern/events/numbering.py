"""Give numbers to the events of one commit. Pure: what the database knows comes in as mappings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from claude_sdk_pattern.events.drafts import Draft
from claude_sdk_pattern.events.errors import DuplicateClientId, TapeError, TapeTakenOver, UnknownSession

type Outcome = int | TapeError
"""What became of one draft: its number, or why it has none."""

type ClientKey = tuple[str, str]
"""Session id and client id."""

type Recorded = tuple[int, str | None]
"""Number and turn of the message that used a client id first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """One commit: an outcome for every draft, the rows to insert, and the last number of each session afterwards."""

    outcomes: list[Outcome]
    rows: list[tuple[Draft, int]]
    heads: dict[str, int] = field(default_factory=dict[str, int])


def number(
    drafts: Sequence[Draft],
    heads: Mapping[str, int | None],
    taken: Mapping[ClientKey, Recorded],
    elsewhere: Collection[str] = (),
) -> Numbered:
    """Number drafts from ``heads`` on, without gaps; a draft that is refused uses up no number.

    ``heads`` holds the last number of every session in ``drafts``, ``None`` for a session that does not exist.
    ``taken`` holds the client ids in ``drafts`` that are on the tape already, ``elsewhere`` the sessions whose tape
    another server writes.
    """
    numbered = Numbered(outcomes=[], rows=[])
    new: dict[ClientKey, Recorded] = {}
    for made in drafts:
        head = numbered.heads.get(made.session_id, heads[made.session_id])
        if head is None:
            numbered.outcomes.append(UnknownSession(made.session_id))
            continue
        if made.session_id in elsewhere:
            numbered.outcomes.append(TapeTakenOver(made.session_id))
            continue
        if made.client_id is not None:
            key = (made.session_id, made.client_id)
            first = taken.get(key) or new.get(key)
            if first is not None:
                numbered.outcomes.append(DuplicateClientId(made.session_id, made.client_id, *first))
                continue
            new[key] = (head + 1, made.turn_id)
        numbered.heads[made.session_id] = head + 1
        numbered.outcomes.append(head + 1)
        numbered.rows.append((made, head + 1))
    return numbered
