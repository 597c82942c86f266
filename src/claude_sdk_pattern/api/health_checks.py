"""What has to be true for the server to be of use, asked by those who decide whether to send it requests."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import anyio
import structlog

logger = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[None]]
"""Returns if all is well, raises if not. It is cancelled at its deadline."""

# Below the period of a probe, so that a slow part is named and not just timed out.
DEFAULT_TIMEOUT_SECONDS = 2.0

# Probes need no authentication. However many come, the checks run no more often than this.
MAX_AGE_SECONDS = 0.5


class HealthCheckFailedError(Exception):
    """Raised by a check whose message may be shown to anybody. Other exceptions are shown as ``failed``."""


class Probe(StrEnum):
    """Which question a check has a part in answering."""

    READY = "ready"
    """Whether to send requests here."""
    STARTUP = "startup"
    """Whether the start is over; once it is, it stays so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of each check: ``ok``, ``failed``, ``timed out``, or what it said."""

    outcomes: Mapping[str, str]

    @property
    def failed(self) -> dict[str, str]:
        """The checks that did not pass, with what became of them."""
        return {name: outcome for name, outcome in self.outcomes.items() if outcome != "ok"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registered:
    check: Check
    probes: frozenset[Probe]
    timeout_seconds: float


class HealthChecks:
    """The checks of a server. The composition root adds one for each part that can fail.

    Args:
        monotonic: the clock.
        details: what whoever asks is told besides: how the server runs, good or bad. Anybody may ask.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, *, details: Mapping[str, str] | None = None
    ) -> None:
        self.details = details or {}
        self._monotonic = monotonic
        self._checks: dict[str, _Registered] = {}
        self._latest: dict[Probe, tuple[float, Report]] = {}
        self._running = {probe: anyio.Lock() for probe in Probe}

    def add(self, name: str, check: Check, *probes: Probe, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        """Add a check for these probes under a name that is shown to whoever asks."""
        self._checks[name] = _Registered(check=check, probes=frozenset(probes), timeout_seconds=timeout_seconds)

    async def report(self, probe: Probe) -> Report:
        """Run the checks of a probe side by side, or return what they said a moment ago."""
        async with self._running[probe]:
            latest = self._latest.get(probe)
            if latest is not None and self._is_current(probe, *latest):
                return latest[1]
            begun = self._monotonic()
            report = await self._run(probe)
            self._latest[probe] = (begun, report)
            return report

    def _is_current(self, probe: Probe, begun: float, report: Report) -> bool:
        if probe is Probe.STARTUP and not report.failed:
            return True
        return self._monotonic() - begun < MAX_AGE_SECONDS

    async def _run(self, probe: Probe) -> Report:
        chosen = {name: one for name, one in self._checks.items() if probe in one.probes}
        # Filled first, so that the order is that of registration and not that of finishing.
        outcomes = dict.fromkeys(chosen, "timed out")

        async def run(name: str, registered: _Registered) -> None:
            with anyio.move_on_after(registered.timeout_seconds):
                outcomes[name] = await _outcome(name, registered.check)

        async with anyio.create_task_group() as group:
            for name, registered in chosen.items():
                group.start_soon(run, name, registered)
        report = Report(outcomes=outcomes)
        if report.failed:
            logger.warning("health_check_failed", probe=probe.value, failed=report.failed)
        return report


async def _outcome(name: str, check: Check) -> str:
    try:
        await check()
    except HealthCheckFailedError as error:
        return str(error)
    except Exception as error:
        # A check that breaks says nothing good; the others still have their say.
        logger.warning("health_check_raised", check=name, exc_info=error)
        return "failed"
    return "ok"
