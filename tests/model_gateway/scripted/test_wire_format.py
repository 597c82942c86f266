"""The Messages API over real HTTP on loopback: events, whole messages, errors, faults, pace."""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.model_gateway.scripted.requests import assistant, request, tool_result, tool_use, user

from claude_sdk_pattern.model_gateway.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

type Event = dict[str, Any]


@pytest.fixture
async def client(model: ScriptedModel) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=model.base_url, timeout=10) as http:
        yield http


async def test_a_text_is_streamed_with_the_events_of_the_api(client: httpx2.AsyncClient) -> None:
    response = await _post(client, "say exactly: one two three four five six")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["request-id"].startswith("req_")
    assert response.headers["anthropic-ratelimit-requests-limit"] == "4000"
    events = _events(response.text)
    assert [event["type"] for event in events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    start = events[0]["message"]
    assert start["id"].startswith("msg_")
    assert (start["role"], start["model"], start["content"]) == ("assistant", "claude-test-1", [])
    assert start["usage"]["input_tokens"] > 10
    assert _text(events) == "one two three four five six"
    assert events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert events[-2]["usage"]["output_tokens"] == len("one two three four five six") // 4


async def test_thinking_is_streamed_with_a_signature_before_the_text(client: httpx2.AsyncClient) -> None:
    events = _events((await _post(client, "think about the moon")).text)
    starts = [(event["index"], event["content_block"]["type"]) for event in events if _is(event, "content_block_start")]
    assert starts == [(0, "thinking"), (1, "text")]
    deltas = [event["delta"]["type"] for event in events if _is(event, "content_block_delta") and event["index"] == 0]
    assert deltas[-1] == "signature_delta"
    assert set(deltas[:-1]) == {"thinking_delta"}


async def test_tools_are_streamed_as_pieces_of_json(client: httpx2.AsyncClient) -> None:
    events = _events((await _post(client, "use several tools")).text)
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    starts = [event["content_block"] for event in events if _is(event, "content_block_start")]
    tools = [block for block in starts if block["type"] == "tool_use"]
    assert [block["name"] for block in tools] == ["Bash", "Bash", "Write"]
    assert all(block["input"] == {} for block in tools)
    assert len({block["id"] for block in tools}) == 3
    written = "".join(
        event["delta"]["partial_json"] for event in events if _is(event, "content_block_delta") and event["index"] == 3
    )
    assert json.loads(written) == {"file_path": "./notes.txt", "content": "three\n"}


async def test_without_a_stream_the_whole_message_comes_as_json(client: httpx2.AsyncClient) -> None:
    response = await client.post("/v1/messages", json=request(user("run bash: ls")))
    message = response.json()
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "tool_use")
    assert message["content"][0] == {"type": "text", "text": "I run that in the shell."}
    assert message["content"][1]["input"]["command"] == "ls"
    assert message["usage"]["output_tokens"] > 0


async def test_a_thinking_block_of_a_whole_message_is_signed(client: httpx2.AsyncClient) -> None:
    message = (await client.post("/v1/messages", json=request(user("think about it")))).json()
    assert message["content"][0]["type"] == "thinking"
    assert message["content"][0]["signature"]


async def test_the_next_step_quotes_the_tool_result(client: httpx2.AsyncClient) -> None:
    body = request(user("run bash: ls"), assistant(tool_use("Bash", command="ls")), user(tool_result("Bash", "a.txt")))
    message = (await client.post("/v1/messages", json=body)).json()
    assert message["content"][0]["text"] == "The command printed:\n\n```\na.txt\n```"


async def test_a_scenario_that_is_over_says_so(client: httpx2.AsyncClient) -> None:
    body = request(user("say exactly: x"), assistant(tool_use("Bash")), user(tool_result("Bash", "a")))
    message = (await client.post("/v1/messages", json=body)).json()
    assert message["content"][0]["text"] == "That was the last step."


async def test_a_message_without_a_scenario_is_quoted_and_pointed_to_the_tour(client: httpx2.AsyncClient) -> None:
    text = (await client.post("/v1/messages", json=request(user("fix {{ my }} bug")))).json()["content"][0]["text"]
    assert "> fix {{ my }} bug" in text
    assert "`tour`" in text


