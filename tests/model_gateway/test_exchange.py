"""The gateway with an upstream that misbehaves, over real HTTP: what the agent process is told, and what is counted."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from tests.support.messages_api import (
    ANSWER,
    BEGINNING,
    BLOCK_STOP,
    ENDING,
    MESSAGE_STOP,
    PING,
    error_body,
    message_delta,
    message_start,
    sse,
    text_delta,
)
from tests.support.model_gateway import make_gateway
from tests.support.platform import eventually

from claude_sdk_pattern.model_gateway.breaker import BreakerState, CircuitBreaker
from claude_sdk_pattern.model_gateway.loopback import serve_on_loopback
from claude_sdk_pattern.model_gateway.proxy import ModelGateway
from claude_sdk_pattern.model_gateway.scripted.wire import GARBAGE
from claude_sdk_pattern.model_gateway.tokens import AgentCredential, AgentTokens
from claude_sdk_pattern.model_gateway.usage import UsageRecord

pytestmark = pytest.mark.anyio

BODY = b'{"model":"m","messages":[],"stream":true}'
WHOLE_BODY = b'{"model":"m","messages":[]}'
HELLO = BEGINNING + text_delta("Hello")

OPEN_SECONDS = 60.0

# What an upstream can do in the middle of an answer besides sending bytes.
HANG, PINGS = "hang", "pings"


@dataclass(frozen=True)
class Play:
    """One answer of the upstream: bytes one after the other, or ``HANG`` or ``PINGS`` until the client leaves."""

    pieces: Sequence[bytes | str] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict[str, str])


def http_error(status: int, kind: str, **headers: str) -> Play:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Play([error_body(kind)], status=status, content_type="application/json", headers=told)


class Upstream:
    """Plays answers one after the other, the last one again and again."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self._plays = list(plays)
        self.requests = 0

    async def __call__(
        self, scope: Any, receive: Callable[[], Coroutine[Any, Any, Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        while (await receive()).get("more_body"):
            pass
        play = self._plays[min(self.requests, len(self._plays) - 1)]
        self.requests += 1
        gone = asyncio.create_task(receive())
        if list(play.pieces) == [HANG]:
            await gone
            return
        names = [(b"content-type", play.content_type.encode())]
        names += [(name.encode(), value.encode()) for name, value in play.headers.items()]
        await send({"type": "http.response.start", "status": play.status, "headers": names})
        for piece in play.pieces:
            if piece == HANG:
                await gone
                return
            if piece == PINGS:
                while not gone.done():
                    await send({"type": "http.response.body", "body": PING, "more_body": True})
                    await asyncio.wait({gone}, timeout=0.01)
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        gone.cancel()


class Clock:
    """The breaker's time, which passes when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Rig:
    upstream: Upstream
    gateway: ModelGateway
    client: httpx2.AsyncClient
    credential: AgentCredential
    breaker: CircuitBreaker
    clock: "Clock"
    records: list[UsageRecord]

    async def ask(self, body: bytes = BODY) -> httpx2.Response:
        return await self.client.post("/v1/messages?beta=true", content=body)

    async def has_two_requests(self) -> bool:
        return self.upstream.requests == 2

    async def has_records(self) -> bool:
        return bool(self.records)

    async def would_try(self) -> bool:
        return self.gateway.retry_after_seconds is None

    @property
    def failure_kind(self) -> str | None:
        failure = self.credential.health.last_failure
        return None if failure is None else failure.kind


@asynccontextmanager
async def rig(*plays: Play, breaker_failures: int = 1000, **limits: Any) -> AsyncGenerator[Rig]:
    tokens, upstream = AgentTokens(), Upstream(plays)
    token, credential = tokens.issue("process-1")
    credential.session_id = "session-1"
    clock = Clock()
    breaker = CircuitBreaker(failures=breaker_failures, window_seconds=60, open_seconds=OPEN_SECONDS, clock=clock)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_on_loopback(upstream))
        gateway = make_gateway(url, tokens=tokens, breaker=breaker, **limits)
        await stack.enter_async_context(gateway.running())
        gateway_url = await stack.enter_async_context(serve_on_loopback(gateway))
        client = httpx2.AsyncClient(base_url=gateway_url, timeout=30, headers={"x-api-key": token})
        await stack.enter_async_context(client)
        records: list[UsageRecord] = []
        meter = gateway.meter("session-1", spent_usd=0.0, user_id="ada")
        meter.on_usage = records.append
        yield Rig(upstream, gateway, client, credential, breaker, clock, records)


def told_to_retry(answer: httpx2.Response) -> bool:
    return answer.headers["x-should-retry"] == "true"


# --- what the API refuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "authentication_error"), (402, "billing_error"), (403, "permission_error")]
)
async def test_a_refused_key_is_not_tried_again(status: int, kind: str) -> None:
    async with rig(http_error(status, kind)) as tried:
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (status, False)
        assert answer.json()["error"]["type"] == kind


async def test_a_refused_request_reaches_the_agent_as_the_api_said_it() -> None:
    async with rig(http_error(400, "invalid_request_error", request_id="req_7")) as tried:
        answer = await tried.ask()
        assert answer.content == error_body("invalid_request_error")
        assert answer.headers["request-id"] == "req_7"
        assert "x-should-retry" not in answer.headers
        assert (await tried.ask()).status_code == 400, "the next request is asked like any other"
        assert tried.upstream.requests == 2


@pytest.mark.parametrize(
    ("wait", "again", "seconds"),
    [
        ("2", True, 2),
        ("31", False, 31),
        ("-1", True, 0),
        ("soon", True, None),
        ("nan", True, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", True, 0),
        ("Wed, 21 Oct 2015 07:28:00", True, None),
    ],
)
async def test_a_rate_limit_is_waited_for_only_so_long(wait: str, again: bool, seconds: float | None) -> None:
    async with rig(http_error(429, "rate_limit_error", retry_after=wait)) as tried:
        answer = await tried.ask()
        assert told_to_retry(answer) is again
        assert answer.headers["retry-after"] == wait
        failure = tried.credential.health.last_failure
        assert failure is not None
        assert failure.retry_after_seconds == seconds


async def test_a_rate_limit_until_a_date_is_understood() -> None:
    async with rig(http_error(429, "rate_limit_error", retry_after="Fri, 21 Oct 2095 07:28:00 GMT")) as tried:
        assert not told_to_retry(await tried.ask())


async def test_a_failing_model_is_tried_so_many_times_and_then_not_asked_for_the_rest_of_the_turn() -> None:
    async with rig(http_error(529, "overloaded_error"), max_retries=2) as tried:
        answers = [await tried.ask() for _ in range(4)]
        assert [told_to_retry(answer) for answer in answers] == [True, True, False, False]
        assert {answer.status_code for answer in answers} == {529}
        assert tried.upstream.requests == 3
        tried.credential.health.begin_turn()
        assert told_to_retry(await tried.ask())


async def test_an_error_page_of_something_between_is_not_passed_on() -> None:
    async with rig(Play([b"<html>Bad gateway</html>"], status=502, content_type="text/html")) as tried:
        answer = await tried.ask()
        assert answer.json()["error"] == {"type": "api_error", "message": "HTTP status 502"}


async def test_a_redirection_is_not_followed_with_the_key() -> None:
    async with rig(Play([], status=307, headers={"location": "http://127.0.0.1:9/"})) as tried:
        assert (await tried.ask()).status_code == 502
        assert tried.upstream.requests == 1


# --- silence ---------------------------------------------------------------------------------------------------


async def test_no_first_byte_is_a_time_out_that_is_tried_once_more() -> None:
    async with rig(Play([HANG]), first_byte_seconds=0.05) as tried:
        answers = [await tried.ask(), await tried.ask()]
        assert [answer.status_code for answer in answers] == [504, 504]
        assert [told_to_retry(answer) for answer in answers] == [True, False]
        assert tried.failure_kind == "timeout"


async def test_headers_without_a_byte_are_no_answer() -> None:
    async with rig(Play([b"", HANG]), first_byte_seconds=0.05) as tried:
        assert (await tried.ask()).status_code == 504


async def test_an_answer_that_is_not_streamed_may_be_silent_for_longer() -> None:
    async with rig(Play([HANG]), first_byte_seconds=0.05, idle_seconds=0.2) as tried:
        started = asyncio.get_running_loop().time()
        assert (await tried.ask(WHOLE_BODY)).status_code == 504
        assert asyncio.get_running_loop().time() - started >= 0.2


async def test_a_stall_ends_the_stream_without_its_end_first_and_with_an_error_the_second_time() -> None:
    async with rig(Play([HELLO, HANG]), idle_seconds=0.05) as tried:
        assert (await tried.ask()).content == HELLO
        second = (await tried.ask()).content
        assert second.startswith(HELLO + b"event: error\n")
        assert b'"timeout_error"' in second
        assert tried.failure_kind == "timeout"


async def test_pings_do_not_keep_a_silent_answer_alive_for_ever() -> None:
    async with rig(Play([HELLO, PINGS]), idle_seconds=0.1) as tried:
        answer = await tried.ask()
        assert b'"timeout_error"' in answer.content
        assert tried.failure_kind == "pings_only"


async def test_pings_before_the_answer_has_begun_end_as_well() -> None:
    async with rig(Play([message_start(), PINGS]), idle_seconds=0.1) as tried:
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (504, False)


async def test_a_complete_answer_is_delivered_although_its_connection_stays_open() -> None:
    async with rig(Play([ANSWER, HANG]), idle_seconds=0.05) as tried:
        assert (await tried.ask()).content == ANSWER
        assert tried.failure_kind is None


# --- broken streams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([HELLO], "stream_cut"),
        ([HELLO, b"event: content_bl"], "stream_cut"),
        ([HELLO, GARBAGE, ENDING], "stream_garbage"),
        ([HELLO, b"<html>\n\n"], "stream_garbage"),
    ],
)
async def test_a_broken_stream_ends_where_it_broke_and_then_in_an_error(pieces: list[bytes], kind: str) -> None:
    async with rig(Play(pieces)) as tried:
        assert (await tried.ask()).content == HELLO
        assert tried.failure_kind == kind
        assert (await tried.ask()).content.startswith(HELLO + b"event: error\n")


@pytest.mark.parametrize(
    "play",
    [
        Play([b"<html>hello</html>"], content_type="text/html"),
        Play([b"<html>hello</html>\n\n"]),
        Play([message_start()]),
        Play([]),
    ],
)
async def test_what_never_was_an_answer_is_an_error_with_a_status(play: Play) -> None:
    async with rig(play) as tried:
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (502, True)


async def test_a_stream_that_ends_without_its_very_last_event_is_an_answer() -> None:
    whole = HELLO + BLOCK_STOP + message_delta(output_tokens=5)
    async with rig(Play([whole])) as tried:
        assert (await tried.ask()).content == whole
        assert tried.failure_kind is None


@pytest.mark.parametrize(("kind", "status"), [("overloaded_error", 529), ("rate_limit_error", 429), ("new_error", 500)])
async def test_an_error_event_before_the_answer_becomes_an_http_error(kind: str, status: int) -> None:
    error = sse("error", error={"type": kind, "message": "no"})
    async with rig(Play([message_start() + PING + error])) as tried:
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (status, True)
        assert answer.json()["error"]["type"] == kind


async def test_an_error_event_in_the_answer_is_passed_on_when_there_is_no_other_try() -> None:
    error = sse("error", error={"type": "overloaded_error", "message": "no"})
    async with rig(Play([HELLO + error]), max_retries=1) as tried:
        assert (await tried.ask()).content == HELLO
        assert b'"overloaded_error"' in (await tried.ask()).content


async def test_an_unreachable_api_is_a_502_in_the_apis_own_words() -> None:
    tokens = AgentTokens()
    token, credential = tokens.issue("process-1")
    credential.session_id = "session-1"
    gateway = make_gateway("http://127.0.0.1:9", tokens=tokens)
    async with gateway.running(), serve_on_loopback(gateway) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/v1/messages", content=BODY, headers={"x-api-key": token})
    assert (answer.status_code, told_to_retry(answer)) == (502, True)
    assert answer.json()["error"]["type"] == "api_error"


# --- the breaker -----------------------------------------------------------------------------------------------


async def test_an_open_breaker_refuses_at_once_and_says_when_to_come_back() -> None:
    async with rig(http_error(500, "api_error"), breaker_failures=2) as tried:
        await tried.ask()
        await tried.ask()
        tried.credential.health.begin_turn()
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (503, False)
        assert answer.headers["retry-after"] == "60"
        assert tried.upstream.requests == 2
        assert tried.failure_kind == "breaker_open"
        assert tried.gateway.retry_after_seconds == 60


async def test_refusals_and_rate_limits_do_not_open_it() -> None:
    plays = [http_error(status, "x") for status in (400, 401, 403, 404, 429, 429)]
    async with rig(*plays, breaker_failures=1) as tried:
        for _ in plays:
            await tried.ask()
        assert tried.breaker.state is BreakerState.CLOSED


async def test_a_probe_closes_it_when_its_answer_begins_and_not_only_when_it_ends() -> None:
    plays = [http_error(500, "api_error"), Play([HELLO, HANG])]
    async with rig(*plays, breaker_failures=1) as tried:
        await tried.ask()
        tried.clock.now += OPEN_SECONDS
        tried.credential.health.begin_turn()
        async with tried.client.stream("POST", "/v1/messages", content=BODY) as answer:
            assert await anext(answer.aiter_raw()) == HELLO
            assert tried.breaker.state is BreakerState.CLOSED


async def test_a_probe_whose_client_leaves_does_not_keep_its_place() -> None:
    plays = [http_error(500, "api_error"), Play([HANG]), Play([ANSWER])]
    async with rig(*plays, breaker_failures=1) as tried:
        await tried.ask()
        tried.clock.now += OPEN_SECONDS
        tried.credential.health.begin_turn()
        probe = asyncio.create_task(tried.ask())
        await eventually(tried.has_two_requests)
        assert (await tried.ask()).status_code == 503
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        await eventually(tried.would_try)
        tried.credential.health.begin_turn()
        assert (await tried.ask()).content == ANSWER
        assert tried.breaker.state is BreakerState.CLOSED


# --- money -----------------------------------------------------------------------------------------------------


async def test_an_answer_is_one_record_with_the_figures_of_its_end() -> None:
    async with rig(Play([ANSWER])) as tried:
        await tried.ask()
        [record] = tried.records
        assert (record.session_id, record.model, record.is_complete) == ("session-1", "claude-sonnet-4-5", True)
        assert (record.usage.input_tokens, record.usage.output_tokens) == (10, 5)
        assert record.cost_usd == pytest.approx((10 * 3 + 5 * 15) / 1_000_000)
        assert tried.gateway.meter("session-1", spent_usd=0.0, user_id="ada").spent_usd == record.cost_usd


async def test_its_price_is_known_before_its_last_event_is() -> None:
    known = asyncio.Event()
    async with rig(Play([HELLO, BLOCK_STOP + message_delta(output_tokens=5), MESSAGE_STOP, HANG])) as tried:
        async with tried.client.stream("POST", "/v1/messages", content=BODY) as answer:
            async for chunk in answer.aiter_raw():
                if MESSAGE_STOP in chunk:
                    known.set()
                    assert len(tried.records) == 1
        assert known.is_set()


async def test_an_answer_in_one_piece_is_metered_too() -> None:
    whole = b'{"type":"message","model":"claude-opus-5","usage":{"input_tokens":100,"output_tokens":7}}'
    async with rig(Play([whole], content_type="application/json")) as tried:
        assert (await tried.ask(WHOLE_BODY)).content == whole
        [record] = tried.records
        assert record.cost_usd == pytest.approx((100 * 5 + 7 * 25) / 1_000_000)


async def test_tries_that_failed_after_they_began_are_paid_as_well() -> None:
    async with rig(Play([HELLO]), Play([HELLO, HANG]), Play([ANSWER]), idle_seconds=0.05) as tried:
        await tried.ask()
        tried.credential.health.begin_turn()
        await tried.ask()
        tried.credential.health.begin_turn()
        await tried.ask()
        assert [record.is_complete for record in tried.records] == [False, False, True]
        assert all(record.usage.input_tokens == 10 for record in tried.records)


async def test_an_answer_that_its_reader_left_is_paid_as_far_as_it_came() -> None:
    async with rig(Play([HELLO, HANG])) as tried:
        async with tried.client.stream("POST", "/v1/messages", content=BODY) as answer:
            await anext(answer.aiter_raw())
        await eventually(tried.has_records)
        assert not tried.records[0].is_complete
        assert tried.failure_kind is None


async def test_a_spent_budget_refuses_the_next_request_and_nobody_asks_the_api() -> None:
    async with rig(Play([ANSWER]), budget_usd=0.0001) as tried:
        meter = tried.gateway.meter("session-1", spent_usd=0.0, user_id="ada")
        assert (await tried.ask()).content == ANSWER
        assert meter.spent_budget == "session"
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (402, False)
        assert tried.failure_kind == "budget_spent"
        assert tried.upstream.requests == 1


async def test_what_was_spent_before_counts() -> None:
    async with rig(Play([ANSWER]), budget_usd=1.0) as tried:
        tried.credential.session_id = "session-2"
        meter = tried.gateway.meter("session-2", spent_usd=1.0, user_id="ada")
        assert meter.spent_budget == "session"
        assert (await tried.ask()).status_code == 402


async def test_the_budget_of_a_person_holds_for_all_their_sessions() -> None:
    async with rig(Play([ANSWER]), user_budget_usd=0.0001) as tried:
        meter = tried.gateway.meter("session-1", spent_usd=0.0, user_id="ada")
        assert (await tried.ask()).content == ANSWER
        assert meter.spent_budget == "user"
        others = tried.gateway.meter("session-2", spent_usd=0.0, user_id="ada")
        assert others.spent_budget == "user"
        tried.credential.session_id = "session-2"
        answer = await tried.ask()
        assert (answer.status_code, told_to_retry(answer)) == (402, False)
        assert tried.failure_kind == "user_budget_spent"
        assert tried.upstream.requests == 1
        assert tried.gateway.meter("session-3", spent_usd=0.0, user_id="grace").spent_budget is None
