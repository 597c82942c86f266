"""The warm pool as a state machine: what is adopted is alive, fits, and goes to one session only.

Processes are stand-ins at a seam of ours, so that thousands of histories can be tried; the pool with real processes is
in ``test_conversation`` and in every other test that opens a session.
"""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.platform import eventually

from claude_sdk_pattern.sessions.errors import AgentStartError
from claude_sdk_pattern.sessions.options import AgentProfile
from claude_sdk_pattern.sessions.pool import PoolLimits, WarmPool

pytestmark = pytest.mark.anyio

DEFAULT = AgentProfile()
OTHERS = [AgentProfile(output_schema=f'{{"title":"{number}"}}') for number in range(3)]
FOREVER = 1e9


class Process:
    """A process that lives until it is killed or discarded."""

    def __init__(self, profile: AgentProfile) -> None:
        self.profile = profile
        self.is_alive = True
        self.discarded = 0
        self._callbacks: list[Callable[[], None]] = []

    def when_ended(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def kill(self) -> None:
        self.is_alive = False
        for callback in self._callbacks:
            callback()


class Supply:
    """Starts processes at once; keeps all it ever started."""

    def __init__(self) -> None:
        self.started: list[Process] = []
        self.starting = 0
        self.most_at_once = 0
        self.fails = False

    async def start_warm(self, profile: AgentProfile) -> Process:
        self.starting += 1
        self.most_at_once = max(self.most_at_once, self.starting)
        await asyncio.sleep(0)
        self.starting -= 1
        if self.fails:
            raise AgentStartError("not today")
        self.started.append(Process(profile))
        return self.started[-1]

    async def discard(self, process: Process) -> None:
        await asyncio.sleep(0)
        process.is_alive = False
        process.discarded += 1

    def alive(self, profile: AgentProfile) -> int:
        return sum(process.is_alive and process.profile == profile for process in self.started)


def pool_of(
    supply: Supply, *, size: int = 2, max_age: float = FOREVER, key: float = FOREVER, pause: float = 0
) -> WarmPool[Process]:
    return WarmPool(supply, PoolLimits(size=size, max_age_seconds=max_age, key_seconds=key, pause_seconds=pause))


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_one_that_is_taken_is_replaced() -> None:
    supply = Supply()
    async with pool_of(supply) as pool:
        await pool.wait_filled()
        taken = pool.adopt(DEFAULT)
        assert taken is not None
        assert taken is supply.started[0]
        await settle()
        assert pool.size == 2
    assert taken.is_alive
    assert [process.discarded for process in supply.started] == [0, 1, 1]
    assert supply.most_at_once == 1


async def test_whoever_takes_one_has_a_moment_for_themselves_before_the_next_is_started() -> None:
    supply = Supply()
    async with pool_of(supply, pause=0.05) as pool:
        await pool.wait_filled()
        pool.adopt(DEFAULT)
        await settle()
        pool.adopt(DEFAULT)
        await settle()
        assert len(supply.started) == 2

        async def full() -> bool:
            return pool.size == 2

        await eventually(full)
        assert len(supply.started) == 4


async def test_one_that_dies_unused_is_replaced_before_anybody_asks() -> None:
    supply = Supply()
    async with pool_of(supply) as pool:
        await pool.wait_filled()
        supply.started[0].kill()
        await settle()
        assert len(supply.started) == 3
        assert supply.started[0].discarded == 1
        assert supply.alive(DEFAULT) == pool.size == 2


async def test_one_that_died_this_very_moment_is_not_given_out() -> None:
    supply = Supply()
    async with pool_of(supply) as pool:
        await pool.wait_filled()
        supply.started[0].kill()
        assert pool.adopt(DEFAULT) is supply.started[1]
    assert supply.started[0].discarded == 1


async def test_a_profile_that_was_used_is_kept_ready_for_a_while() -> None:
    supply = Supply()
    async with pool_of(supply, size=1, key=0.05) as pool:
        await pool.wait_filled()
        assert pool.adopt(OTHERS[0]) is None
        await settle()
        assert supply.alive(OTHERS[0]) == 1

        async def gone() -> bool:
            return supply.alive(OTHERS[0]) == 0

        await eventually(gone)
        assert pool.size == supply.alive(DEFAULT) == 1


async def test_other_profiles_together_have_no_more_than_the_default() -> None:
    supply = Supply()
    async with pool_of(supply, size=2) as pool:
        await pool.wait_filled()
        for profile in OTHERS:
            assert pool.adopt(profile) is None
            await settle()
        assert [supply.alive(profile) for profile in OTHERS] == [0, 1, 1]


async def test_one_that_grows_old_is_replaced() -> None:
    supply = Supply()
    async with pool_of(supply, size=1, max_age=0.05) as pool:
        await pool.wait_filled()

        async def replaced_twice() -> bool:
            return len(supply.started) >= 3

        await eventually(replaced_twice)
        assert supply.started[0].discarded == 1


async def test_a_new_default_replaces_what_was_kept_for_the_old_one() -> None:
    supply = Supply()
    async with pool_of(supply) as pool:
        await pool.wait_filled()
        pool.set_default(OTHERS[0])
        await settle()
        assert (supply.alive(DEFAULT), supply.alive(OTHERS[0])) == (0, 2)


async def test_a_pool_of_none_starts_none() -> None:
    supply = Supply()
    async with pool_of(supply, size=0) as pool:
        await pool.wait_filled()
        assert pool.adopt(DEFAULT) is None
        await settle()
    assert supply.started == []


async def test_processes_that_do_not_start_are_tried_again_later_and_stop_nothing() -> None:
    supply = Supply()
    supply.fails = True
    async with pool_of(supply) as pool:
        await settle()
        assert not pool.is_filled
        assert pool.adopt(DEFAULT) is None
    assert supply.started == []


@settings(max_examples=100, deadline=None)
@given(
    size=st.integers(0, 3),
    steps=st.lists(st.tuples(st.sampled_from(["adopt", "kill", "default", "wait"]), st.integers(0, 3))),
)
def test_whatever_happens_adopted_processes_are_alive_fit_and_are_nobody_elses(
    size: int, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(_check(size, steps))


async def _check(size: int, steps: list[tuple[str, int]]) -> None:
    supply = Supply()
    profiles = [DEFAULT, *OTHERS]
    adopted: list[Process] = []
    async with pool_of(supply, size=size) as pool:
        for step, number in steps:
            if step == "adopt" and (process := pool.adopt(profiles[number])) is not None:
                assert process.is_alive
                assert process.profile == profiles[number]
                assert process not in adopted
                adopted.append(process)
            elif step == "kill" and supply.started:
                supply.started[number % len(supply.started)].kill()
            elif step == "default":
                pool.set_default(profiles[number])
            elif step == "wait":
                await settle()
            assert pool.size <= 2 * size + 1
    # Whatever was not given out is gone, and was cleaned up behind exactly once.
    assert all(process.discarded == (process not in adopted) for process in supply.started)
