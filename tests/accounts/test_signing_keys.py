"""Rotating the keys of access tokens, on a real SQLite file and a real PostgreSQL; only the clock is set by hand."""

from datetime import timedelta

import jwt
import pytest
from sqlalchemy import select
from tests.support.accounts import PASSWORD, SECRET_KEY, SettableClock, cheap_passwords, make_accounts

from claude_sdk_pattern.accounts.accounts import Accounts, TokenPair
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.accounts.signing_keys import MAX_AGE_SECONDS, RETIRING_MARGIN, KeyRings, SigningKeys
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import SigningKeyRow

pytestmark = pytest.mark.anyio

LIFETIME = timedelta(minutes=15)
NEW_SECRET = "another secret key that is long enough"


async def log_in(accounts: Accounts) -> TokenPair:
    return await accounts.login("alice", PASSWORD, "127.0.0.1")


def kid(token: str) -> str:
    return jwt.get_unverified_header(token)["kid"]


async def test_a_token_of_the_key_before_is_taken_until_it_runs_out(
    accounts: Accounts, alice: User, database: Database, clock: SettableClock
) -> None:
    old = await log_in(accounts)
    await accounts.administration.rotate_keys(token_lifetime=LIFETIME, actor="cli")
    # Another server, or this one a few seconds later.
    elsewhere = make_accounts(database, clock)
    new = await log_in(elsewhere)
    assert kid(new.access_token) != kid(old.access_token)
    for pair in (old, new):
        assert (await elsewhere.identify(pair.access_token)).user == alice
    clock.advance(LIFETIME + RETIRING_MARGIN + timedelta(seconds=1))
    later = make_accounts(database, clock)
    with pytest.raises(InvalidAccessTokenError):
        await later.identify(old.access_token)
    assert len(await later.administration.keys()) == 1


@pytest.mark.usefixtures("alice")
async def test_rotated_at_once_no_older_token_is_taken_and_a_refresh_gives_a_good_one(
    accounts: Accounts, database: Database, clock: SettableClock
) -> None:
    await accounts.administration.rotate_keys(token_lifetime=LIFETIME, actor="cli")
    old = await log_in(accounts)
    await accounts.administration.rotate_keys(token_lifetime=timedelta(0), actor="cli")
    elsewhere = make_accounts(database, clock)
    with pytest.raises(InvalidAccessTokenError):
        await elsewhere.identify(old.access_token)
    assert await elsewhere.identify((await elsewhere.refresh(old.refresh_token)).access_token)


async def test_a_running_server_notices_within_seconds(database: Database, clock: SettableClock) -> None:
    seconds = 100.0
    keys = SigningKeys(database, clock)
    rings = KeyRings(keys, secret=SECRET_KEY, monotonic=lambda: seconds)
    before = await rings.current()
    clock.advance(timedelta(seconds=1))
    await keys.rotate(token_lifetime=LIFETIME)
    assert (await rings.current()).kid == before.kid
    seconds += MAX_AGE_SECONDS
    after = await rings.current()
    assert after.kid != before.kid
    assert before.kid in after.keys


@pytest.mark.usefixtures("alice")
async def test_a_new_secret_takes_the_tokens_of_the_one_before_while_that_is_given(
    accounts: Accounts, database: Database, clock: SettableClock
) -> None:
    def server(previous: str | None) -> Accounts:
        return Accounts(
            database, secret_key=NEW_SECRET, previous_secret_key=previous, passwords=cheap_passwords(), now=clock
        )

    old = await log_in(accounts)
    overlapping = server(previous=SECRET_KEY)
    assert await overlapping.identify(old.access_token)
    new = await overlapping.refresh(old.refresh_token)
    with pytest.raises(InvalidAccessTokenError):
        await server(previous=None).identify(old.access_token)
    assert await server(previous=None).identify(new.access_token)


async def test_the_database_alone_makes_no_key(accounts: Accounts, alice: User, database: Database) -> None:
    await log_in(accounts)
    async with database.reading() as session:
        ids = (await session.scalars(select(SigningKeyRow.id))).all()
    for known in (*ids, "", alice.id):
        forged = jwt.encode({"sub": alice.id}, known.encode().ljust(32, b"0"), headers={"kid": known})
        with pytest.raises(InvalidAccessTokenError):
            await accounts.identify(forged)
