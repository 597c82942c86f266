"""The metrics of a server, in the text format of Prometheus.

An object is handed to those who count; nothing is global, so that several servers may live in one process. Labels
take few values, whatever people do: never an id, never a name that a person or an agent has made up.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
"""Of what :meth:`Metrics.render` returns."""

type Start = Literal["warm", "cold", "resume"]
"""How a session came by its agent process: adopted from the pool, started anew, or started to go on."""

type EgressOutcome = Literal["allowed", "refused", "failed"]
"""``refused`` by the policy, ``failed`` because the host could not be reached."""

type WatchdogAction = Literal["age", "memory", "timeout", "silence", "crash_loop", "workspace"]
"""Why an agent process was stopped, or not brought back."""


type GateDecision = Literal["allow", "ask", "deny"]
"""What the permission gate says of a tool call."""

# The tools of Claude Code that run by themselves. Others are counted together: agents can make names up.
_BUILT_IN_TOOLS: Final = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "Bash",
        "BashOutput",
        "Edit",
        "EnterPlanMode",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "KillShell",
        "ListMcpResourcesTool",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "ReadMcpResourceTool",
        "SendMessage",
        "Skill",
        "StructuredOutput",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
        "Write",
    }
)

# A warm process is there in milliseconds, a cold one in about half a second, on a busy machine in several.
_INIT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0)

# From a person who waits for it, to one who comes back from lunch.
_APPROVAL_BUCKETS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)

# Turns last from a sentence to the longest that CLAUDE_SDK_PATTERN_QUERY_TIMEOUT_SECONDS usually allows.
_QUERY_BUCKETS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Metrics:
    """Everything one server reports. Its methods never block and never raise on what they are told."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._active_sessions = Gauge("csp_active_sessions", "Sessions that hold an agent process.", registry=registry)
        self._session_init = Histogram(
            "csp_session_init_duration_seconds",
            "Time a session waited for an agent process to be connected, after it had a slot for one.",
            ["start"],
            buckets=_INIT_BUCKETS,
            registry=registry,
        )
        self._query = Histogram(
            "csp_query_duration_seconds",
            "Time from the beginning of a turn to its result.",
            ["outcome"],
            buckets=_QUERY_BUCKETS,
            registry=registry,
        )
        self._tools = Counter(
            "csp_tool_executions_total", "Tool calls that were answered.", ["tool", "status"], registry=registry
        )
        self._cost = Counter(
            "csp_api_cost_usd_total", "Cost of all turns, as the model gateway counts it, in USD.", registry=registry
        )
        self._websockets = Gauge("csp_websocket_connections", "Open chat WebSockets.", registry=registry)
        self._rss = Gauge(
            "csp_subprocess_rss_bytes",
            "Resident memory of agent processes with all their children: of all together, and of the largest.",
            ["of"],
            registry=registry,
        )
        self._pool = Gauge("csp_prewarm_pool_size", "Agent processes that are ready for adoption.", registry=registry)
        self._breaker = Gauge(
            "csp_circuit_breaker_state",
            "Circuit breaker before the model's API: 0 closed, 1 open, 2 half-open.",
            registry=registry,
        )
        self._egress = Counter(
            "csp_egress_requests_total",
            "Connections that agents asked for through the egress proxy.",
            ["outcome"],
            registry=registry,
        )
        self._watchdog = Counter(
            "csp_watchdog_actions_total",
            "Agent processes that were stopped, or not brought back, by reason.",
            ["action"],
            registry=registry,
        )

        self._decisions = Counter(
            "csp_policy_decisions_total",
            "Decisions of the permission gate, by kind of tool; undeclared tools are of the kind `none`.",
            ["decision", "category"],
            registry=registry,
        )
        self._approval_wait = Histogram(
            "csp_approval_wait_seconds",
            "Time a permission request waited for its answer.",
            ["decision"],
            buckets=_APPROVAL_BUCKETS,
            registry=registry,
        )
        self._hook_failures = Counter(
            "csp_hook_failures_total", "Hooks that failed or took too long.", ["hook_event", "kind"], registry=registry
        )
        self._prompts = Counter(
            "csp_prompt_guard_total", "Messages by what the prompt guard did.", ["reaction"], registry=registry
        )
        self._plugins = Gauge("csp_plugins", "Plugins by status.", ["status"], registry=registry)

        self._plugin_tools = Histogram(
            "csp_plugin_tool_duration_seconds",
            "Time that calls of plugins' tools took, by plugin and how they ended.",
            ["plugin", "outcome"],
            buckets=_QUERY_BUCKETS,
            registry=registry,
        )

    @property
    def names(self) -> frozenset[str]:
        """The metrics by their full names, as documented and as one asks for them."""
        families = self._registry.collect()
        return frozenset(f"{family.name}_total" if family.type == "counter" else family.name for family in families)

    def render(self) -> bytes:
        """Return all metrics as they are now, in the format :data:`CONTENT_TYPE`."""
        return generate_latest(self._registry)

    # --- what is asked for at each scrape -----------------------------------------------------------------------

    def watch_active_sessions(self, count: Callable[[], int]) -> None:
        """Take the number of sessions that hold a process from ``count``."""
        self._active_sessions.set_function(count)

    def watch_websockets(self, count: Callable[[], int]) -> None:
        """Take the number of open WebSockets from ``count``."""
        self._websockets.set_function(count)

    def watch_pool(self, count: Callable[[], int]) -> None:
        """Take the number of processes ready for adoption from ``count``."""
        self._pool.set_function(count)

    # --- what is told as it happens -----------------------------------------------------------------------------

    def observe_session_init(self, start: Start, seconds: float) -> None:
        """Note how long a session waited for its process."""
        self._session_init.labels(start).observe(seconds)

    def observe_query(self, outcome: str, seconds: float, *, cost_usd: float) -> None:
        """Note the end of a turn. ``outcome`` is the subtype of its result."""
        self._query.labels(outcome).observe(seconds)
        self._cost.inc(max(0.0, cost_usd))

    def count_tool(self, tool: str, *, is_error: bool) -> None:
        """Count an answered tool call. Tools of MCP servers are counted together, and so are unknown ones."""
        self._tools.labels(_bounded(tool), "failure" if is_error else "success").inc()

    def count_decision(self, decision: GateDecision, category: str | None) -> None:
        """Count a decision of the permission gate. ``category`` is one of the policy's, None for undeclared tools."""
        self._decisions.labels(decision, category or "none").inc()

    def observe_approval(self, decision: str, seconds: float) -> None:
        """Note how long a permission request waited."""
        self._approval_wait.labels(decision).observe(seconds)

    def count_hook_failure(self, hook_event: str, kind: str) -> None:
        """Count a hook that failed. ``kind`` is ``security`` or ``observing``."""
        self._hook_failures.labels(hook_event, kind).inc()

    def count_prompt(self, reaction: str) -> None:
        """Count a message by what the prompt guard did with it: ``pass``, ``flag`` or ``block``."""
        self._prompts.labels(reaction).inc()

    def observe_plugin_tool(self, plugin: str, outcome: str, seconds: float) -> None:
        """Note a call of a plugin's tool. ``plugin`` is one that an operator has activated."""
        self._plugin_tools.labels(plugin, outcome).observe(seconds)

    def count_watchdog_action(self, action: WatchdogAction) -> None:
        """Count that something was done about an agent process."""
        self._watchdog.labels(action).inc()

    def count_egress(self, outcome: EgressOutcome) -> None:
        """Count that an agent asked for a connection to the outside."""
        self._egress.labels(outcome).inc()

    def set_process_memory(self, rss_bytes: Collection[int]) -> None:
        """Note the resident memory of every agent process, each with its children, in bytes."""
        self._rss.labels("all").set(sum(rss_bytes))
        self._rss.labels("largest").set(max(rss_bytes, default=0))

    def set_breaker_state(self, state: int) -> None:
        """Note the state of the circuit breaker before the model's API: 0 closed, 1 open, 2 half-open."""
        self._breaker.set(state)

    def set_plugins(self, counts: Mapping[str, int]) -> None:
        """Note how many plugins there are of each status."""
        for status, count in counts.items():
            self._plugins.labels(status).set(count)


def _bounded(tool: str) -> str:
    if tool.startswith("mcp__"):
        return "mcp"
    return tool if tool in _BUILT_IN_TOOLS else "other"