@pytest.mark.parametrize(
    "order", ["call tool Bash with {no json}", "fail with status 200", "long answer of 900000 words"]
)
async def test_an_order_that_cannot_be_played_is_answered_with_the_reason(
    client: httpx2.AsyncClient, order: str
) -> None:
    response = await client.post("/v1/messages", json=request(user(order)))
    assert response.status_code == 200
    (block,) = response.json()["content"]
    assert block["type"] == "text"
    assert any(reason in block["text"] for reason in ("not JSON", "400 to 599", "at most"))


async def test_a_long_answer_has_the_words_asked_for(client: httpx2.AsyncClient) -> None:
    text = _text(_events((await _post(client, "long answer of 5000 words")).text))
    prose = [line for line in text.splitlines() if not line.startswith("#")]
    assert sum(len(line.split()) for line in prose) == 5000
    assert "## Part 2" in text


async def test_tokens_come_one_by_one_at_their_rate(client: httpx2.AsyncClient) -> None:
    started = time.monotonic()
    events = _events((await _post(client, "stream 20 tokens at 100 tokens per second")).text)
    assert time.monotonic() - started >= 0.19
    assert sum(_is(event, "content_block_delta") for event in events) == 20


async def test_timestamps_are_of_the_shared_monotonic_clock(client: httpx2.AsyncClient) -> None:
    before = time.monotonic_ns()
    text = _text(_events((await _post(client, "stream 6 tokens at 100 tokens per second with timestamps")).text))
    stamps = [int(token.removeprefix("t=")) for token in text.split()]
    assert len(stamps) == 6
    assert before < stamps[0]
    assert stamps[-1] < time.monotonic_ns()
    assert all(later - earlier > 5_000_000 for earlier, later in itertools.pairwise(stamps))


async def test_an_answer_can_be_delayed(client: httpx2.AsyncClient) -> None:
    started = time.monotonic()
    events = _events((await _post(client, "wait 0.2 seconds, then say: here")).text)
    assert time.monotonic() - started >= 0.2
    assert _text(events) == "here"


async def test_letters_outside_ascii_may_be_deltas_of_their_own(client: httpx2.AsyncClient) -> None:
    assert "日本語, Ελληνικά, 🎉🎊" in _text(_events((await _post(client, "letter by letter")).text))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_an_error_has_the_form_of_the_api(client: httpx2.AsyncClient, status: int, kind: str) -> None:
    response = await _post(client, f"fail with status {status}, retry after 3 seconds")
    assert response.status_code == status
    assert response.headers["retry-after"] == "3"
    body = response.json()
    assert (body["type"], body["error"]["type"]) == ("error", kind)
    assert body["request_id"] == response.headers["request-id"]


async def test_a_rate_limit_error_says_that_nothing_is_left(client: httpx2.AsyncClient) -> None:
    response = await _post(client, "fail with status 429")
    assert response.headers["anthropic-ratelimit-requests-remaining"] == "0"


async def test_a_prompt_that_is_too_long_has_the_message_that_the_cli_knows(client: httpx2.AsyncClient) -> None:
    response = await _post(client, "prompt too long")
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("prompt is too long: ")


async def test_a_fault_that_strikes_twice_is_over_the_third_time_for_each_session(client: httpx2.AsyncClient) -> None:
    async def statuses(session: str) -> list[int]:
        body = request(user("fail with status 500 2 times"), stream=True, metadata={"user_id": session})
        return [(await client.post("/v1/messages", json=body)).status_code for _ in range(3)]

    assert await statuses("one") == [500, 500, 200]
    assert await statuses("two") == [500, 500, 200]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_cut_stream_ends_without_its_end(client: httpx2.AsyncClient, stream: bool) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        await _post(client, "cut the stream", stream=stream)
    assert "whole" in (await _post(client, "cut the stream", stream=stream)).text


async def test_garbage_comes_after_the_first_chunks(client: httpx2.AsyncClient) -> None:
    text = (await _post(client, "send garbage")).text
    assert text.count("text_delta") == 5
    assert "<html>" in text
    assert "message_stop" not in text


async def test_an_error_event_may_come_in_mid_stream(client: httpx2.AsyncClient) -> None:
    last = _events((await _post(client, "fail in the middle")).text)[-1]
    assert last == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


async def test_a_stream_may_hang_in_the_middle(client: httpx2.AsyncClient) -> None:
    body = request(user("hang after 3 tokens"), stream=True)
    async with client.stream("POST", "/v1/messages", json=body) as response:
        lines = response.aiter_lines()
        deltas = [event for event in [await _next_event(lines) for _ in range(6)] if _is(event, "content_block_delta")]
        assert len(deltas) == 3
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await _next_event(lines)


