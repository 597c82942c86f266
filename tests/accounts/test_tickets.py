"""Tickets on a real SQLite file and a real PostgreSQL; only the clock is set by hand."""

from datetime import timedelta

import anyio
import pytest
from sqlalchemy import func, select
from tests.support.accounts import PASSWORD, SettableClock

from claude_sdk_pattern.accounts.accounts import Accounts
from claude_sdk_pattern.accounts.errors import InvalidTicketError
from claude_sdk_pattern.accounts.identities import Identity
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.storage.database import Database
from claude_sdk_pattern.storage.tables import TicketRow

pytestmark = pytest.mark.anyio


@pytest.fixture
async def identity(accounts: Accounts, alice: User, anyio_backend: str) -> Identity:
    """Alice, signed in."""
    pair = await accounts.login(alice.username, PASSWORD, "127.0.0.1")
    return await accounts.identify(pair.access_token)


async def test_a_ticket_opens_one_connection_and_no_second(accounts: Accounts, identity: Identity) -> None:
    ticket = (await accounts.issue_ticket(identity)).ticket
    assert await accounts.redeem_ticket(ticket) == identity
    with pytest.raises(InvalidTicketError):
        await accounts.redeem_ticket(ticket)


async def test_of_twenty_who_come_with_one_ticket_one_gets_in(accounts: Accounts, identity: Identity) -> None:
    ticket = (await accounts.issue_ticket(identity)).ticket
    admitted: list[Identity] = []

    async def redeem() -> None:
        try:
            admitted.append(await accounts.redeem_ticket(ticket))
        except InvalidTicketError:
            return

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(redeem)
    assert admitted == [identity]


async def test_a_ticket_expires(accounts: Accounts, identity: Identity, clock: SettableClock) -> None:
    ticket = await accounts.issue_ticket(identity)
    clock.advance(ticket.lifetime)
    with pytest.raises(InvalidTicketError):
        await accounts.redeem_ticket(ticket.ticket)


async def test_a_ticket_dies_with_the_login_it_was_asked_for_with(accounts: Accounts, identity: Identity) -> None:
    ticket = (await accounts.issue_ticket(identity)).ticket
    await accounts.logout(identity)
    with pytest.raises(InvalidTicketError):
        await accounts.redeem_ticket(ticket)


@pytest.mark.parametrize("ticket", ["", "csp_tk_", "\x00"])
async def test_an_unknown_ticket_is_refused(accounts: Accounts, ticket: str) -> None:
    with pytest.raises(InvalidTicketError):
        await accounts.redeem_ticket(ticket)


async def test_expired_tickets_do_not_pile_up(
    accounts: Accounts, identity: Identity, clock: SettableClock, database: Database
) -> None:
    for _ in range(3):
        await accounts.issue_ticket(identity)
    clock.advance(timedelta(minutes=1))
    await accounts.issue_ticket(identity)
    async with database.engine.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(TicketRow))).scalar_one() == 1


async def test_a_ticket_is_not_stored_in_the_clear(accounts: Accounts, identity: Identity, database: Database) -> None:
    ticket = (await accounts.issue_ticket(identity)).ticket
    async with database.engine.connect() as connection:
        assert ticket not in repr((await connection.execute(select(TicketRow.__table__))).all())
