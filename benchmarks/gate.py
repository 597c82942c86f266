"""How long the permission gate takes: the decision alone, and as a share of a real tool call.

``python -m benchmarks.gate`` measures the decision and prints JSON. The benchmark command calls :func:`measure` too.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.servers import RunningPlatform
from benchmarks.turns import platform_client
from claude_sdk_pattern.policy.calls import GateContext, ToolCall
from claude_sdk_pattern.policy.gate import PermissionGate
from claude_sdk_pattern.policy.loading import builtin_policy
from claude_sdk_pattern.policy.model import Rule

# What agents do most, and what costs most: scripts of several commands, one quoted in another, paths with links.
_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read": ("Read", {"file_path": "src/module_{n}.py"}),
    "write": ("Write", {"file_path": "src/link/file_{n}.py", "content": "x" * 2000}),
    "command": ("Bash", {"command": "ls -la src_{n}"}),
    "pipeline": ("Bash", {"command": "cd src && grep -rn 'term {n}' . | sort | uniq -c > out_{n}.txt"}),
    "nested": ("Bash", {"command": "for f in *.py; do bash -c \"python3 -m py_compile '$f' {n}\" || exit 1; done"}),
    "denied": ("Bash", {"command": "env A={n} sudo rm -rf /"}),
}

# As many remembered answers as a busy person collects.
_REMEMBERED = 50


def measure(*, rounds: int = 1000) -> dict[str, Any]:
    """Return ``decision_ms`` by kind of call and for ``all``: ``median``, ``p99``, ``max``. No input comes twice."""
    rules = tuple(
        Rule(id=f"session.{n}", decision="allow", tools=("Bash",), commands=(f"tool-{n} *",), reason="remembered")
        for n in range(_REMEMBERED)
    )
    gate = PermissionGate(builtin_policy())
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="csp-gate-") as folder:
        workspace = Path(folder)
        (workspace / "src").mkdir()
        (workspace / "src" / "link").symlink_to(".")
        context = GateContext(role="user", workspace=workspace, rules=rules)
        for number in range(rounds):
            for kind, (tool, pattern) in _CALLS.items():
                tool_input = {name: value.replace("{n}", str(number)) for name, value in pattern.items()}
                begun = time.perf_counter_ns()
                gate.decide(ToolCall(tool=tool, input=tool_input), context)
                found.setdefault(kind, []).append((time.perf_counter_ns() - begun) / 1e6)
    every = [duration for durations in found.values() for duration in durations]
    return {"decision_ms": {"all": _spread(every), **{kind: _spread(values) for kind, values in found.items()}}}


async def measure_turns(server: RunningPlatform, *, turns: int) -> dict[str, float]:
    """Return how long turns with one tool call take on a platform, in ms: what a decision is a part of."""
    async with platform_client(server) as talker:
        await talker.turn("say exactly: awake")
        return _spread([(await talker.turn(f"run bash: echo {number}")).result_ms for number in range(turns)])


def rows(figures: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the lines of the benchmark's table."""
    every, one, turn = figures["decision_ms"]["all"], figures["decision_ms"]["command"], figures["turn_ms"]
    share = 100 * one["median"] / turn["median"]
    return [
        ("permission gate, decision, ms", "", f"{every['median']} / p99 {every['p99']}", "wanted: median under 1 ms"),
        ("a turn with one command, ms", "", f"{turn['median']}", f"the decision is {share:.2f} % of it"),
    ]


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 3),
        "p99": round(ordered[int(len(ordered) * 0.99)], 3),
        "max": round(ordered[-1], 3),
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
