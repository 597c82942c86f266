"""Signing in and staying signed in, on a real SQLite file and a real PostgreSQL; only the clocks are set by hand."""

import asyncio

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import event, select
from tests.support.accounts import PASSWORD, SECRET_KEY, SettableClock, make_accounts

from claude_sdk_pattern.accounts.access_tokens import AccessClaims
from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.errors import (
    InvalidAccessTokenError,
    InvalidRefreshTokenError,
    TooManyAttemptsError,
    WrongCredentialsError,
)
from claude_sdk_pattern.accounts.identities import MAX_AGE_SECONDS, Identities
from claude_sdk_pattern.accounts.passwords import Passwords
from claude_sdk_pattern.accounts.throttle import PAIR
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import UserRow

pytestmark = pytest.mark.anyio

HERE = "127.0.0.1"


@pytest.mark.parametrize("name", ["alice", "ALICE", " alice "])
async def test_the_right_password_signs_in(accounts: Accounts, alice: User, name: str) -> None:
    pair = await accounts.login(name, PASSWORD, HERE)
    assert pair.user == alice
    assert (await accounts.identify(pair.access_token)).user == alice


async def test_unknown_wrong_and_disabled_get_the_same_answer(accounts: Accounts, alice: User) -> None:
    answers: set[str] = set()
    for name, password in (("nobody", PASSWORD), ("alice", "wrong password"), ("alice", "")):
        with pytest.raises(WrongCredentialsError) as refused:
            await accounts.login(name, password, HERE)
        answers.add(str(refused.value))
    await accounts.users.disable(alice.username)
    with pytest.raises(WrongCredentialsError) as refused:
        await accounts.login("alice", PASSWORD, HERE)
    answers.add(str(refused.value))
    assert len(answers) == 1


async def test_a_new_password_replaces_the_old_one(accounts: Accounts, alice: User) -> None:
    await accounts.users.set_password(alice.username, "another password")
    with pytest.raises(WrongCredentialsError):
        await accounts.login("alice", PASSWORD, HERE)
    assert (await accounts.login("alice", "another password", HERE)).user == alice


@pytest.mark.usefixtures("alice")
async def test_guessing_is_slowed_down_for_one_name_and_address_only(accounts: Accounts) -> None:
    for _ in range(PAIR.burst):
        with pytest.raises(WrongCredentialsError):
            await accounts.login("alice", "wrong password", HERE)
    with pytest.raises(TooManyAttemptsError) as refused:
        await accounts.login("Alice", PASSWORD, HERE)
    assert 0 < refused.value.retry_after_seconds <= 30
    assert await accounts.login("alice", PASSWORD, "192.0.2.1")


@pytest.mark.usefixtures("alice")
async def test_an_outdated_hash_is_replaced_when_its_owner_signs_in(
    accounts: Accounts, database: Database, clock: SettableClock
) -> None:
    stronger = Passwords(PasswordHash((Argon2Hasher(time_cost=2, memory_cost=16, parallelism=1),)))
    later = Accounts(database, secret_key=SECRET_KEY, passwords=stronger, now=clock)
    assert await later.login("alice", PASSWORD, HERE)
    async with database.engine.connect() as connection:
        stored = (await connection.execute(select(UserRow.password_hash))).scalar_one()
    assert "m=16,t=2" in stored
    assert await accounts.login("alice", PASSWORD, HERE)


async def test_a_token_of_another_secret_is_refused(accounts: Accounts, alice: User, database: Database) -> None:
    other = Accounts(database, secret_key="another secret key that is long enough")
    pair = await accounts.login(alice.username, PASSWORD, HERE)
    with pytest.raises(InvalidAccessTokenError):
        await other.identify(pair.access_token)


@pytest.mark.usefixtures("alice")
async def test_signing_out_ends_the_access_token_at_once_and_no_other_login(accounts: Accounts) -> None:
    ended, other = await accounts.login("alice", PASSWORD, HERE), await accounts.login("alice", PASSWORD, HERE)
    identity = await accounts.identify(ended.access_token)
    await accounts.logout(identity)
    with pytest.raises(InvalidAccessTokenError):
        await accounts.identify(ended.access_token)
    with pytest.raises(InvalidAccessTokenError):
        await accounts.recheck(identity)
    assert await accounts.identify(other.access_token)


