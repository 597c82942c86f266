"""The table of plugins. Whoever changes a row sees all rows, and nobody else changes any meanwhile.

Every change is counted in the same transaction, whichever server makes it. So what was read is kept with the count it
was read at, and is read again only when the count is another one: a command looks at hundreds of rows several times.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from claude_sdk_pattern.plugins.errors import PluginProblem, UnknownPluginError
from claude_sdk_pattern.plugins.manifest import Permissions
from claude_sdk_pattern.plugins.records import PluginRecord
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PluginChangesRow, PluginRow

type Records = Mapping[str, PluginRecord]

type Change = Callable[[Records], PluginRecord | None]
"""Given all records, returns the changed one; ``None`` removes it. What it raises undoes everything."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The records, and the count of changes that they are at least as new as."""

    count: int = -1
    records: Records = field(default_factory=dict[str, PluginRecord])


class PluginRepository:
    """Reads and changes records."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen = _Seen()

    async def count_changes(self) -> int:
        """Return a number that grows with each change, whichever server makes it."""
        async with self._database.reading() as session:
            return (await session.get_one(PluginChangesRow, 1)).count

    async def count_by_status(self) -> dict[str, int]:
        """Return how many plugins there are of each status that there is one of."""
        return dict(Counter(record.status.value for record in (await self.all()).values()))

    async def all(self) -> Records:
        """Return all records by name, in order."""
        async with self._database.reading() as session:
            # Before the rows: what changes in between is read once more next time.
            count = (await session.get_one(PluginChangesRow, 1)).count
            if (seen := self._seen).count == count:
                return seen.records
            rows = (await session.scalars(select(PluginRow))).all()
        seen = _Seen(count, _records(rows))
        self._see(seen)
        return seen.records

    async def get(self, name: str) -> PluginRecord:
        """Return one record.

        Raises:
            UnknownPluginError: there is none.
        """
        record = (await self.all()).get(name)
        if record is None:
            raise UnknownPluginError(name)
        return record

    async def change(self, name: str, change: Change) -> tuple[PluginRecord | None, PluginRecord | None]:
        """Change one record; return it before and after, ``None`` where there is none.

        ``change`` runs in a thread, in a transaction that no other change overlaps: it must be quick and pure.
        """

        def transaction(connection: Connection) -> tuple[PluginRecord | None, PluginRecord | None, _Seen]:
            # Servers take turns here; SQLite needs no lock of a row, its write transactions take turns anyway.
            statement = select(PluginChangesRow.count).where(PluginChangesRow.id == 1).with_for_update()
            count = connection.scalar(statement) or 0
            if (seen := self._seen).count != count:
                seen = _Seen(count, _records(connection.execute(select(PluginRow.__table__)).all()))
            before = seen.records.get(name)
            after = change(seen.records)
            if before == after:
                return before, after, seen
            if after is None:
                connection.execute(delete(PluginRow).where(PluginRow.name == name))
            elif before is None:
                connection.execute(insert(PluginRow).values(name=name, **_values(after)))
            else:
                connection.execute(update(PluginRow).where(PluginRow.name == name).values(**_values(after)))
            connection.execute(update(PluginChangesRow).values(count=count + 1))
            return before, after, _Seen(count + 1, _with(seen.records, name, after))

        before, after, seen = await self._database.write(transaction)
        self._see(seen)
        return before, after

    def _see(self, seen: _Seen) -> None:
        # Two that read at the same time may come back in any order.
        if seen.count > self._seen.count:
            self._seen = seen


def _with(records: Records, name: str, record: PluginRecord | None) -> Records:
    """Return the records with one of them put in, replaced or (``None``) left out."""
    if record is not None and name in records:
        return {**records, name: record}
    others = {other: known for other, known in records.items() if other != name}
    return dict(sorted({**others, name: record}.items())) if record is not None else others


def _records(rows: Iterable[Any]) -> Records:
    # In Python, because databases have orders of their own.
    return {row.name: _record(row) for row in sorted(rows, key=lambda row: row.name)}


def _values(record: PluginRecord) -> dict[str, Any]:
    return {
        "status": record.status.value,
        "source": record.source,
        "origin": record.origin,
        "is_present": record.is_present,
        "is_enabled": record.is_enabled,
        "was_enabled": record.was_enabled,
        "digest": record.digest,
        "version": record.version,
        "problems": _json(record.problems),
        "warnings": _json(record.warnings),
        "running_digest": record.running_digest,
        "running_version": record.running_version,
        "running_needs": _json(dict(record.running_needs)),
        "agreed": None if record.agreed is None else record.agreed.model_dump_json(),
        "config": _json(dict(record.config)),
        "generation": record.generation,
        "error": record.error,
        "trouble": record.trouble,
        "updated_at": datetime.now(UTC),
    }


def _record(row: Any) -> PluginRecord:
    """Return the record in a row, of the ORM or of a plain connection."""
    known = cast("PluginRow", row)
    return PluginRecord(
        name=known.name,
        source=known.source,  # pyright: ignore[reportArgumentType] - only `change` writes it
        origin=known.origin,
        is_present=known.is_present,
        is_enabled=known.is_enabled,
        was_enabled=known.was_enabled,
        digest=known.digest,
        version=known.version,
        problems=_problems(known.problems),
        warnings=_problems(known.warnings),
        running_digest=known.running_digest,
        running_version=known.running_version,
        running_needs=orjson.loads(known.running_needs),
        agreed=None if known.agreed is None else Permissions.model_validate_json(known.agreed),
        config=orjson.loads(known.config),
        generation=known.generation,
        error=known.error,
        trouble=known.trouble,
    )


def _problems(text: str) -> tuple[PluginProblem, ...]:
    return tuple(PluginProblem(**problem) for problem in orjson.loads(text))


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
