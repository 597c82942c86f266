"""Managing users on a real SQLite file and a real PostgreSQL."""

import anyio
import pytest
from sqlalchemy import select
from tests.support.accounts import PASSWORD

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.errors import (
    InvalidUsernameError,
    UnknownUserError,
    UsernameTakenError,
    WeakPasswordError,
)
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import UserRow

pytestmark = pytest.mark.anyio


async def test_a_user_is_found_by_name_in_any_case_of_letters(accounts: Accounts) -> None:
    added = await accounts.users.add(" Bob.Smith@Example ", PASSWORD, Role.OPERATOR)
    assert added.username == "bob.smith@example"
    assert (await accounts.users.find("BOB.smith@example")).user == added
    assert (await accounts.users.get(added.id)).user == added


async def test_a_user_that_is_as_wanted_already_stays_signed_in(accounts: Accounts) -> None:
    await accounts.users.ensure("demo", PASSWORD, Role.OPERATOR)
    pair = await accounts.login("demo", PASSWORD, "127.0.0.1")
    await accounts.users.ensure("demo", PASSWORD, Role.OPERATOR)
    assert await accounts.refresh(pair.refresh_token)


async def test_a_user_that_is_not_as_wanted_is_made_so(accounts: Accounts) -> None:
    await accounts.users.add("demo", "another password", Role.USER)
    await accounts.users.disable("demo")
    await accounts.users.ensure("demo", PASSWORD, Role.ADMIN)
    assert (await accounts.login("demo", PASSWORD, "127.0.0.1")).user.role is Role.ADMIN


@pytest.mark.usefixtures("alice")
async def test_a_name_is_given_once_even_when_asked_for_at_the_same_moment(accounts: Accounts) -> None:
    refused: list[str] = []

    async def add() -> None:
        try:
            await accounts.users.add("Carol", PASSWORD, Role.USER)
        except UsernameTakenError as error:
            refused.append(error.username)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(add)
    assert refused == ["carol"] * 4
    assert [account.user.username for account in await accounts.users.list()] == ["alice", "carol"]


@pytest.mark.parametrize("name", ["", " ", "-dash-first", "a b", "a\nb", "ålice", "аlice", "a/b", "a" * 65])
async def test_a_name_that_could_mislead_or_break_something_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(InvalidUsernameError):
        await accounts.users.add(name, PASSWORD, Role.USER)


@pytest.mark.parametrize("password", ["", "seven77", "x" * 1025, "Somebody"])
async def test_a_weak_password_is_refused_and_not_repeated(accounts: Accounts, password: str) -> None:
    with pytest.raises(WeakPasswordError) as refused:
        await accounts.users.add("somebody", password, Role.USER)
    assert not password or password not in str(refused.value)


async def test_passwords_are_stored_as_argon2_hashes(accounts: Accounts, alice: User, database: Database) -> None:
    async with database.engine.connect() as connection:
        stored = (await connection.execute(select(UserRow.password_hash).where(UserRow.id == alice.id))).scalar_one()
    assert stored.startswith("$argon2id$")
    assert PASSWORD not in stored


async def test_a_changed_role_is_kept(accounts: Accounts, alice: User) -> None:
    assert (await accounts.users.set_role("Alice", Role.ADMIN)).role is Role.ADMIN
    assert (await accounts.users.get(alice.id)).user.role is Role.ADMIN


async def test_disabling_and_enabling_is_seen_in_the_list(accounts: Accounts, alice: User) -> None:
    await accounts.users.disable(alice.username)
    [disabled] = await accounts.users.list()
    await accounts.users.enable(alice.username)
    [enabled] = await accounts.users.list()
    assert disabled.disabled_at is not None
    assert enabled.disabled_at is None


async def test_nobody_unknown_is_changed(accounts: Accounts) -> None:
    users = accounts.users
    for change in (
        lambda: users.set_role("nobody", Role.ADMIN),
        lambda: users.set_password("nobody", PASSWORD),
        lambda: users.disable("nobody"),
        lambda: users.enable("nobody"),
        lambda: users.find("nobody"),
        lambda: users.get("no-such-id"),
    ):
        with pytest.raises(UnknownUserError):
            await change()


def test_a_role_includes_itself_and_the_ones_below() -> None:
    order = [Role.USER, Role.OPERATOR, Role.ADMIN]
    for height, role in enumerate(order):
        assert [other for other in order if role.includes(other)] == order[: height + 1]
