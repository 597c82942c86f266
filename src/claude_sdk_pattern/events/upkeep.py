"""What changes a tape other than appending: compaction and copying. SQL that both databases understand."""

from dataclasses import dataclass

from sqlalchemy import Connection, Select, String, delete, func, insert, literal, null, select, tuple_
from sqlalchemy.orm import aliased

from claude_sdk_pattern.events.errors import TapeNotEmpty, UnknownSession
from claude_sdk_pattern.events.reader import open_turns_query
from claude_sdk_pattern.storage.tables import EventRow, SessionRow

# Appends wait while a chunk is deleted; this many take a few milliseconds.
_CHUNK_ROWS = 500

_COMPLETE = ("text", "thinking", "tool_use")


def delete_superseded(connection: Connection, session_id: str, turn_id: str) -> int:
    """Delete up to one chunk of the deltas of a turn whose complete block follows them; return how many."""
    doomed = _superseded(session_id, turn_id)
    statement = delete(EventRow).where(tuple_(EventRow.session_id, EventRow.seq).in_(doomed))
    return connection.execute(statement).rowcount


def _superseded(session_id: str, turn_id: str) -> Select[str, int]:
    delta, block, any_event = aliased(EventRow), aliased(EventRow), aliased(EventRow)
    completed = (
        select(block.block_id, func.max(block.seq).label("seq"))
        .where(block.session_id == session_id, block.turn_id == turn_id, block.type.in_(_COMPLETE))
        .group_by(block.block_id)
        .subquery()
    )
    head = select(func.max(any_event.seq)).where(any_event.session_id == session_id).scalar_subquery()
    return (
        select(delta.session_id, delta.seq)
        .join(completed, completed.c.block_id == delta.block_id)
        .where(
            delta.session_id == session_id,
            delta.turn_id == turn_id,
            delta.type == "stream_event",
            delta.seq < completed.c.seq,
            # A restarted server numbers on from the highest row, so that one stays. The complete block comes after
            # its deltas and thus protects them already; this holds even should that order ever change.
            delta.seq < head,
        )
        .limit(_CHUNK_ROWS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copied tape: its last number, and the turns that have no result on it, oldest first."""

    last_seq: int
    open_turns: list[str]


def copy_events(connection: Connection, source: str, target: str, until: int | None) -> Copied:
    """Copy the events of ``source`` up to ``until`` to the empty tape ``target``, all in the transaction given.

    Raises:
        UnknownSession: there is no session ``target``.
        TapeNotEmpty: ``target`` has events.
    """
    last_seq = select(func.max(EventRow.seq)).where(EventRow.session_id == target)
    if connection.scalar(select(SessionRow.id).where(SessionRow.id == target)) is None:
        raise UnknownSession(target)
    if connection.scalar(last_seq) is not None:
        raise TapeNotEmpty(target)
    columns = [column.key for column in EventRow.__table__.columns]
    connection.execute(insert(EventRow).from_select(columns, _renamed(source, target, until)))
    turns = connection.execute(open_turns_query(target)).all()
    return Copied(last_seq=connection.scalar(last_seq) or 0, open_turns=[turn_id for _, turn_id in turns])


def _renamed(source: str, target: str, until: int | None) -> Select[*tuple[object, ...]]:
    # The message was run in the source; in the copy its client id must not stop anything.
    replaced = {"session_id": literal(target, String(36)), "client_id": null()}
    columns = [replaced.get(column.key, column) for column in EventRow.__table__.columns]
    query = select(*columns).where(EventRow.session_id == source)
    return query if until is None else query.where(EventRow.seq <= until)
