"""Refresh tokens on a real SQLite file and a real PostgreSQL; only the clock is set by hand."""

from datetime import timedelta

import anyio
import pytest
from sqlalchemy import func, select
from tests.support.accounts import PASSWORD, SettableClock

from claude_sdk_pattern.accounts.accounts import Accounts, TokenPair
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError, InvalidRefreshTokenError, WrongCredentialsError
from claude_sdk_pattern.accounts.logins import Origin
from claude_sdk_pattern.accounts.refresh_tokens import GRACE
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import RefreshTokenRow

pytestmark = pytest.mark.anyio

AFTER_GRACE = GRACE + timedelta(seconds=1)


async def log_in(accounts: Accounts) -> TokenPair:
    return await accounts.login("alice", PASSWORD, "127.0.0.1")


async def refresh_at_once(accounts: Accounts, token: str, times: int) -> list[TokenPair]:
    pairs: list[TokenPair] = []

    async def refresh() -> None:
        pairs.append(await accounts.refresh(token))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(times):
                group.start_soon(refresh)
    return pairs


async def unspent_tokens(database: Database) -> int:
    query = select(func.count()).where(RefreshTokenRow.spent_at.is_(None), RefreshTokenRow.revoked_at.is_(None))
    async with database.engine.connect() as connection:
        return (await connection.execute(query)).scalar_one()


async def test_a_refresh_gives_a_new_token_and_a_working_access_token(accounts: Accounts, alice: User) -> None:
    first = await log_in(accounts)
    second = await accounts.refresh(first.refresh_token)
    assert second.refresh_token != first.refresh_token
    assert (await accounts.identify(second.access_token)).user == alice


async def test_twenty_refreshes_at_once_give_one_chain_and_sign_nobody_out(
    accounts: Accounts, alice: User, database: Database
) -> None:
    first = await log_in(accounts)
    pairs = await refresh_at_once(accounts, first.refresh_token, 20)
    assert len(pairs) == 20
    assert len({pair.refresh_token for pair in pairs}) == 1
    assert await unspent_tokens(database) == 1
    assert (await accounts.identify(pairs[-1].access_token)).user == alice


@pytest.mark.usefixtures("alice")
async def test_a_late_racer_gets_the_newest_token_even_if_the_next_one_is_spent_as_well(
    accounts: Accounts, database: Database
) -> None:
    first = await log_in(accounts)
    second = await accounts.refresh(first.refresh_token)
    third = await accounts.refresh(second.refresh_token)
    late = await accounts.refresh(first.refresh_token)
    assert late.refresh_token == third.refresh_token
    assert await unspent_tokens(database) == 1


@pytest.mark.usefixtures("alice")
async def test_a_spent_token_used_after_the_grace_ends_the_whole_login(
    accounts: Accounts, clock: SettableClock
) -> None:
    first = await log_in(accounts)
    second = await accounts.refresh(first.refresh_token)
    clock.advance(AFTER_GRACE)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(first.refresh_token)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(second.refresh_token)
    with pytest.raises(InvalidAccessTokenError):
        await accounts.identify(second.access_token)


@pytest.mark.usefixtures("alice")
async def test_a_reused_token_leaves_the_other_logins_of_its_user_alone(
    accounts: Accounts, clock: SettableClock
) -> None:
    stolen, other = await log_in(accounts), await log_in(accounts)
    await accounts.refresh(stolen.refresh_token)
    clock.advance(AFTER_GRACE)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(stolen.refresh_token)
    assert await accounts.refresh(other.refresh_token)


@pytest.mark.usefixtures("alice")
async def test_a_refresh_token_expires(accounts: Accounts, clock: SettableClock) -> None:
    pair = await log_in(accounts)
    clock.advance(accounts.lifetimes.refresh)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(pair.refresh_token)


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("token", ["", "nonsense", "csp_rt_" + "A" * 43, "\x00", "é" * 1000])
async def test_an_unknown_refresh_token_is_refused(accounts: Accounts, token: str) -> None:
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(token)


@pytest.mark.usefixtures("alice")
async def test_no_token_is_stored_in_the_clear(accounts: Accounts, database: Database) -> None:
    first = await log_in(accounts)
    second = await accounts.refresh(first.refresh_token)
    async with database.engine.connect() as connection:
        stored = repr((await connection.execute(select(RefreshTokenRow.__table__))).all())
    assert first.refresh_token not in stored
    assert second.refresh_token not in stored


@pytest.mark.usefixtures("alice")
async def test_an_ended_login_gives_nothing_even_within_the_grace(accounts: Accounts) -> None:
    first = await log_in(accounts)
    second = await accounts.refresh(first.refresh_token)
    assert await accounts.logout_with(first.refresh_token)
    for token in (first.refresh_token, second.refresh_token):
        with pytest.raises(InvalidRefreshTokenError):
            await accounts.refresh(token)


@pytest.mark.usefixtures("alice")
async def test_no_refresh_outlives_a_sign_out_that_comes_at_the_same_moment(
    accounts: Accounts, database: Database
) -> None:
    for _ in range(10):
        token = (await log_in(accounts)).refresh_token

        async def refresh(token: str = token) -> None:
            try:
                await accounts.refresh(token)
            except InvalidRefreshTokenError:
                return

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(refresh)
                group.start_soon(accounts.logout_with, token)
                group.start_soon(refresh)
        assert await unspent_tokens(database) == 0


@pytest.mark.usefixtures("alice")
async def test_a_password_change_and_a_disabling_end_every_login(accounts: Accounts) -> None:
    for end in (lambda: accounts.users.set_password("alice", PASSWORD), lambda: accounts.users.disable("alice")):
        pairs = [await log_in(accounts), await log_in(accounts)]
        await end()
        for pair in pairs:
            with pytest.raises(InvalidRefreshTokenError):
                await accounts.refresh(pair.refresh_token)


@pytest.mark.usefixtures("alice")
async def test_expired_tokens_are_forgotten_at_the_next_sign_in(
    accounts: Accounts, clock: SettableClock, database: Database
) -> None:
    await accounts.refresh((await log_in(accounts)).refresh_token)
    clock.advance(accounts.lifetimes.refresh + timedelta(seconds=1))
    await log_in(accounts)
    async with database.engine.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(RefreshTokenRow))).scalar_one() == 1


async def test_a_sign_in_proved_with_a_password_that_was_just_changed_gives_no_login(
    accounts: Accounts, alice: User, database: Database
) -> None:
    with pytest.raises(WrongCredentialsError):
        await accounts.refresh_tokens.start(
            alice.id, "password", Origin(address="here"), password_hash="the hash of the old password"
        )
    assert await unspent_tokens(database) == 0