async def test_changes_are_felt_within_a_second_and_cost_no_query_before(
    accounts: Accounts, alice: User, database: Database, clock: SettableClock
) -> None:
    seconds = 100.0
    identities = Identities(database, clock, lambda: seconds)
    identity = await accounts.identify((await accounts.login(alice.username, PASSWORD, HERE)).access_token)
    claims = AccessClaims(user_id=alice.id, login_id=identity.login_id)

    assert (await identities.check(claims)).user.role is Role.USER
    await accounts.users.disable(alice.username)
    assert (await identities.check(claims)).user.role is Role.USER
    seconds += MAX_AGE_SECONDS
    with pytest.raises(InvalidAccessTokenError):
        await identities.check(claims)


async def test_a_thousand_who_ask_about_one_login_at_once_cost_one_query(
    accounts: Accounts, alice: User, database: Database, clock: SettableClock
) -> None:
    identities = Identities(database, clock, lambda: 100.0)
    identity = await accounts.identify((await accounts.login(alice.username, PASSWORD, HERE)).access_token)
    claims = AccessClaims(user_id=alice.id, login_id=identity.login_id)
    queries: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        queries.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        answers = await asyncio.gather(*(identities.check(claims) for _ in range(1000)))
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
    assert set(answers) == {identity}
    assert len([query for query in queries if query.startswith("SELECT users")]) == 1


async def test_who_gives_up_asking_does_not_take_the_answer_from_the_others(
    accounts: Accounts, alice: User, database: Database, clock: SettableClock
) -> None:
    identities = Identities(database, clock, lambda: 100.0)
    identity = await accounts.identify((await accounts.login(alice.username, PASSWORD, HERE)).access_token)
    claims = AccessClaims(user_id=alice.id, login_id=identity.login_id)
    first, second = (asyncio.create_task(identities.check(claims)) for _ in range(2))
    await asyncio.sleep(0)  # both have asked now
    first.cancel()
    assert await second == identity


@pytest.mark.parametrize("name", ["nobody", "alice", "passwordless"])
async def test_unknown_known_and_passwordless_users_cost_the_same_hash(
    database: Database, clock: SettableClock, name: str
) -> None:
    """Who measures answers learns nothing: whatever the name, one hash is computed, with the same parameters."""
    verified: list[str] = []

    class Noting(Argon2Hasher):
        def verify(self, password: str | bytes, hash: str | bytes) -> bool:
            verified.append(str(hash).rpartition("$")[0].rpartition("$")[0])
            return super().verify(password, hash)

    hasher = Noting(time_cost=1, memory_cost=8, parallelism=1)
    accounts = Accounts(database, secret_key=SECRET_KEY, passwords=Passwords(PasswordHash((hasher,))), now=clock)
    await accounts.users.add("alice", PASSWORD, Role.USER)
    await accounts.users.add("passwordless", None, Role.USER)
    for password in ("wrong password", "", "the password of nobody"):
        with pytest.raises(WrongCredentialsError):
            await accounts.login(name, password, HERE)
    assert verified == ["$argon2id$v=19$m=8,t=1,p=1"] * 3


async def test_a_new_role_ends_every_login_and_the_same_role_none(accounts: Accounts, alice: User) -> None:
    pair = await accounts.login(alice.username, PASSWORD, HERE)
    await accounts.users.set_role(alice.username, Role.USER)
    assert await accounts.refresh(pair.refresh_token)
    await accounts.users.set_role(alice.username, Role.OPERATOR)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(pair.refresh_token)


async def test_two_servers_on_one_database_accept_each_others_logins(
    accounts: Accounts, alice: User, database: Database, clock: SettableClock
) -> None:
    elsewhere = make_accounts(database, clock)
    pair = await accounts.login(alice.username, PASSWORD, HERE)
    assert (await elsewhere.identify(pair.access_token)).user == alice
    assert (await elsewhere.refresh(pair.refresh_token)).refresh_token == (
        await accounts.refresh(pair.refresh_token)
    ).refresh_token
