"""Token buckets in memory, with time set by hand, and in a real PostgreSQL that two servers share."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from claude_sdk_pattern.limits.buckets import MemoryBuckets, Rate, TokenBucket
from claude_sdk_pattern.limits.connections import ConnectionLimit
from claude_sdk_pattern.limits.errors import RateLimitedError, TooManyConnectionsError
from claude_sdk_pattern.limits.rate_limits import RateLimits
from claude_sdk_pattern.limits.shared_buckets import SharedBuckets
from claude_sdk_pattern.storage.database import Database

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_bucket_gives_its_burst_at_once_and_then_one_token_at_a_time() -> None:
    clock = Clock()
    bucket = TokenBucket(Rate(per_minute=60, burst=3), clock)
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, 1.0, 1.0]
    clock.seconds += 0.75
    assert bucket.take() == 0.25
    clock.seconds += 0.25
    assert [bucket.take() for _ in range(2)] == [0, 1.0]
    clock.seconds += 3600
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 1.0]


@given(
    per_minute=st.integers(1, 6000),
    burst=st.integers(1, 50),
    waits=st.lists(st.floats(0, 120), min_size=1, max_size=200),
)
def test_never_more_is_given_than_the_burst_and_what_came_back(per_minute: int, burst: int, waits: list[float]) -> None:
    clock = Clock()
    bucket = TokenBucket(Rate(per_minute=per_minute, burst=burst), clock)
    taken = 0
    for wait in waits:
        clock.seconds += wait
        taken += bucket.take() == 0
    assert taken <= burst + sum(waits) * per_minute / 60 + 1e-3


async def test_keys_have_buckets_of_their_own_and_the_oldest_are_forgotten() -> None:
    buckets = MemoryBuckets(Clock())
    rate = Rate(per_minute=1, burst=1)
    assert await buckets.take("a", rate) == 0
    assert await buckets.take("a", rate) == 60
    assert await buckets.take("b", rate) == 0
    for number in range(10_000):
        await buckets.take(f"key {number}", rate)
    assert await buckets.take("a", rate) == 0


@pytest.fixture
async def postgresql(postgresql_url: str) -> Database:
    return Database(postgresql_url)


async def test_servers_on_one_postgresql_share_what_may_be_taken(postgresql: Database, postgresql_url: str) -> None:
    rate = Rate(per_minute=1, burst=10)
    async with postgresql, Database(postgresql_url) as other:
        servers = [SharedBuckets(database, MemoryBuckets()) for database in (postgresql, other)]
        waits = await asyncio.gather(*(servers[number % 2].take("a", rate) for number in range(18)))
    assert waits.count(0.0) == 10
    assert all(0 < wait <= 60 for wait in waits if wait)


async def test_a_flood_is_refused_without_asking_the_database(postgresql: Database) -> None:
    async with postgresql:
        shared = SharedBuckets(postgresql, MemoryBuckets())
        rate = Rate(per_minute=1, burst=1)
        assert await shared.take("a", rate) == 0
        async with postgresql.write_engine.begin() as connection:
            await connection.execute(text("DROP TABLE rate_limits"))
        assert await shared.take("a", rate) > 0


async def test_where_the_database_does_not_answer_each_server_counts_for_itself(postgresql: Database) -> None:
    async with postgresql:
        shared = SharedBuckets(postgresql, MemoryBuckets())
        async with postgresql.write_engine.begin() as connection:
            await connection.execute(text("DROP TABLE rate_limits"))
        rate = Rate(per_minute=1, burst=2)
        assert [await shared.take("a", rate) == 0 for _ in range(3)] == [True, True, False]


async def test_one_persons_messages_are_counted_by_session_and_together() -> None:
    limits = RateLimits(
        MemoryBuckets(Clock()),
        requests_per_minute=60,
        new_sessions_per_minute=1,
        session_messages_per_minute=2,
        user_messages_per_minute=3,
    )
    for session in ("x", "x", "y"):
        await limits.check_message("alice", session)
    with pytest.raises(RateLimitedError) as refusal:
        await limits.check_message("alice", "y")
    assert refusal.value.retry_after_seconds == 20
    await limits.check_message("bob", "z")
    with pytest.raises(RateLimitedError):
        await limits.check_message("bob", "x")
    await limits.check_new_session("alice")
    with pytest.raises(RateLimitedError):
        await limits.check_new_session("alice")


def test_connections_are_counted_while_they_are_open() -> None:
    limit = ConnectionLimit(2)
    with limit.connected("alice"):
        with limit.connected("alice"):
            with pytest.raises(TooManyConnectionsError), limit.connected("alice"):
                pass
            with limit.connected("bob"):
                assert limit.open_by("bob") == 1
        with limit.connected("alice"):
            pass
    assert limit.open_by("alice") == 0
