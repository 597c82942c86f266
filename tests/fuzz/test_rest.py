"""Every operation of the OpenAPI document, with data made after its schema and against it, in every role and in none.

Real: the server process, its database, the agents it starts. Schemathesis makes the requests and holds the answers
against the document.
"""

from collections.abc import Callable, Generator
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi import checks as _checks
from tests.fuzz.conftest import FACTOR, USERS
from tests.support.platform import PASSWORD, PATIENCE_SECONDS
from tests.support.server import Server

from claude_sdk_pattern.api.schema import openapi_schema

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

EXAMPLES = 2 * FACTOR

# Its types are only partly declared.
_DOCUMENT: Any = schemathesis.openapi.from_dict(openapi_schema())
_OPERATIONS: dict[str, Any] = {found.ok().label: found.ok() for found in _DOCUMENT.get_all_operations()}

checks: Any = _checks
_CHECKS = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]


@pytest.fixture(scope="module", params=[*USERS, None], ids=lambda role: role or "nobody")
def role_and_client(request: pytest.FixtureRequest, server: Server) -> Generator[tuple[str | None, httpx2.Client]]:
    """A role, or None, and a client for somebody in it."""
    with httpx2.Client(base_url=server.url, timeout=PATIENCE_SECONDS) as client:
        yield request.param, client


@pytest.fixture
def client(role_and_client: tuple[str | None, httpx2.Client]) -> httpx2.Client:
    """A client of somebody in the role who is signed in: again, if the operation before was to sign out."""
    role, client = role_and_client
    if role is not None and client.get("/api/v1/auth/me").status_code != 200:
        body = {"username": USERS[role], "password": PASSWORD, "client": "api"}
        token = client.post("/api/v1/auth/login", json=body).raise_for_status().json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
    return client


@pytest.mark.parametrize("label", list(_OPERATIONS))
def test_no_request_breaks_the_server_or_gets_what_the_document_does_not_say(
    label: str, client: httpx2.Client, server: Server
) -> None:
    operation = _OPERATIONS[label]
    is_signed_in = "authorization" in client.headers
    session_id = _new_session(client) if is_signed_in and "{session_id}" in label else None

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        database=None,
    )
    @given(case=operation.as_strategy(), is_real=st.booleans())
    def check(case: Any, is_real: bool) -> None:
        if session_id is not None and is_real:
            case.path_parameters["session_id"] = session_id
        if case.query.get("mode") == "follow":
            # It would go on for ever.
            case.query["mode"] = "query"
        headers = {"authorization": client.headers["authorization"]} if is_signed_in else {}
        response = case.call(base_url=server.url, headers=headers, timeout=PATIENCE_SECONDS, session=session)
        case.validate_response(response, checks=_CHECKS)
        # Full, or about to stop: that is told with the time to wait. Anything else would be a fault.
        assert response.status_code < 500 or (response.status_code == 503 and "retry-after" in response.headers)
        if response.status_code >= 400:
            problem = response.json()
            assert problem["status"] == response.status_code
            assert "Traceback" not in response.text
        if not is_signed_in and operation.definition.raw.get("security"):
            assert response.status_code in {400, 401, 405, 413, 415, 422, 429}

    run: Callable[[], None] = check
    with requests.Session() as session:
        run()
    assert server.process is not None
    assert server.process.returncode is None
    assert "Traceback" not in server.log.read_text()


def _new_session(client: httpx2.Client) -> str:
    # Few may be made in a minute; one that is there already will do.
    made = client.post("/api/v1/sessions", json={})
    if made.status_code == 201:
        return made.json()["id"]
    return client.get("/api/v1/sessions").json()["items"][0]["id"]
