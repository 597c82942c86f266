"""Password hashes with the parameters of production."""

import statistics
import time

import anyio
import pytest

from claude_sdk_pattern.accounts.errors import SignInOverloadedError
from claude_sdk_pattern.accounts.passwords import MAX_CONCURRENT_HASHES, MAX_WAITING_HASHES, Passwords

pytestmark = pytest.mark.anyio


async def test_the_hash_of_a_password_fits_it_and_no_other() -> None:
    passwords = Passwords()
    stored = await passwords.hash("a password")
    assert (await passwords.check("a password", stored)).is_correct
    assert not (await passwords.check("A password", stored)).is_correct
    assert stored != await passwords.hash("a password")


@pytest.mark.parametrize("stored", ["", "not a hash", "$2b$12$abcdefghijklmnopqrstuv", "$argon2id$broken"])
async def test_a_damaged_hash_fits_nothing(stored: str) -> None:
    assert not (await Passwords().check("a password", stored)).is_correct


async def test_checking_for_nobody_takes_as_long_as_checking_for_somebody() -> None:
    passwords = Passwords()
    stored = await passwords.hash("a password")
    await passwords.check("a password", None)

    async def seconds(stored_hash: str | None) -> float:
        begin = time.thread_time_ns()
        wall = time.perf_counter()
        assert not (await passwords.check("wrong", stored_hash)).is_correct
        assert time.thread_time_ns() - begin < 50_000_000, "the hash was computed on the event loop"
        return time.perf_counter() - wall

    known = statistics.median([await seconds(stored) for _ in range(5)])
    unknown = statistics.median([await seconds(None) for _ in range(5)])
    # An answer without a hash takes microseconds; a busy machine can triple the time of a hash, but not that.
    assert 0.2 < unknown / known < 5


async def test_a_flood_of_sign_ins_is_turned_away_instead_of_queued_without_end() -> None:
    passwords = Passwords()
    refused: list[int] = []

    async with anyio.create_task_group() as group:

        async def hash_one() -> None:
            try:
                await passwords.hash("a password")
            except SignInOverloadedError as error:
                refused.append(error.retry_after_seconds)
                if len(refused) == 10:
                    group.cancel_scope.cancel()

        for _ in range(MAX_CONCURRENT_HASHES + MAX_WAITING_HASHES + 10):
            group.start_soon(hash_one)
    assert len(refused) == 10
