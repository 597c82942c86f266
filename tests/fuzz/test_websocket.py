"""Frames of every kind and none over a real WebSocket: the connection stays usable or is closed with a documented code,
and what it took is given back.
"""

import json
from contextlib import suppress
from typing import Any

import httpx2
import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.fuzz.conftest import FACTOR
from tests.support.platform import PASSWORD, PATIENCE_SECONDS, eventually
from tests.support.server import Server
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

EXAMPLES = 40 * FACTOR

# Of a client's doing: not UTF-8, not this protocol, too large, too many. Who goes on sending after the close may find
# 1006 in its place, because TCP drops what was not read; that the server has not stumbled is in its log.
DOCUMENTED = {1006, 1007, 1008, 1009, 4429}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NUMBERS = st.integers(-5, 10) | st.sampled_from([2**31, 2**53 - 1, 2**53, 2**63, 10**400]) | st.floats()
TEXTS = st.text(max_size=60) | st.sampled_from(["", "\0", "\ud800", "x" * 40_000, "/clear", "a" * 200])
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXTS,
    "client_id": TEXTS,
    "attachments": st.lists(TEXTS, max_size=3),
    "request_id": TEXTS,
    "decision": st.sampled_from(["allow", "deny", "perhaps"]),
    "updated_input": JSON,
    "message": TEXTS,
    "remember": st.booleans() | JSON,
    "command": st.sampled_from(
        ["sync", "resume", "fork", "continue", "set_model", "set_permission_mode", "rewind", "nonsense"]
    ),
    "last_message_seq": NUMBERS,
    "at_seq": NUMBERS,
    "before_seq": NUMBERS,
    "files": st.booleans(),
    "model": TEXTS,
    "permission_mode": st.sampled_from(["default", "acceptEdits", "plan", "bypassPermissions"]),
    "state": st.sampled_from(["active", "idle", "typing", "dead"]),
    "extra": JSON,
}
KINDS = st.sampled_from(
    [
        "user_message",
        "interrupt",
        "permission_response",
        "session_command",
        "plugin_config",
        "presence",
        "ping",
        "hello",
    ]
)


def as_frame(kind: object, fields: dict[str, Any]) -> str:
    return json.dumps({"type": kind, **fields})


ALMOST_FRAMES = st.builds(
    as_frame,
    KINDS | TEXTS | JSON,
    st.fixed_dictionaries({}, optional=FIELDS),
)
GARBAGE = (
    JSON.map(json.dumps)
    | st.text(max_size=80).filter(lambda text: text.isprintable())
    | st.binary(max_size=80)
    | st.sampled_from(
        ["{", "[" * 50_000, '{"type":' * 20_000, '"', "NaN", '{"type":"ping","type":"interrupt"}', "x" * 1_200_000]
    )
)
GOOD = st.sampled_from(
    ['{"type":"ping"}', '{"type":"presence","state":"typing"}', '{"type":"session_command","command":"continue"}']
)
FRAMES = st.lists(ALMOST_FRAMES | GARBAGE | GOOD, min_size=1, max_size=15)


@pytest.fixture
def token(server: Server) -> str:
    body = {"username": "bob", "password": PASSWORD, "client": "api"}
    answer = httpx2.post(f"{server.url}/api/v1/auth/login", json=body, timeout=PATIENCE_SECONDS)
    return answer.raise_for_status().json()["access_token"]


def send_all(socket: ClientConnection, frames: list[str | bytes]) -> None:
    for frame in frames:
        # Python's own idea of text has halves of characters in it, which no frame can carry.
        socket.send(frame if isinstance(frame, bytes) else frame.encode("utf-8", "replace").decode())


def wait_for_pong(socket: ClientConnection) -> None:
    socket.send('{"type":"ping"}')
    while json.loads(socket.recv(timeout=PATIENCE_SECONDS))["type"] != "pong":
        pass


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
async def test_whatever_is_sent_the_connection_stays_usable_or_is_closed_with_a_documented_code(
    server: Server, token: str
) -> None:
    headers = {"authorization": f"Bearer {token}"}
    made = httpx2.post(f"{server.url}/api/v1/sessions", json={}, headers=headers, timeout=PATIENCE_SECONDS)
    url = f"{server.url.replace('http', 'ws', 1)}/ws/v1/chat?session_id={made.raise_for_status().json()['id']}"
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    protocols: Any = ["csp.v1", f"csp.bearer.{token}"]
    codes: set[int | None] = set()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        database=None,
    )
    @given(frames=FRAMES)
    def check(frames: list[str | bytes]) -> None:
        with connect(url, subprotocols=protocols, max_size=None) as socket:
            with suppress(ConnectionClosed):
                send_all(socket, frames)
            with suppress(ConnectionClosed):
                wait_for_pong(socket)
                return
            codes.add(socket.close_code)

    check()
    used_before = (process.num_fds(), process.memory_info().rss)
    check()
    assert codes <= DOCUMENTED, codes
    assert server.process.returncode is None
    assert "Traceback" not in server.log.read_text()

    async def is_deserted() -> bool:
        metrics = httpx2.get(f"{server.url}/metrics", timeout=PATIENCE_SECONDS).text
        return "\ncsp_websocket_connections 0.0\n" in metrics

    await eventually(is_deserted)
    fds, rss_bytes = process.num_fds(), process.memory_info().rss
    assert fds <= used_before[0] + 10
    assert rss_bytes <= used_before[1] + 64 * 2**20
