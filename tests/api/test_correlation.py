"""The id that ties a request to its log lines, through a small real application."""

from collections.abc import AsyncGenerator
from uuid import UUID

import httpx2
import pytest
from fastapi import FastAPI
from structlog.contextvars import bind_contextvars, get_contextvars

from claude_sdk_pattern.api import problems
from claude_sdk_pattern.api.correlation import HEADER, CorrelationMiddleware

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(anyio_backend: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of an application that answers with what its log lines would carry."""
    app = FastAPI()
    problems.install(app)
    app.add_middleware(CorrelationMiddleware)

    @app.get("/bound")
    async def bound() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]
        bind_contextvars(user_id="u", session_id="s")
        return get_contextvars()

    @app.get("/bug")
    async def bug() -> None:  # pyright: ignore[reportUnusedFunction]
        raise ZeroDivisionError

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as opened:
        yield opened


async def test_an_answer_names_the_id_that_its_log_lines_carry(client: httpx2.AsyncClient) -> None:
    first, second = await client.get("/bound"), await client.get("/bound")
    assert first.json()["correlation_id"] == first.headers[HEADER]
    assert UUID(first.headers[HEADER]) != UUID(second.headers[HEADER])


async def test_nothing_of_one_request_is_bound_in_the_next(client: httpx2.AsyncClient) -> None:
    await client.get("/bound")
    assert get_contextvars() == {}


async def test_the_id_of_a_proxy_is_taken_over(client: httpx2.AsyncClient) -> None:
    response = await client.get("/bound", headers={HEADER: "proxy-1.a_B"})
    assert response.headers[HEADER] == response.json()["correlation_id"] == "proxy-1.a_B"


@pytest.mark.parametrize("given", ["", "a" * 65, 'x","level":"critical', "a b", "é".encode().decode("latin-1")])
async def test_an_id_that_is_not_plain_is_replaced(client: httpx2.AsyncClient, given: str) -> None:
    response = await client.get("/bound", headers=[(HEADER.encode(), given.encode("latin-1"))])
    assert UUID(response.headers[HEADER])


async def test_an_unexpected_error_has_the_id_too(client: httpx2.AsyncClient) -> None:
    response = await client.get("/bug")
    assert response.status_code == 500
    assert UUID(response.headers[HEADER])
