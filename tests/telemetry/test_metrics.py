"""The metrics by themselves: what is told comes out, and no label can be made to grow."""

from claude_sdk_pattern.telemetry.metrics import Metrics


def lines(metrics: Metrics, name: str) -> dict[str, float]:
    """Return the samples of a metric as they are rendered, by their labels."""
    found: dict[str, float] = {}
    for line in metrics.render().decode().splitlines():
        sample, _, value = line.rpartition(" ")
        if sample == name or sample.startswith(f"{name}{{"):
            found[sample.removeprefix(name)] = float(value)
    return found


def test_tools_are_counted_by_a_bounded_name_and_how_they_ended() -> None:
    metrics = Metrics()
    for tool in ("Bash", "Bash", "mcp__github__create_issue", "mcp__made__up", "an invention", "another"):
        metrics.count_tool(tool, is_error=False)
    metrics.count_tool("Bash", is_error=True)
    assert lines(metrics, "csp_tool_executions_total") == {
        '{status="success",tool="Bash"}': 2,
        '{status="failure",tool="Bash"}': 1,
        '{status="success",tool="mcp"}': 2,
        '{status="success",tool="other"}': 2,
    }


def test_durations_and_cost_add_up() -> None:
    metrics = Metrics()
    metrics.observe_session_init("resume", 0.4)
    metrics.observe_query("success", 2.0, cost_usd=0.25)
    metrics.observe_query("interrupted", 1.0, cost_usd=0.5)
    # The cost of a resumed process is counted from zero again, and a counter must not fall.
    metrics.observe_query("success", 1.0, cost_usd=-1.0)
    assert lines(metrics, "csp_session_init_duration_seconds_sum") == {'{start="resume"}': 0.4}
    assert lines(metrics, "csp_query_duration_seconds_sum") == {
        '{outcome="success"}': 3.0,
        '{outcome="interrupted"}': 1.0,
    }
    assert lines(metrics, "csp_api_cost_usd_total") == {"": 0.75}


def test_gauges_say_what_is_true_at_the_scrape() -> None:
    metrics = Metrics()
    counts = {"sessions": 1, "sockets": 2, "pool": 3}
    metrics.watch_active_sessions(lambda: counts["sessions"])
    metrics.watch_websockets(lambda: counts["sockets"])
    metrics.watch_pool(lambda: counts["pool"])
    metrics.set_process_memory([100, 300, 200])
    metrics.set_breaker_state(2)
    counts["sessions"] = 7
    assert lines(metrics, "csp_active_sessions") == {"": 7}
    assert lines(metrics, "csp_websocket_connections") == {"": 2}
    assert lines(metrics, "csp_prewarm_pool_size") == {"": 3}
    assert lines(metrics, "csp_subprocess_rss_bytes") == {'{of="all"}': 600, '{of="largest"}': 300}
    assert lines(metrics, "csp_circuit_breaker_state") == {"": 2}
    metrics.set_process_memory([])
    assert lines(metrics, "csp_subprocess_rss_bytes") == {'{of="all"}': 0, '{of="largest"}': 0}


def test_two_servers_in_one_process_count_for_themselves() -> None:
    first, second = Metrics(), Metrics()
    first.count_watchdog_action("memory")
    assert lines(first, "csp_watchdog_actions_total") == {'{action="memory"}': 1}
    assert lines(second, "csp_watchdog_actions_total") == {}
