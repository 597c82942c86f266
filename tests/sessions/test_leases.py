"""Leases on each kind of database. Time passes by moving it: expiry in the database, and the servers' own clocks."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update
from tests.support.platform import eventually
from tests.support.rows import store_sessions

from claude_sdk_pattern.sessions.errors import SessionElsewhereError, SessionNotFoundError
from claude_sdk_pattern.sessions.leases import Leases
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SessionLeaseRow, SessionRow

pytestmark = pytest.mark.anyio

SECONDS = 15.0

_numbers = count(1)


class World:
    """Some servers on one database, and the time that all of them live in."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now = 0.0
        self.lost: dict[str, list[str]] = {}

    def server(self, node_id: str) -> Leases:
        """Return the leases of a server; its heart is beaten by hand."""
        leases = Leases(self.database, node_id=node_id, lease_seconds=SECONDS, clock=lambda: self.now)
        lost = self.lost.setdefault(node_id, [])
        leases.on_lost = lost.append
        return leases

    async def pass_time(self, seconds: float) -> None:
        """Let time pass for everybody, the database included: what is left of each lease gets shorter."""
        self.now += seconds
        async with self.database.write_engine.begin() as connection:
            shorter = SessionLeaseRow.expires_at_ms - round(seconds * 1000)
            await connection.execute(update(SessionLeaseRow).values(expires_at_ms=shorter))


@pytest.fixture
async def world(database: Database) -> World:
    """Time, and a database with the sessions ``s1`` to ``s3``."""
    await store_sessions(database, "s1", "s2", "s3")
    return World(database)


async def test_one_server_holds_a_session_and_another_is_told_when_to_ask_again(world: World) -> None:
    first, second = world.server("a"), world.server("b")
    assert await first.acquire("s1") is None
    with pytest.raises(SessionElsewhereError) as refusal:
        await second.acquire("s1")
    assert 1 <= refusal.value.retry_after_seconds <= SECONDS
    assert (first.holds("s1"), second.holds("s1")) == (True, False)
    assert await second.acquire("s2") is None


async def test_a_lease_that_was_given_back_is_free_and_nobodys_past(world: World) -> None:
    first, second = world.server("a"), world.server("b")
    await first.acquire("s1")
    await first.release("s1")
    assert not first.holds("s1")
    assert await second.acquire("s1") is None


async def test_an_expired_lease_is_taken_over_and_says_from_whom(world: World) -> None:
    first, second = world.server("a"), world.server("b")
    await first.acquire("s1")
    await world.pass_time(SECONDS + 1)
    assert await second.expired() == ["s1"]
    assert await second.acquire("s1") == "a"
    assert await second.expired() == []
    await first.release("s1")
    assert second.holds("s1"), "the late release of the first was about its own lease"
    with pytest.raises(SessionElsewhereError):
        await first.acquire("s1")


async def test_a_restarted_server_takes_its_sessions_back_at_once(world: World) -> None:
    await world.server("a").acquire("s1")
    await world.server("a").acquire("s2")
    restarted = world.server("a")
    assert await restarted.acquire("s1") == "a"
    await restarted.forget_earlier_runs()
    assert await world.server("b").acquire("s2") is None
    with pytest.raises(SessionElsewhereError):
        await world.server("b").acquire("s1")


async def test_renewed_leases_do_not_expire_and_all_are_renewed_together(world: World) -> None:
    first, second = world.server("a"), world.server("b")
    await first.acquire("s1")
    await first.acquire("s2")
    for _ in range(6):
        await world.pass_time(SECONDS / 3)
        await first.renew()
    assert first.holds("s1")
    assert first.holds("s2")
    with pytest.raises(SessionElsewhereError):
        await second.acquire("s2")
    assert world.lost["a"] == []


async def test_a_server_that_was_asleep_holds_nothing_from_the_moment_it_wakes(world: World) -> None:
    first, second = world.server("a"), world.server("b")
    await first.acquire("s1")
    await world.pass_time(SECONDS + 1)
    await second.acquire("s1")
    assert not first.holds("s1")
    assert world.lost["a"] == ["s1"]
    await first.renew()
    assert second.holds("s1")
    assert world.lost == {"a": ["s1"], "b": []}


async def test_a_server_whose_clock_stood_still_learns_from_the_database_that_it_lost(world: World) -> None:
    """As after the snapshot of a virtual machine: no clock in it knows that time has passed outside."""
    first, second = world.server("a"), world.server("b")
    await first.acquire("s1")
    await first.acquire("s2")
    await world.pass_time(SECONDS + 1)
    await second.acquire("s1")
    world.now -= SECONDS + 1
    assert first.holds("s1")
    await first.renew()
    assert world.lost["a"] == ["s1"]
    assert not first.holds("s1")
    assert first.holds("s2"), "nobody wanted that one"


async def test_a_lease_that_ran_out_is_not_brought_back_by_a_late_renewal(world: World) -> None:
    server = world.server("a")
    await server.acquire("s1")
    await world.pass_time(SECONDS)
    assert not server.holds("s1")
    await server.renew()
    assert not server.holds("s1")
    assert await server.expired() == ["s1"], "so that its turns are closed"
    assert await server.acquire("s1") == "a"
    assert server.holds("s1")


