"""Any order of what operators, folders and crashes do to plugins ends in the state that follows from it.

Real: the transitions, as a state machine that hypothesis drives; the model beside it is a handful of plain facts.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.manifest import Permissions
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.records import PluginRecord, PluginStatus, added_permissions, asks_for_nothing

PROBLEM = (PluginProblem(file="plugin.json", message="is wrong"),)

hosts = st.frozensets(st.sampled_from(["a.example", "b.example", "c.example"]))


def package(number: int, asked: frozenset[str]) -> PluginPackage:
    """Return a package that differs from others by its number and by the hosts it asks for."""
    digest = hashlib.sha256(f"{number} {sorted(asked)}".encode()).hexdigest()
    return PluginPackage(
        name="weather",
        version=f"1.{number}.0",
        format="platform",
        root=Path("/nowhere"),
        digest=digest,
        permissions=Permissions(hosts=tuple(sorted(asked))),
    )


class PluginLife(RuleBasedStateMachine):
    """One plugin, and what is known of it independently of the record."""

    def __init__(self) -> None:
        super().__init__()
        self.record = PluginRecord(name="weather", source="folder", origin="weather")
        self.there: PluginPackage | None = None
        self.runs: PluginPackage | None = None
        self.is_there = True
        self.is_wanted = False
        self.agreed: frozenset[str] = frozenset()
        self.failed = False
        self.trouble = False
        self.refused = False
        self.was_wanted = False

    @initialize(number=st.integers(0, 9), asked=hosts)
    def begin(self, number: int, asked: frozenset[str]) -> None:
        self.find(number, asked)

    @rule(number=st.integers(0, 9), asked=hosts)
    def find(self, number: int, asked: frozenset[str]) -> None:
        found = package(number, asked)
        if self.there is None or found.digest != self.there.digest:
            self.failed = self.refused = False
            self.there = found
        self.is_there = True
        self.record = self.record.found(self.there, source="folder", origin="weather")

    @rule()
    def break_folder(self) -> None:
        self.there, self.is_there = None, True
        self.record = self.record.invalid(PROBLEM, source="folder", origin="weather")

    @rule()
    def vanish(self) -> None:
        self.is_there = self.failed = self.trouble = False
        self.record = self.record.vanished()

    @precondition(lambda self: self.is_there and self.there is not None)
    @rule()
    def activate(self) -> None:
        assert self.there is not None
        generation = self.record.generation
        was_at_work = self.is_at_work and self.runs == self.there
        self.record = self.record.activated(self.there)
        assert (self.record.generation == generation) == was_at_work
        if not was_at_work:
            self.trouble = self.refused = False
        self.runs, self.is_wanted, self.was_wanted, self.failed = self.there, True, True, False
        self.agreed = frozenset(self.there.permissions.hosts)

    @precondition(lambda self: self.is_there and self.record.has_update and self.there is not None)
    @rule()
    def update_if_modest(self) -> None:
        assert self.there is not None
        if asks_for_nothing(added_permissions(self.record.agreed, self.there.permissions)):
            assert frozenset(self.there.permissions.hosts) <= self.agreed
            self.record = self.record.updated(self.there)
            self.runs = self.there
            self.failed = self.trouble = self.refused = False
        else:
            assert not frozenset(self.there.permissions.hosts) <= self.agreed

    @rule()
    def deactivate(self) -> None:
        self.record = self.record.deactivated()
        self.runs, self.is_wanted, self.agreed = None, False, frozenset()
        self.failed = self.trouble = False

    @rule(behind=st.integers(0, 1))
    def fail_to_start(self, behind: int) -> None:
        before = self.record
        self.record = self.record.failed(self.record.generation - behind, "no luck")
        if behind:
            assert self.record == before
        elif self.is_wanted and self.is_there and self.runs is not None:
            self.failed = True

    @rule()
    def refuse(self) -> None:
        at_work = self.record.is_running
        self.record = self.record.refused("cannot be imported")
        self.failed = self.failed or not at_work
        self.refused = self.refused or at_work

    @rule(works=st.booleans())
    def report(self, works: bool) -> None:
        self.record = self.record.troubled(None if works else "crashed")
        if self.record.is_running:
            self.trouble = not works

    @rule()
    def configure_or_restart(self) -> None:
        before = self.record
        self.record = self.record.configured({"city": "Rome"}).restarted()
        assert self.record.generation == before.generation + 2
        self.failed = self.trouble = self.refused = False

    @property
    def is_at_work(self) -> bool:
        return self.is_wanted and self.is_there and self.runs is not None and not self.failed

    @invariant()
    def status_follows_from_the_facts(self) -> None:
        if not self.is_there:
            expected = PluginStatus.INACTIVE
        elif self.is_at_work:
            expected = PluginStatus.DEGRADED if self.trouble else PluginStatus.ACTIVE
        elif self.failed or self.there is None:
            expected = PluginStatus.ERRORED
        else:
            expected = PluginStatus.DISABLED if self.was_wanted else PluginStatus.REGISTERED
        assert self.record.status is expected

    @invariant()
    def what_runs_was_agreed_to(self) -> None:
        if self.record.is_running:
            assert self.runs is not None
            assert self.record.running_digest == self.runs.digest
            assert self.record.agreed is not None
            assert frozenset(self.runs.permissions.hosts) <= self.agreed

    @invariant()
    def what_keeps_something_from_working_is_told(self) -> None:
        if self.record.status in {PluginStatus.ERRORED, PluginStatus.DEGRADED}:
            assert self.record.last_error
        assert replace(self.record) == self.record


TestPluginLife = PluginLife.TestCase


@pytest.mark.parametrize(
    "more", [Permissions(apps=True), Permissions(environment=("TZ",))], ids=["apps", "environment"]
)
def test_what_was_agreed_to_is_asked_for_once(more: Permissions) -> None:
    plain = Permissions()
    assert added_permissions(plain, more) == more
    assert asks_for_nothing(added_permissions(more, more))
    assert asks_for_nothing(added_permissions(more, plain))
