"""Decides, from the settings and from what the machine can do, how the agents of this server are housed."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import structlog

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.isolation.cgroups import AgentCgroups, CgroupsUnavailableError
from claude_sdk_pattern.isolation.doorways import Door, Doorways
from claude_sdk_pattern.isolation.egress import EgressProxy
from claude_sdk_pattern.isolation.hosts import EgressPolicy, HostPattern
from claude_sdk_pattern.isolation.housing import Housing
from claude_sdk_pattern.isolation.kinds import MEBIBYTE, AgentLimits, Isolation
from claude_sdk_pattern.isolation.launcher import EGRESS_PORT, GATEWAY_PORT, Walls, write_launcher
from claude_sdk_pattern.isolation.probe import CommandSandbox, resolve_command_sandbox, resolve_isolation
from claude_sdk_pattern.isolation.quick_npm import write_quick_npm
from claude_sdk_pattern.model_gateway.loopback import listening_on_loopback, serving
from claude_sdk_pattern.telemetry.metrics import Metrics

logger = structlog.get_logger(__name__)


async def resolve_housing(settings: Settings) -> tuple[Walls, CommandSandbox]:
    """Return how agents are walled in, having seen it work.

    Raises:
        IsolationUnavailableError: what was asked for cannot be had here.
        HostPatternError: a host that agents may reach is none.
    """
    requested = None if settings.isolation is None else Isolation(settings.isolation)
    limits = _limits(settings)
    isolation = await resolve_isolation(requested, limits=limits, uid=settings.agent_uid)
    ports = [GATEWAY_PORT, EGRESS_PORT] if _egress_policy(settings).hosts else [GATEWAY_PORT]
    walls = Walls(isolation=isolation, limits=limits, uid=settings.agent_uid, ports=ports)
    command_sandbox = await resolve_command_sandbox(settings.sandbox_enabled, walls)
    return replace(walls, may_nest=command_sandbox is not CommandSandbox.OFF), command_sandbox


@contextlib.asynccontextmanager
async def housed(settings: Settings, *, cli: Path, gateway: Any, metrics: Metrics) -> AsyncGenerator[Housing]:
    """Open the model gateway to agents and yield how they are started and reach it.

    Args:
        settings: what was asked for.
        cli: the Claude Code executable.
        gateway: the model gateway, an ASGI application.
        metrics: counts what goes through the egress proxy.

    Raises:
        IsolationUnavailableError: what was asked for cannot be had here.
    """
    walls, command_sandbox = await resolve_housing(settings)
    is_walled = walls.isolation is Isolation.BUBBLEWRAP
    cgroups, why_not = _cgroups(settings)
    log = logger.info if is_walled else logger.warning
    log(
        "agent_isolation",
        isolation=walls.isolation.value,
        was_asked_for=settings.isolation is not None,
        command_sandbox=command_sandbox.value,
        egress_hosts=len(settings.egress_allowed_hosts) if is_walled else "any",
        memory_limit_by="watchdog" if cgroups is None else "control groups",
        no_control_groups=why_not,
    )
    run = (settings.data_dir / "run").absolute()
    launcher = write_launcher(run / "agent", walls, cli=cli)
    programs = None if command_sandbox is CommandSandbox.OFF else write_quick_npm(run / "programs")
    async with contextlib.AsyncExitStack() as stack:
        listen = await stack.enter_async_context(serving(gateway))
        if not is_walled:
            listener = listening_on_loopback()
            server = await listen(listener)
            stack.callback(server.close)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield Housing(
                isolation=walls.isolation,
                launcher=launcher,
                gateway_url=url,
                command_sandbox=command_sandbox,
                cgroups=cgroups,
                programs=programs,
            )
            return
        doors: list[Door] = [listen]
        if EGRESS_PORT in walls.ports:
            doors.append(EgressProxy(_egress_policy(settings), on_request=metrics.count_egress).listen)
        doorways = Doorways(run / "doors", doors)
        await stack.enter_async_context(doorways.running())
        yield Housing(
            isolation=walls.isolation,
            launcher=launcher,
            gateway_url=f"http://127.0.0.1:{GATEWAY_PORT}",
            doorways=doorways,
            has_egress=EGRESS_PORT in walls.ports,
            owner=walls.owner,
            command_sandbox=command_sandbox,
            cgroups=cgroups,
            programs=programs,
        )


def _limits(settings: Settings) -> AgentLimits:
    return AgentLimits(
        processes=settings.max_agent_processes,
        open_files=settings.max_agent_open_files,
        file_bytes=settings.max_agent_file_mb * MEBIBYTE,
        cpu_seconds=settings.max_agent_cpu_seconds,
        home_bytes=settings.agent_home_mb * MEBIBYTE,
        tmp_bytes=settings.agent_tmp_mb * MEBIBYTE,
        shm_bytes=settings.agent_shm_mb * MEBIBYTE,
    )


def _cgroups(settings: Settings) -> tuple[AgentCgroups | None, str | None]:
    """Return the control groups of agents, or None and why there are none."""
    # What is over the watchdog's limit is told people as such; the kernel's is behind it, for what is faster.
    memory_bytes = int(2.25 * settings.max_session_rss_mb * MEBIBYTE)
    try:
        return AgentCgroups.prepare(memory_bytes=memory_bytes, processes=settings.max_agent_processes), None
    except CgroupsUnavailableError as error:
        return None, str(error)


def _egress_policy(settings: Settings) -> EgressPolicy:
    return EgressPolicy(
        hosts=[HostPattern.parse(text) for text in settings.egress_allowed_hosts],
        networks=[ip_network(text) for text in settings.egress_allowed_networks],
    )
