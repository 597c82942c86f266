"""Origins against hosts and allowlists: pure decisions on real request headers."""

import pytest
from starlette.requests import HTTPConnection

from claude_sdk_pattern.api.origins import is_allowed_origin


def connection(origin: str | None, *, scheme: str = "http", host: str = "127.0.0.1:8000") -> HTTPConnection:
    headers = [(b"host", host.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode("latin-1")))
    kind = "websocket" if scheme.startswith("ws") else "http"
    return HTTPConnection(
        {"type": kind, "scheme": scheme, "path": "/", "query_string": b"", "headers": headers, "server": None}
    )


@pytest.mark.parametrize(
    ("origin", "scheme", "host"),
    [
        (None, "http", "127.0.0.1:8000"),
        ("http://127.0.0.1:8000", "http", "127.0.0.1:8000"),
        ("http://127.0.0.1:8000", "ws", "127.0.0.1:8000"),
        ("https://chat.example", "wss", "chat.example"),
        ("https://chat.example:443", "https", "chat.example"),
        ("http://chat.example", "http", "chat.example:80"),
        ("http://[::1]:8000", "http", "[::1]:8000"),
        ("HTTP://Chat.Example", "http", "chat.example"),
        ("https://friend.example", "http", "chat.example"),
    ],
)
def test_own_and_listed_origins_and_programs_are_allowed(origin: str | None, scheme: str, host: str) -> None:
    assert is_allowed_origin(connection(origin, scheme=scheme, host=host), ["https://friend.example"])


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "127.0.0.1:8000",
        "http://127.0.0.1",
        "http://127.0.0.1:8001",
        "https://127.0.0.1:8000",
        "http://localhost:8000",
        "http://127.0.0.1:8000@evil.example",
        "http://evil@127.0.0.1:8000",
        "http://127.0.0.1:8000.evil.example",
        "http://127.0.0.1:8000/path",
        "http://127.0.0.1:8000?query",
        "http://127.0.0.1:99999",
        "http://[",
        "file://",
        "chrome-extension://abcdef",
        "https://sub.friend.example",
        "https://friend.example.evil.example",
        "http://friend.example",
        "http://127.0.0.1:8000, http://evil.example",
        "\xe9",
    ],
)
def test_every_other_origin_is_refused(origin: str) -> None:
    assert not is_allowed_origin(connection(origin), ["https://friend.example"])


def test_without_a_host_no_page_is_our_own() -> None:
    assert not is_allowed_origin(connection("http://", host=""), [])
