"""The counting of sign-in attempts in a real SQLite file and a real PostgreSQL; time is set by hand."""

from datetime import timedelta

import anyio
import pytest
from sqlalchemy import func, select
from tests.support.accounts import PASSWORD, SettableClock

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.errors import TooManyAttemptsError
from claude_sdk_pattern.accounts.throttle import ADDRESS, NAME, PAIR, SignInThrottle, network_of
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SignInTriesRow

pytestmark = pytest.mark.anyio

HERE = "192.0.2.1"


@pytest.fixture
def throttle(database: Database, clock: SettableClock) -> SignInThrottle:
    return SignInThrottle(database, clock)


async def tries_allowed(throttle: SignInThrottle, name: str = "alice", address: str = HERE, most: int = 200) -> int:
    for number in range(most):
        try:
            await throttle.begin(name, address)
        except TooManyAttemptsError:
            return number
    return most


async def test_a_burst_is_allowed_and_not_one_more(throttle: SignInThrottle) -> None:
    assert await tries_allowed(throttle) == PAIR.burst


async def test_one_more_try_is_allowed_after_exactly_the_time_that_was_said(
    throttle: SignInThrottle, clock: SettableClock
) -> None:
    await tries_allowed(throttle)
    with pytest.raises(TooManyAttemptsError) as refused:
        await throttle.begin("alice", HERE)
    clock.advance(timedelta(seconds=refused.value.retry_after_seconds))
    assert await tries_allowed(throttle) == 1


async def test_refused_tries_do_not_prolong_the_wait(throttle: SignInThrottle, clock: SettableClock) -> None:
    for _ in range(5):
        await tries_allowed(throttle)
    clock.advance(PAIR.refill)
    assert await tries_allowed(throttle) == 1


async def test_all_tries_are_back_after_a_while(throttle: SignInThrottle, clock: SettableClock) -> None:
    await tries_allowed(throttle)
    clock.advance(PAIR.burst * PAIR.refill)
    assert await tries_allowed(throttle) == PAIR.burst


async def test_success_gives_the_tries_back(throttle: SignInThrottle) -> None:
    await tries_allowed(throttle)
    await throttle.succeeded("alice", HERE)
    assert await tries_allowed(throttle) == PAIR.burst


async def test_another_server_on_the_database_counts_on(
    throttle: SignInThrottle, database: Database, clock: SettableClock
) -> None:
    await tries_allowed(throttle)
    assert await tries_allowed(SignInThrottle(database, clock)) == 0


async def test_many_at_once_on_two_servers_are_as_many_as_one_after_the_other(
    throttle: SignInThrottle, database: Database, clock: SettableClock
) -> None:
    allowed = 0

    async def try_once(one: SignInThrottle) -> None:
        nonlocal allowed
        try:
            await one.begin("alice", HERE)
        except TooManyAttemptsError:
            return
        allowed += 1

    elsewhere = SignInThrottle(database, clock)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(PAIR.burst):
                group.start_soon(try_once, throttle)
                group.start_soon(try_once, elsewhere)
    assert allowed == PAIR.burst


async def test_one_password_cannot_be_tried_on_ever_more_names(throttle: SignInThrottle) -> None:
    allowed = [await tries_allowed(throttle, f"name-{number}", most=1) for number in range(ADDRESS.burst + 5)]
    assert sum(allowed) == ADDRESS.burst


async def test_one_name_cannot_be_tried_from_ever_more_addresses(throttle: SignInThrottle) -> None:
    allowed = [await tries_allowed(throttle, address=f"198.51.100.{n}", most=1) for n in range(NAME.burst + 5)]
    assert sum(allowed) == NAME.burst


@pytest.mark.usefixtures("alice")
async def test_whoever_is_attacked_can_still_sign_in_from_where_they_did_before(
    accounts: Accounts, throttle: SignInThrottle
) -> None:
    await accounts.login("alice", PASSWORD, HERE)
    for number in range(NAME.burst):
        await throttle.begin("alice", f"198.51.100.{number}")
    with pytest.raises(TooManyAttemptsError):
        await accounts.login("alice", PASSWORD, "203.0.113.1")
    assert await accounts.login("alice", PASSWORD, HERE)


async def test_the_wait_of_an_attacked_name_ends(throttle: SignInThrottle, clock: SettableClock, alice: User) -> None:
    for number in range(NAME.burst):
        await throttle.begin(alice.username, f"198.51.100.{number}")
    with pytest.raises(TooManyAttemptsError) as refused:
        await throttle.begin(alice.username, HERE)
    assert refused.value.retry_after_seconds <= NAME.refill.total_seconds()
    clock.advance(NAME.refill)
    await throttle.begin(alice.username, HERE)


async def test_what_has_come_back_is_forgotten(
    throttle: SignInThrottle, clock: SettableClock, database: Database
) -> None:
    for number in range(20):
        await throttle.begin(f"name-{number}", HERE)
    clock.advance(timedelta(hours=1))
    await throttle.begin("alice", HERE)
    async with database.engine.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(SignInTriesRow))).scalar_one() == 3


async def test_no_name_is_stored(throttle: SignInThrottle, database: Database) -> None:
    await throttle.begin("a password typed into the wrong field", HERE)
    async with database.engine.connect() as connection:
        stored = repr((await connection.execute(select(SignInTriesRow.__table__))).all())
    assert "password" not in stored
    assert HERE not in stored


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_an_address_counts_as_the_network_its_owner_has(address: str, network: str) -> None:
    assert network_of(address) == network
