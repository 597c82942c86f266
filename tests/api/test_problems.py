"""Problem documents, seen through a small real application over real HTTP messages; only the socket is missing."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

import httpx2
import pytest
from fastapi import FastAPI, Header, HTTPException, Query
from pydantic import BaseModel, ConfigDict, SecretStr, field_validator
from sqlalchemy.exc import OperationalError
from starlette.responses import StreamingResponse
from structlog.testing import capture_logs

from claude_sdk_pattern.accounts import errors as accounts
from claude_sdk_pattern.api.domain_problems import DOMAIN_PROBLEMS
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem, install
from claude_sdk_pattern.events import errors as events
from claude_sdk_pattern.sessions import errors as sessions

pytestmark = pytest.mark.anyio

PLANTED = "planted-secret-4711"


class Item(BaseModel):
    """One of a list."""

    name: str


class Body(BaseModel):
    """A body with most kinds of fields."""

    model_config = ConfigDict(extra="forbid")

    password: SecretStr
    count: int = 0
    kind: Literal["a", "b"] = "a"
    items: list[Item] = []
    checked: str = ""

    @field_validator("checked")
    @classmethod
    def _never_right(cls, value: str) -> str:
        raise ValueError("must be something else")


FAILURES: dict[str, Exception] = {
    "problem": Problem(418, "teapot", "A teapot", "Short and stout.", extra={"spout": 1}, retry_after_seconds=7),
    "unauthenticated": accounts.InvalidAccessTokenError(),
    "throttled": accounts.TooManyAttemptsError(12),
    "hidden": accounts.SessionHiddenError(),
    "missing": sessions.SessionNotFoundError("no session 42"),
    "unstored": events.TapeUnavailable(f"cannot connect to postgresql://user:{PLANTED}@db"),
    "unreachable": OperationalError(f"SELECT {PLANTED}", {}, Exception(PLANTED)),
    "bug": ZeroDivisionError(PLANTED),
    "http": HTTPException(403, "Not on a Sunday."),
    "bare_http": HTTPException(404),
}


def make_app() -> FastAPI:
    app = FastAPI(responses=PROBLEM_RESPONSES)
    install(app)

    @app.get("/fail/{name}")
    async def fail(name: str) -> None:  # pyright: ignore[reportUnusedFunction]
        raise FAILURES[name]

    @app.post("/body")
    async def post(body: Body) -> None:  # pyright: ignore[reportUnusedFunction]
        del body

    @app.get("/query")
    async def query(  # pyright: ignore[reportUnusedFunction]
        limit: Annotated[int, Query(le=10)], x_number: Annotated[int, Header()] = 0
    ) -> None:
        del limit, x_number

    @app.get("/half")
    async def half() -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        async def chunks() -> AsyncGenerator[bytes]:
            yield b"the first half"
            raise ZeroDivisionError

        return StreamingResponse(chunks())

    return app


@pytest.fixture
async def client(anyio_backend: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the small application."""
    transport = httpx2.ASGITransport(app=make_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as opened:
        yield opened


def problem(response: httpx2.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"].endswith(f":{body['code']}")
    assert PLANTED not in response.text
    assert "Traceback" not in response.text
    return body


async def test_a_raised_problem_arrives_with_all_it_holds(client: httpx2.AsyncClient) -> None:
    response = await client.get("/fail/problem")
    assert problem(response) == {
        "type": "urn:claude-sdk-pattern:problem:teapot",
        "title": "A teapot",
        "status": 418,
        "code": "teapot",
        "detail": "Short and stout.",
        "spout": 1,
    }
    assert response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("unauthenticated", 401, "not_authenticated"),
        ("throttled", 429, "too_many_attempts"),
        ("unstored", 503, "storage_unavailable"),
        ("unreachable", 503, "storage_unavailable"),
        ("http", 403, "not_allowed"),
        ("bare_http", 404, "not_found"),
    ],
)
async def test_errors_of_every_room_get_their_status_and_code(
    client: httpx2.AsyncClient, name: str, status: int, code: str
) -> None:
    body = problem(await client.get(f"/fail/{name}"))
    assert (body["status"], body["code"]) == (status, code)


