"""The audit log on a real SQLite file and a real PostgreSQL, also with two servers writing at once and with somebody
who changes the database by hand.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from structlog.contextvars import bound_contextvars

from claude_sdk_pattern.accounts.audit import AuditAction, AuditFilter, AuditLog
from claude_sdk_pattern.accounts.audit_chain import GENESIS, Anchor, AuditEntry, ChainCheck
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
async def audit(database: Database, anyio_backend: str) -> AsyncGenerator[AuditLog]:
    async with AuditLog(database) as log:
        yield log


async def fill(audit: AuditLog, count: int) -> None:
    for number in range(count):
        await audit.record(AuditAction.SESSION_CREATED, actor="a user", target=f"session {number}")


async def by_hand(database: Database, *statements: str, **values: object) -> None:
    """Change the database as somebody would who may do everything there."""
    names = ["audit_log_rows"] if database.dialect == "postgresql" else ["audit_log_update", "audit_log_delete"]
    where = " ON audit_log" if database.dialect == "postgresql" else ""
    async with database.write_engine.begin() as connection:
        for name in names:
            await connection.execute(text(f"DROP TRIGGER IF EXISTS {name}{where}"))
        for statement in statements:
            await connection.execute(text(statement), values)


async def all_entries(audit: AuditLog) -> list[AuditEntry]:
    return [entry async for entry in audit.entries()]


async def test_an_entry_says_who_did_what_to_what_and_in_which_request(audit: AuditLog, alice: User) -> None:
    with bound_contextvars(correlation_id="abc"):
        await audit.record(AuditAction.LOGIN, actor=alice.id, target="t", details={"address": "127.0.0.1", "n": 1})
    [named] = await audit.page(AuditFilter(), limit=10)
    assert named.actor_name == "alice"
    entry = named.entry
    assert (entry.seq, entry.action, entry.actor, entry.target) == (1, "auth.login", alice.id, "t")
    assert entry.details == {"address": "127.0.0.1", "n": 1}
    assert entry.correlation_id == "abc"
    assert abs(datetime.now(UTC) - entry.at) < timedelta(minutes=1)
    assert (await audit.verify()).is_intact


async def test_texts_that_no_database_takes_are_made_plain_and_cut(audit: AuditLog) -> None:
    await audit.record("auth.login_failed", actor=None, target="nul \x00 half \ud800", details={"name": "x" * 5000})
    [entry] = await all_entries(audit)
    assert entry.target == "nul \\x00 half \\ud800"
    assert entry.details == {"name": "x" * 200}


async def test_pages_are_newest_first_and_filtered(audit: AuditLog) -> None:
    for action, actor in (("auth.login", "a"), ("auth.logout", "b"), ("auth_x", "a"), ("session.created", "a")):
        await audit.record(action, actor=actor)

    async def numbers(limit: int = 10, before: int | None = None, **fields: str | datetime) -> list[int]:
        found = await audit.page(AuditFilter(**fields), limit=limit, before=before)  # pyright: ignore[reportArgumentType]
        return [named.entry.seq for named in found]

    assert await numbers() == [4, 3, 2, 1]
    assert await numbers(limit=2) == [4, 3]
    assert await numbers(before=3) == [2, 1]
    assert await numbers(actor="a") == [4, 3, 1]
    assert await numbers(action="auth.login") == [1]
    assert await numbers(action="auth.") == [2, 1]
    now = datetime.now(UTC)
    assert await numbers(since=now + timedelta(hours=1)) == []
    assert await numbers(since=now - timedelta(hours=1), until=now + timedelta(hours=1)) == [4, 3, 2, 1]


async def test_two_servers_that_write_at_once_make_one_chain(database: Database, database_url: str) -> None:
    async with Database(database_url) as other, AuditLog(database) as ours, AuditLog(other) as theirs:
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task((ours, theirs)[number % 2].record("session.message", actor=f"user {number}"))
        report = await ours.verify()
        assert report.is_intact, report.faults
        assert report.head.seq == 40
        assert {entry.actor for entry in await all_entries(ours)} == {f"user {number}" for number in range(40)}


async def test_what_was_asked_to_be_recorded_is_stored_though_the_caller_is_gone(database: Database) -> None:
    async with AuditLog(database) as audit:
        caller = asyncio.create_task(audit.record("auth.logout", actor="a"))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
    assert (await AuditLog(database).head()).seq == 1


async def test_anchors_are_handed_on_now_and_then_and_at_the_end(database: Database) -> None:
    anchors: list[Anchor] = []
    async with AuditLog(database, on_anchor=anchors.append) as audit:
        async with asyncio.TaskGroup() as group:
            for number in range(103):
                group.create_task(audit.record("session.message", actor=f"user {number}"))
        await audit.record("session.message", actor="last")
        report = await audit.verify(anchors)
        assert report.is_intact, report.faults
    assert anchors[0].seq in range(100, 105)
    assert anchors[-1] == report.head


async def test_an_entry_that_could_not_be_stored_fails_its_caller_and_no_later_one(
    database: Database, audit: AuditLog
) -> None:
    await fill(audit, 1)
    async with database.write_engine.begin() as connection:
        await connection.execute(text("ALTER TABLE audit_log RENAME TO away"))
    with pytest.raises(DBAPIError):
        await audit.record("auth.login", actor="a")
    async with database.write_engine.begin() as connection:
        await connection.execute(text("ALTER TABLE away RENAME TO audit_log"))
    await fill(audit, 1)
    report = await audit.verify()
    assert (report.is_intact, report.head.seq) == (True, 2)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_log SET actor = 'somebody else' WHERE seq = 2",
        "DELETE FROM audit_log WHERE seq = 2",
        "DELETE FROM audit_log",
        "UPDATE audit_head SET seq = 1",
        "DELETE FROM audit_head",
    ],
)
async def test_the_database_refuses_to_change_what_is_there(
    database: Database, audit: AuditLog, statement: str
) -> None:
    await fill(audit, 3)
    with pytest.raises(DBAPIError, match="append-only"):
        async with database.write_engine.begin() as connection:
            await connection.execute(text(statement))
    assert (await audit.verify()).is_intact


async def test_sqlite_refuses_to_replace_and_postgresql_to_truncate(database: Database, audit: AuditLog) -> None:
    await fill(audit, 2)
    statements = {
        "sqlite": [
            "REPLACE INTO audit_log SELECT * FROM audit_log WHERE seq = 1",
            "REPLACE INTO audit_head VALUES (1, 0, '')",
        ],
        "postgresql": ["TRUNCATE audit_log", "TRUNCATE audit_head"],
    }
    for statement in statements[database.dialect]:
        with pytest.raises(DBAPIError, match="append-only"):
            async with database.write_engine.begin() as connection:
                await connection.execute(text(statement))


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM audit_log WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM audit_log WHERE seq < 3", "entries 1 to 2 are missing"),
        ("DELETE FROM audit_log WHERE seq > 4", "entries 5 to 6 are missing"),
        ("DELETE FROM audit_log", "entries 1 to 6 are missing"),
        ("UPDATE audit_log SET actor = 'other' WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE audit_log SET at_ms = at_ms - 1 WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE audit_log SET details = 'no JSON' WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE audit_log SET hash = 'none' WHERE seq = 6", "entry 6 was altered"),
    ],
)
async def test_what_was_changed_in_spite_of_the_triggers_shows(
    database: Database, audit: AuditLog, statement: str, fault: str
) -> None:
    await fill(audit, 6)
    await by_hand(database, statement)
    report = await audit.verify()
    assert not report.is_intact
    assert report.faults[0].startswith(fault)


async def test_entries_that_changed_places_show(database: Database, audit: AuditLog) -> None:
    await fill(audit, 4)
    swap = "UPDATE audit_log SET seq = {} WHERE seq = {}"
    await by_hand(database, swap.format(99, 2), swap.format(2, 3), swap.format(3, 99))
    faults = (await audit.verify()).faults
    assert [fault.partition(" was altered")[0] for fault in faults] == ["entry 2", "entry 3", "entry 4"]


async def test_an_entry_that_was_put_behind_the_last_one_shows(database: Database, audit: AuditLog) -> None:
    await fill(audit, 2)
    [_, last] = await all_entries(audit)
    forged = AuditEntry(
        seq=3, at_ms=1, action="x", actor=None, target=None, details={}, correlation_id=None, hash=""
    ).hash_after(last.hash)
    inserting = "INSERT INTO audit_log (seq, at_ms, action, details, hash) VALUES (3, 1, 'x', '{}', :forged)"
    await by_hand(database, inserting, forged=forged)
    assert (await audit.verify()).faults == ("the database knows of no entry after 2, but there is entry 3",)


async def test_only_an_anchor_shows_a_chain_that_was_computed_anew(database: Database, audit: AuditLog) -> None:
    await fill(audit, 3)
    anchor = await audit.head()
    previous = GENESIS
    for entry in await all_entries(audit):
        content = entry.to_json().replace(b"a user", b"another")
        previous = AuditEntry.from_json(content).hash_after(previous)
        altering = "UPDATE audit_log SET actor = 'another', hash = :hash WHERE seq = :seq"
        await by_hand(database, altering, hash=previous, seq=entry.seq)
    trigger = "audit_head_back" + (" ON audit_head" if database.dialect == "postgresql" else "")
    await by_hand(database, f"DROP TRIGGER {trigger}", "UPDATE audit_head SET hash = :hash", hash=previous)
    assert (await audit.verify()).is_intact
    assert (await audit.verify([anchor])).faults == (
        "entry 3 is not the one that was anchored: what leads to it was forged",
    )


async def test_an_export_can_be_checked_without_the_database(audit: AuditLog) -> None:
    await audit.record("auth.login", actor="a", details={"b": 1, "a": {"d": None, "c": [1.5, "ü"]}})
    await fill(audit, 2)
    lines = [entry.to_json() for entry in await all_entries(audit)]
    assert all(b"\n" not in line and orjson.loads(line)["seq"] for line in lines)
    check = ChainCheck()
    for line in lines:
        check.see(AuditEntry.from_json(line))
    assert check.report().is_intact
    assert check.report().head == await audit.head()


@pytest.mark.parametrize("written", ["", "1", "1:xyz", "x:" + GENESIS, GENESIS])
def test_what_is_no_anchor_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="SEQ:HASH"):
        Anchor.parse(written)


def test_an_anchor_is_read_as_it_is_written() -> None:
    anchor = Anchor(seq=12, hash="ab" * 32)
    assert Anchor.parse(f" {anchor}\n") == anchor


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"seq": 1}', b"\xff"])
def test_what_is_no_line_of_an_export_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the reader of JSON has words of its own
        AuditEntry.from_json(line)