async def test_two_servers_with_one_name_do_not_both_go_on(world: World) -> None:
    first, namesake = world.server("a"), world.server("a")
    await first.acquire("s1")
    await namesake.acquire("s1")
    await first.renew()
    await namesake.renew()
    assert (first.holds("s1"), namesake.holds("s1")) == (False, True)


@pytest.mark.parametrize("session_id", ["nobody", "nul\0", "x" * 50])
async def test_what_is_no_session_has_no_lease(world: World, session_id: str) -> None:
    with pytest.raises(SessionNotFoundError):
        await world.server("a").acquire(session_id)


async def test_a_deleted_session_takes_its_lease_along(world: World) -> None:
    server = world.server("a")
    await server.acquire("s1")
    async with world.database.write_engine.begin() as connection:
        await connection.execute(delete(SessionRow).where(SessionRow.id == "s1"))
    async with world.database.reading() as session:
        assert (await session.scalars(select(SessionLeaseRow))).all() == []
    await server.renew()
    assert world.lost["a"] == ["s1"]


async def test_of_many_servers_that_ask_at_once_one_gets_the_session(world: World) -> None:
    await world.server("dead").acquire("s1")
    await world.pass_time(SECONDS + 1)
    servers = [world.server(f"n{number}") for number in range(8)]
    answers = await asyncio.gather(*(server.acquire("s1") for server in servers), return_exceptions=True)
    assert answers.count("dead") == 1
    assert sum(isinstance(answer, SessionElsewhereError) for answer in answers) == 7
    assert sum(server.holds("s1") for server in servers) == 1


# --- the heart ----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def beating(database: Database, lease_seconds: float) -> AsyncGenerator[tuple[Leases, asyncio.Queue[str]]]:
    """Run a server's leases, with what they report as lost."""
    lost: asyncio.Queue[str] = asyncio.Queue()
    async with Leases(database, node_id="a", lease_seconds=lease_seconds) as leases:
        leases.on_lost = lost.put_nowait
        yield leases, lost


async def _expiry(database: Database) -> int:
    async with database.reading() as session:
        return (await session.scalars(select(SessionLeaseRow.expires_at_ms))).one()


async def test_a_server_renews_its_leases_by_itself(world: World) -> None:
    async with beating(world.database, 3.0) as (leases, lost):
        await leases.acquire("s1")
        begun = await _expiry(world.database)

        async def renewed() -> bool:
            return await _expiry(world.database) > begun

        await eventually(renewed)
        assert lost.empty()


async def test_a_server_notices_by_itself_that_another_has_its_session(world: World) -> None:
    async with beating(world.database, 3.0) as (leases, lost):
        await leases.acquire("s1")
        await world.pass_time(60)
        await world.server("b").acquire("s1")
        async with asyncio.timeout(30):
            assert await lost.get() == "s1"


async def test_a_server_cut_off_from_the_database_gives_its_sessions_up_by_itself(world: World) -> None:
    """The database answers nobody: its table is locked for longer than the lease lasts."""
    async with beating(world.database, 1.0) as (leases, lost):
        await leases.acquire("s1")
        async with world.database.write_engine.begin() as connection:
            if world.database.dialect == "postgresql":
                await connection.exec_driver_sql("LOCK TABLE session_leases IN ACCESS EXCLUSIVE MODE")
            async with asyncio.timeout(30):
                assert await lost.get() == "s1"
        # The database is back, and so is the server.
        assert await leases.acquire("s1") == "a"
        assert leases.holds("s1")


# --- any history --------------------------------------------------------------------------------------------------

_NODES, _SESSIONS = ("a", "b", "c"), ("s1", "s2")

_steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["acquire", "release", "let_expire"]), st.sampled_from(_NODES), st.integers(0, 1)),
        st.tuples(st.sampled_from(["renew", "restart"]), st.sampled_from(_NODES), st.just(0)),
        st.tuples(st.just("wait"), st.just(""), st.integers(1, 20)),
    ),
    max_size=30,
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=_steps)
async def test_a_session_never_has_two_servers_and_is_never_out_of_reach(
    database: Database, steps: list[tuple[str, str, int]]
) -> None:
    number = next(_numbers)
    sessions = [f"{name}-{number}" for name in _SESSIONS]
    await store_sessions(database, *sessions)
    world = World(database)
    servers = {node: world.server(f"{node}-{number}") for node in _NODES}
    for step, node, argument in steps:
        match step:
            case "wait":
                await world.pass_time(argument)
            case "renew":
                await servers[node].renew()
            case "restart":
                servers[node] = world.server(f"{node}-{number}")
            case "acquire":
                with contextlib.suppress(SessionElsewhereError):
                    await servers[node].acquire(sessions[argument])
            case "release":
                await servers[node].release(sessions[argument])
            case _:
                servers[node].let_expire(sessions[argument])
        for session_id in sessions:
            assert sum(server.holds(session_id) for server in servers.values()) <= 1
    await world.pass_time(SECONDS + 1)
    for session_id in sessions:
        await servers["c"].acquire(session_id)
        assert servers["c"].holds(session_id)
