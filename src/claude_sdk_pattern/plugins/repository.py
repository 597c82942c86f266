"""The table of plugins. Whoever changes a row sees all rows, and nobody else changes any meanwhile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from claude_sdk_pattern.plugins.errors import PluginProblem, UnknownPluginError
from claude_sdk_pattern.plugins.manifest import Permissions
from claude_sdk_pattern.plugins.records import PluginRecord
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import PluginChangesRow, PluginRow

type Records = Mapping[str, PluginRecord]

type Change = Callable[[Records], PluginRecord | None]
"""Given all records, returns the changed one; ``None`` removes it. What it raises undoes everything."""


class PluginRepository:
    """Reads and changes records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_changes(self) -> int:
        """Return a number that grows with each change, whichever server makes it."""
        async with self._database.reading() as session:
            return (await session.get_one(PluginChangesRow, 1)).count

    async def count_by_status(self) -> dict[str, int]:
        """Return how many plugins there are of each status that there is one of."""
        async with self._database.reading() as session:
            rows = await session.execute(
                select(PluginRow.status, func.count().label("total")).group_by(PluginRow.status)
            )
            return {row.status: row.total for row in rows}

    async def all(self) -> dict[str, PluginRecord]:
        """Return all records by name, in order."""
        async with self._database.reading() as session:
            rows = (await session.scalars(select(PluginRow).order_by(PluginRow.name))).all()
        return {row.name: _record(row) for row in rows}

    async def get(self, name: str) -> PluginRecord:
        """Return one record.

        Raises:
            UnknownPluginError: there is none.
        """
        async with self._database.reading() as session:
            row = await session.get(PluginRow, name)
        if row is None:
            raise UnknownPluginError(name)
        return _record(row)

    async def change(self, name: str, change: Change) -> tuple[PluginRecord | None, PluginRecord | None]:
        """Change one record; return it before and after, ``None`` where there is none.

        ``change`` runs in a thread, in a transaction that no other change overlaps: it must be quick and pure.
        """

        def transaction(connection: Connection) -> tuple[PluginRecord | None, PluginRecord | None]:
            # Servers take turns here; SQLite needs no lock of a row, its write transactions take turns anyway.
            count = connection.scalar(select(PluginChangesRow.count).where(PluginChangesRow.id == 1).with_for_update())
            records = _LazyRecords(connection.execute(select(PluginRow.__table__)).all())
            before = records.get(name)
            after = change(records)
            if before == after:
                return before, after
            if after is None:
                connection.execute(delete(PluginRow).where(PluginRow.name == name))
            elif before is None:
                connection.execute(insert(PluginRow).values(name=name, **_values(after)))
            else:
                connection.execute(update(PluginRow).where(PluginRow.name == name).values(**_values(after)))
            connection.execute(update(PluginChangesRow).values(count=(count or 0) + 1))
            return before, after

        return await self._database.write(transaction)


class _LazyRecords(Mapping[str, PluginRecord]):
    """The records in rows, each made when it is asked for: most changes look at one of hundreds."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> PluginRecord:
        return _record(self._rows[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


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