async def test_headers_tell_when_to_come_back_and_how_to_sign_in(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/fail/throttled")).headers["retry-after"] == "12"
    assert (await client.get("/fail/unauthenticated")).headers["www-authenticate"] == "Bearer"


async def test_a_foreign_session_looks_exactly_like_a_missing_one(client: httpx2.AsyncClient) -> None:
    assert problem(await client.get("/fail/hidden")) == problem(await client.get("/fail/missing"))


async def test_an_unexpected_error_says_an_id_and_nothing_else_and_is_logged(client: httpx2.AsyncClient) -> None:
    with capture_logs() as logs:
        response = await client.get("/fail/bug")
    body = problem(response)
    assert (body["status"], body["code"]) == (500, "internal_error")
    assert [entry["error_id"] for entry in logs if entry["event"] == "unexpected_error"] == [body["error_id"]]


async def test_an_answer_that_broke_off_is_not_passed_off_as_whole(client: httpx2.AsyncClient) -> None:
    with pytest.raises(ZeroDivisionError):
        await client.get("/half")


@pytest.mark.parametrize(
    ("body", "location"),
    [
        ({}, "password in the body"),
        ({"password": {"a": PLANTED}}, "password in the body"),
        ({"password": PLANTED, "count": "many"}, "count in the body"),
        ({"password": PLANTED, "kind": PLANTED}, "kind in the body"),
        ({"password": PLANTED, "items": [{"name": "a"}, {}]}, "items[1].name in the body"),
        ({"password": PLANTED, "items": [PLANTED]}, "items[0] in the body"),
        ({"password": PLANTED, "checked": PLANTED}, "checked in the body"),
        ({"password": PLANTED, "extra": PLANTED}, "extra in the body"),
        ([PLANTED], "the body"),
        (PLANTED, "the body"),
        (None, "the body"),
    ],
)
async def test_a_wrong_body_is_told_where_it_is_wrong_and_never_repeated(
    client: httpx2.AsyncClient, body: object, location: str
) -> None:
    answer = problem(await client.post("/body", json=body))
    assert (answer["status"], answer["code"]) == (422, "invalid_request")
    assert location in [fault["where"] for fault in answer["errors"]]
    assert answer["detail"].startswith(f"{answer['errors'][0]['where']}: ")


async def test_a_wrong_query_or_header_is_told_where(client: httpx2.AsyncClient) -> None:
    body = problem(await client.get("/query", params={"limit": 11}, headers={"X-Number": PLANTED}))
    assert [fault["where"] for fault in body["errors"]] == ["limit in the query", "x-number in the header"]


@pytest.mark.parametrize("raw", [b"{", b'{"password": "planted-secret-4711', b"\xff\xfe", b"[" * 100_000])
async def test_a_body_that_is_no_json_is_told_so(client: httpx2.AsyncClient, raw: bytes) -> None:
    response = await client.post("/body", content=raw, headers={"content-type": "application/json"})
    assert problem(response)["status"] == 400


async def test_a_body_of_another_type_is_refused(client: httpx2.AsyncClient) -> None:
    response = await client.post("/body", content=b"password=x", headers={"content-type": "text/plain"})
    assert problem(response)["status"] == 422


async def test_huge_names_and_many_faults_make_no_huge_answer(client: httpx2.AsyncClient) -> None:
    fields = {f"{'x' * 10_000}{number}": 1 for number in range(100)}
    response = await client.post("/body", json={"password": PLANTED, **fields})
    assert len(problem(response)["errors"]) == 20
    assert len(response.content) < 8192


async def test_unknown_paths_and_methods_are_problems_too(client: httpx2.AsyncClient) -> None:
    missing = await client.get("/nowhere")
    assert problem(missing)["code"] == "not_found"
    assert "/nowhere" in missing.json()["detail"]
    wrong_method = await client.put("/body")
    assert problem(wrong_method)["code"] == "method_not_allowed"
    assert wrong_method.headers["allow"] == "POST"


def test_the_interface_description_knows_problems_and_every_reference_in_it_leads_somewhere() -> None:
    document = make_app().openapi()
    text = str(document)
    assert "HTTPValidationError" not in text
    assert "application/problem+json" in text
    schemas = document["components"]["schemas"]
    assert {"ProblemBody", "Fault"} <= schemas.keys()
    assert schemas["ProblemBody"]["required"] == ["type", "title", "status", "code"]
    for reference in (part.split("'")[0] for part in text.split("'#/components/schemas/")[1:]):
        assert reference in schemas


def test_one_code_always_means_one_status() -> None:
    statuses: dict[str, set[int]] = {}
    for kind in DOMAIN_PROBLEMS.values():
        statuses.setdefault(kind.code, set()).add(kind.status)
    assert all(len(found) == 1 for found in statuses.values())


@pytest.mark.parametrize("base", [accounts.AccountError, events.TapeError, sessions.SessionError], ids=str)
def test_every_error_of_a_room_is_in_the_table_or_below_one_that_is(base: type[Exception]) -> None:
    def leaves(error: type[Exception]) -> list[type[Exception]]:
        below = error.__subclasses__()
        return [leaf for each in below for leaf in leaves(each)] if below else [error]

    for leaf in leaves(base):
        assert set(leaf.__mro__) & DOMAIN_PROBLEMS.keys(), leaf
