"""``GET /metrics`` of a real server, before and after real turns."""

import re

import httpx2
import pytest
from tests.support.server import Server
from tests.support.talking import ask

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


async def scrape(client: httpx2.AsyncClient) -> dict[str, float]:
    """Return all samples by name and labels; labels come in the order of the alphabet."""
    answered = await client.get("/metrics", headers={"authorization": ""})
    assert answered.status_code == 200
    assert answered.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = (line.rpartition(" ") for line in answered.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


async def test_a_turn_shows_in_the_metrics(server: Server, alice: httpx2.AsyncClient) -> None:
    before = await scrape(alice)
    async with server.chat(alice) as chat, server.chat(alice) as onlooker:
        hello = await chat.until("hello")
        await onlooker.until("hello")
        assert (await ask(chat, "run bash: echo counted", "one"))["subtype"] == "success"
        await ask(chat, "read file nothing.txt", "two")
        after = await scrape(alice)

    def grown(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    # Tests that ran before on the same server may have left sockets that are just going.
    assert after["csp_websocket_connections"] >= 2
    assert after["csp_active_sessions"] >= 1
    assert grown('csp_query_duration_seconds_count{outcome="success"}') == 2
    assert grown('csp_query_duration_seconds_sum{outcome="success"}') > 0
    assert grown('csp_tool_executions_total{status="success",tool="Bash"}') == 1
    assert grown('csp_tool_executions_total{status="failure",tool="Read"}') == 1
    assert grown("csp_api_cost_usd_total") > 0
    starts = ("warm", "cold", "resume")
    assert sum(grown(f'csp_session_init_duration_seconds_count{{start="{start}"}}') for start in starts) == 1
    told = " ".join(after)
    assert hello["session_id"] not in told
    assert hello["you"]["id"] not in told
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", told)