async def test_a_stream_may_go_on_with_pings_and_nothing_else(client: httpx2.AsyncClient) -> None:
    body = request(user("only pings after 2 tokens"), stream=True)
    async with client.stream("POST", "/v1/messages", json=body) as response:
        lines = response.aiter_lines()
        kinds = [(await _next_event(lines))["type"] for _ in range(9)]
    assert kinds.count("content_block_delta") == 2
    assert kinds[-4:] == ["ping"] * 4


async def test_a_request_may_hang_before_its_answer_for_a_set_time(client: httpx2.AsyncClient) -> None:
    started = time.monotonic()
    response = await _post(client, "hang for 0.2 seconds")
    assert time.monotonic() - started >= 0.2
    assert response.status_code == 504


@pytest.mark.parametrize("order", ["stream 100 tokens at 0.01 tokens per second", "hang after 3 tokens"])
async def test_an_answer_ends_when_its_client_leaves(model: ScriptedModel, order: str) -> None:
    async with httpx2.AsyncClient(base_url=model.base_url, timeout=10) as http:
        body = request(user(order), stream=True)
        async with http.stream("POST", "/v1/messages", json=body) as response:
            lines = response.aiter_lines()  # kept: letting go of it closes the connection
            assert await anext(lines)
            with pytest.raises(TimeoutError):
                await model.wait_until_idle(timeout_seconds=0.1)
    await model.wait_until_idle(timeout_seconds=5)


async def test_tokens_are_counted_and_models_listed(client: httpx2.AsyncClient) -> None:
    counted = await client.post("/v1/messages/count_tokens", json=request(user("x" * 4000)))
    assert 1000 < counted.json()["input_tokens"] < 1100
    models = (await client.get("/v1/models")).json()
    assert models["data"][0]["type"] == "model"
    assert models["first_id"] == models["data"][0]["id"]


async def test_health_is_answered(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/")).status_code == 200
    assert (await client.head("/")).status_code == 200
    assert (await client.head("/api/hello")).status_code == 200


async def test_what_the_api_does_not_know_is_not_found(client: httpx2.AsyncClient) -> None:
    response = await client.get("/v1/unknown")
    assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": 5}'])
async def test_a_request_that_is_no_messages_request_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    response = await client.post("/v1/messages", content=body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_requests_are_kept_for_tests_and_can_be_waited_for(
    model: ScriptedModel, client: httpx2.AsyncClient
) -> None:
    waiting = asyncio.create_task(model.wait_for_request(lambda kept: kept.path == "/v1/messages"))
    await client.post("/v1/messages?beta=true", json=request(user("hello")), headers={"X-Api-Key": "k"})
    kept = await waiting
    assert (kept.method, kept.query, kept.headers["x-api-key"]) == ("POST", "beta=true", "k")
    assert kept.body["messages"] == [user("hello")]
    assert model.requests == [kept]


def test_the_module_runs_as_a_process_and_prints_its_address_first(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "about: mine\nscenarios:\n  - {name: mine, about: x, when: {says: [ahoy]}, steps: [{say: Aye!}]}\n"
    )
    command = [sys.executable, "-m", "claude_sdk_pattern.model_gateway.scripted", "--scenarios", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            answer = httpx2.post(f"{address}/v1/messages", json=request(user("ahoy"))).json()
        finally:
            process.terminate()
    assert answer["content"][0]["text"] == "Aye!"
    assert process.returncode == 0


def test_the_module_refuses_a_wrong_scenario_file_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("nonsense: 1")
    command = [sys.executable, "-m", "claude_sdk_pattern.model_gateway.scripted", "--scenarios", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "own.yaml" in done.stderr
    assert "Traceback" not in done.stderr


async def _post(client: httpx2.AsyncClient, order: str, *, stream: bool = True) -> httpx2.Response:
    return await client.post("/v1/messages", json=request(user(order), stream=stream))


async def _next_event(lines: AsyncIterator[str]) -> Event:
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")


def _events(stream: str) -> list[Event]:
    events: list[Event] = []
    for block in stream.strip().split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events


def _is(event: Event, kind: str) -> bool:
    return event["type"] == kind


def _text(events: list[Event]) -> str:
    deltas = [event["delta"] for event in events if _is(event, "content_block_delta")]
    return "".join(delta["text"] for delta in deltas if delta["type"] == "text_delta")
