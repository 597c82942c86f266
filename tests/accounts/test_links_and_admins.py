"""One-time links, the first user, and the last administrator, on a real SQLite file and a real PostgreSQL."""

import asyncio
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select
from tests.support.accounts import PASSWORD, SettableClock
from tests.support.rows import store_sessions

from claude_sdk_pattern.accounts.accounts import Accounts, TokenPair
from claude_sdk_pattern.accounts.errors import (
    InvalidLinkError,
    InvalidRefreshTokenError,
    LastAdminError,
    SetupDoneError,
    UserOwnsSessionsError,
    WeakPasswordError,
    WrongCredentialsError,
)
from claude_sdk_pattern.accounts.logins import Origin
from claude_sdk_pattern.accounts.one_time_links import PASSWORD_LIFETIME, SETUP_LIFETIME, OneTimeLink
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import OneTimeLinkRow

pytestmark = pytest.mark.anyio

HERE = Origin(address="127.0.0.1", client="a test")


def secret_of(link: OneTimeLink | None) -> str:
    assert link is not None
    return urlsplit(link.path).fragment


async def test_the_setup_link_makes_one_administrator_once(accounts: Accounts, database: Database) -> None:
    token = secret_of(await accounts.setup_link())
    async with database.reading() as session:
        assert token not in (await session.scalars(select(OneTimeLinkRow.token_hash))).all()
    with pytest.raises(WeakPasswordError):
        await accounts.set_up(token, "ada", "short", HERE)
    pair = await accounts.set_up(token, "ada", PASSWORD, HERE)
    assert pair.user.role is Role.ADMIN
    assert await accounts.identify(pair.access_token)
    with pytest.raises(InvalidLinkError):
        await accounts.set_up(token, "eve", PASSWORD, HERE)
    assert await accounts.setup_link() is None


async def test_two_setup_links_used_at_once_make_one_user(accounts: Accounts) -> None:
    tokens = [secret_of(await accounts.setup_link()) for _ in range(2)]
    outcomes = await asyncio.gather(
        *(accounts.set_up(token, f"admin-{number}", PASSWORD, HERE) for number, token in enumerate(tokens)),
        return_exceptions=True,
    )
    assert len([outcome for outcome in outcomes if isinstance(outcome, TokenPair)]) == 1
    assert len(await accounts.users.list()) == 1


async def test_the_setup_link_is_of_no_use_once_there_is_a_user(accounts: Accounts) -> None:
    token = secret_of(await accounts.setup_link())
    await accounts.users.add("ada", PASSWORD, Role.ADMIN)
    with pytest.raises(SetupDoneError):
        await accounts.set_up(token, "eve", PASSWORD, HERE)


async def test_links_expire(accounts: Accounts, alice: User, clock: SettableClock) -> None:
    setup = secret_of(await accounts.links.for_setup())
    password = secret_of(await accounts.links.for_password(alice.id))
    clock.advance(SETUP_LIFETIME)
    with pytest.raises(InvalidLinkError):
        await accounts.set_up(setup, "eve", PASSWORD, HERE)
    clock.advance(PASSWORD_LIFETIME)
    with pytest.raises(InvalidLinkError):
        await accounts.login_with_link(password, PASSWORD, HERE)


async def test_a_password_link_replaces_the_password_and_ends_the_other_sign_ins(
    accounts: Accounts, alice: User
) -> None:
    before = await accounts.login("alice", PASSWORD, "here")
    token = secret_of(await accounts.administration.reset_password("alice", actor="cli"))
    # Only a link so far: whoever asked for it in somebody's name has shut nobody out.
    before = await accounts.refresh(before.refresh_token)
    pair = await accounts.login_with_link(token, "another password", HERE)
    assert pair.user == alice
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(before.refresh_token)
    with pytest.raises(WrongCredentialsError):
        await accounts.login("alice", PASSWORD, "here")
    assert await accounts.login("alice", "another password", "here")


async def test_a_newer_link_and_disabling_make_a_link_worthless(accounts: Accounts, alice: User) -> None:
    older, newer = [secret_of(await accounts.links.for_password(alice.id)) for _ in range(2)]
    await accounts.users.disable(alice.username)
    for token in (older, newer, "", "nonsense", secret_of(await accounts.links.for_setup())):
        with pytest.raises(InvalidLinkError):
            await accounts.login_with_link(token, PASSWORD, HERE)


async def test_one_link_used_twice_at_once_gives_one_sign_in(accounts: Accounts, alice: User) -> None:
    token = secret_of(await accounts.links.for_password(alice.id))
    outcomes = await asyncio.gather(
        *(accounts.login_with_link(token, f"password number {number}", HERE) for number in range(5)),
        return_exceptions=True,
    )
    assert len([outcome for outcome in outcomes if isinstance(outcome, TokenPair)]) == 1
    assert {type(outcome) for outcome in outcomes} == {TokenPair, InvalidLinkError}


async def test_the_last_administrator_stays(accounts: Accounts) -> None:
    users = accounts.users
    await users.add("ada", PASSWORD, Role.ADMIN)
    await users.add("disabled", PASSWORD, Role.ADMIN)
    await users.disable("disabled")
    for change in (users.disable("ada"), users.set_role("ada", Role.OPERATOR), users.delete("ada")):
        with pytest.raises(LastAdminError):
            await change
    await users.enable("disabled")
    await users.set_role("ada", Role.USER)
    with pytest.raises(LastAdminError):
        await users.disable("disabled")


async def test_administrators_who_demote_each_other_at_once_leave_one(accounts: Accounts) -> None:
    names = [f"admin-{number}" for number in range(4)]
    for name in names:
        await accounts.users.add(name, PASSWORD, Role.ADMIN)
    outcomes = await asyncio.gather(
        *(accounts.users.set_role(name, Role.USER) for name in names), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(LastAdminError) == 1
    assert [account.user.role for account in await accounts.users.list()].count(Role.ADMIN) == 1


async def test_a_user_with_sessions_is_not_deleted_and_one_without_is_gone(
    accounts: Accounts, alice: User, database: Database
) -> None:
    await accounts.login("alice", PASSWORD, "here")
    await accounts.users.delete("alice")
    assert await accounts.users.list() == []
    await store_sessions(database, "a session", owner_id="owner")
    with pytest.raises(UserOwnsSessionsError):
        await accounts.users.delete("owner")


async def test_sign_ins_are_listed_with_where_they_came_from_and_ended(
    accounts: Accounts, alice: User, clock: SettableClock
) -> None:
    first = await accounts.login("alice", PASSWORD, "192.0.2.1", "Browser\x00\x1b[31m " + "x" * 500)
    clock.advance(timedelta(minutes=1))
    await accounts.login("alice", PASSWORD, "192.0.2.2")
    clock.advance(timedelta(minutes=1))
    first = await accounts.refresh(first.refresh_token)
    latest, other = await accounts.logins.of_user(alice.id)
    assert latest.origin.address == "192.0.2.1"
    assert latest.origin.client.startswith("Browser[31m x")
    assert len(latest.origin.client) == 200
    assert latest.last_used_at > other.last_used_at > latest.started_at
    assert await accounts.logins.end(alice.id, latest.id)
    assert not await accounts.logins.end(alice.id, latest.id)
    assert not await accounts.logins.end("somebody else", other.id)
    with pytest.raises(InvalidRefreshTokenError):
        await accounts.refresh(first.refresh_token)
    assert [login.id for login in await accounts.logins.of_user(alice.id)] == [other.id]
