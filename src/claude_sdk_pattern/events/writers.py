"""What the log needs of a database: take drafts, number them, commit them in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from claude_sdk_pattern.events.drafts import Draft
from claude_sdk_pattern.events.numbering import ClientKey, Numbered, Outcome, Recorded, number

COLUMNS: Final = ("session_id", "seq", "type", "turn_id", "block_id", "client_id", "actor", "ts_ms", "payload")

type Row = tuple[str, int, str, str | None, str | None, str | None, str, int, str]
"""Values of one event in the order of :data:`COLUMNS`."""

# Numbers of sessions that wrote lately; forgetting one costs a query, keeping all would cost memory for ever.
_MAX_KNOWN_HEADS = 10_000


class DatabaseTrouble(Exception):
    """The database did not take the commit; ``__cause__`` says why. Trying the same drafts again may help.

    ``is_rolled_back`` when nothing was committed for certain; otherwise only the answer may have been lost.
    """

    def __init__(self, *, is_rolled_back: bool = False) -> None:
        super().__init__()
        self.is_rolled_back = is_rolled_back


class TapeWriter(ABC):
    """Writes through one connection of its own; one call at a time.

    A subclass says how to ask and insert. What is common is here: remembering numbers, and finding out after a
    failure whether the commit had gone through nevertheless.

    Args:
        may_write: tells by its id whether a session's tape is this server's to write. None: all are.
    """

    def __init__(self, may_write: Callable[[str], bool] | None = None) -> None:
        self._may_write = may_write
        self._heads: dict[str, int] = {}
        self._unsure: tuple[Sequence[Draft], Numbered] | None = None

    async def write(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """Commit the drafts, in order, all that can be; return what became of each.

        After :class:`DatabaseTrouble` call it again with the same sequence, or give those drafts up.

        Raises:
            DatabaseTrouble: nothing is known to be committed.
        """
        unsure, self._unsure = self._unsure, None
        if unsure is not None and unsure[0] is drafts:
            self._unsure = unsure
            if await self._holds(_row(*unsure[1].rows[0])):
                self._unsure = None
                return unsure[1].outcomes
        heads, taken = await self._heads_of(drafts), await self._taken_by(drafts)
        # Asked when the numbers are known, not before: a server that is paused from here on finds its numbers used by
        # the event with which the session's next owner begins, and then asks again.
        elsewhere: set[str] = set()
        if self._may_write is not None:
            elsewhere = {session_id for session_id in heads if not self._may_write(session_id)}
        numbered = number(drafts, heads, taken, elsewhere)
        if numbered.rows:
            self._unsure = (drafts, numbered)
            try:
                await self._insert([_row(made, seq) for made, seq in numbered.rows])
            except DatabaseTrouble as trouble:
                if trouble.is_rolled_back:
                    self._unsure = None
                raise
            self._unsure = None
            self._heads |= numbered.heads
        return numbered.outcomes

    @abstractmethod
    async def aclose(self) -> None:
        """Release the connection; a commit under way ends first."""

    @abstractmethod
    async def _last_seqs(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Return the last number (0 if none) of each of these sessions that exists."""

    @abstractmethod
    async def _client_ids(self, keys: Sequence[ClientKey]) -> dict[ClientKey, Recorded]:
        """Return who used these client ids, for those that were used."""

    @abstractmethod
    async def _insert(self, rows: Sequence[Row]) -> None:
        """Insert and commit all rows or none."""

    @abstractmethod
    async def _holds(self, row: Row) -> bool:
        """Return whether exactly this row is in the database."""

    def _forget_heads(self) -> None:
        # After any failure the database is asked again: somebody may have deleted a session or written in our place.
        self._heads.clear()

    async def _heads_of(self, drafts: Sequence[Draft]) -> dict[str, int | None]:
        if len(self._heads) > _MAX_KNOWN_HEADS:
            self._heads.clear()
        sessions = {made.session_id for made in drafts}
        unknown = [session for session in sessions if session not in self._heads]
        asked = await self._last_seqs(unknown) if unknown else {}
        return {session: self._heads.get(session, asked.get(session)) for session in sessions}

    async def _taken_by(self, drafts: Sequence[Draft]) -> dict[ClientKey, Recorded]:
        keys = [(made.session_id, made.client_id) for made in drafts if made.client_id is not None]
        return await self._client_ids(keys) if keys else {}


def _row(made: Draft, seq: int) -> Row:
    return (
        made.session_id,
        seq,
        made.type,
        made.turn_id,
        made.block_id,
        made.client_id,
        made.actor,
        made.ts_ms,
        made.payload.decode(),
    )
