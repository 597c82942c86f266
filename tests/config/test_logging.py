"""What comes out of the logs, through the real logging setup of a process, into a stream of the test's."""

import asyncio
import io
import json
import logging
import secrets
from collections.abc import Generator
from typing import Any

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from claude_sdk_pattern.accounts.access_tokens import AccessTokens
from claude_sdk_pattern.accounts.accounts import TokenLifetimes
from claude_sdk_pattern.accounts.signing_keys import KeyRing
from claude_sdk_pattern.accounts.users import Role, User
from claude_sdk_pattern.config.logging import configure_logging
from claude_sdk_pattern.config.redaction import MAX_FIELD_LENGTH

KNOWN = "known-secret-" + secrets.token_hex(8)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Generator[None]:
    """Undo what a test does to the logging of the process."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    config = structlog.get_config()
    yield
    root.handlers, root.level = handlers, level
    structlog.configure(**config)


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        """Say so."""
        return True


class Log:
    """Everything that was logged since it was made."""

    def __init__(self, level: str = "INFO", stream: io.StringIO | None = None) -> None:
        self._stream = io.StringIO() if stream is None else stream
        configure_logging(level, secrets=[KNOWN], stream=self._stream)

    @property
    def text(self) -> str:
        """As it was written."""
        return self._stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """As the objects that were written."""
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def only(self) -> dict[str, Any]:
        """The one line there is."""
        [line] = self.lines
        return line


def test_a_line_says_what_happened_when_where_and_for_whom() -> None:
    log = Log()
    with bound_contextvars(correlation_id="c", session_id="s", user_id="u"):
        structlog.get_logger("a.room").info("something_happened", count=3)
    line = log.only
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "a.room",
        "event": "something_happened",
        "correlation_id": "c",
        "session_id": "s",
        "user_id": "u",
        "count": 3,
    }


def test_libraries_log_the_same_way() -> None:
    log = Log()
    with bound_contextvars(correlation_id="c"):
        logging.getLogger("some.library").warning("%s of %d", "one", 2, extra={"size": 5})
    assert log.only | {"timestamp": ""} == {
        "timestamp": "",
        "level": "warning",
        "logger": "some.library",
        "event": "one of 2",
        "correlation_id": "c",
        "size": 5,
    }


def test_a_terminal_gets_text_for_people() -> None:
    log = Log(stream=Terminal())
    structlog.get_logger("a.room").info("something_happened", password=KNOWN)
    assert "something_happened" in log.text
    assert not log.text.startswith("{")
    assert KNOWN not in log.text


def test_the_level_is_kept() -> None:
    log = Log("WARNING")
    structlog.get_logger("a.room").info("too_small")
    logging.getLogger("some.library").info("too small")
    structlog.get_logger("a.room").warning("big_enough")
    assert log.only["event"] == "big_enough"


def test_libraries_that_log_what_people_write_are_kept_quiet_at_every_level() -> None:
    log = Log("DEBUG")
    for name in ("websockets.server", "aiosqlite", "sqlalchemy.engine.Engine", "claude_agent_sdk", "uvicorn.error"):
        logging.getLogger(name).debug("> TEXT 'my diary'")
    assert log.lines == []


def test_what_uvicorn_says_of_each_of_its_servers_is_left_to_us() -> None:
    log = Log("INFO")
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 1)
    assert log.lines == []


@pytest.mark.parametrize(
    "name", ["password", "new_password", "secret_key", "refresh_token", "Authorization", "ANTHROPIC_API_KEY", "cookie"]
)
@pytest.mark.parametrize(
    "value", ["planted", ["planted"], {"a": "planted"}, b"planted"], ids=lambda value: type(value).__name__
)
def test_what_is_called_a_secret_is_not_logged(name: str, value: object) -> None:
    log = Log()
    structlog.get_logger().info("event", **{name: value}, nested={"deep": [{name: value}]})
    assert "planted" not in log.text
    assert log.only["event"] == "event"


def test_a_count_of_tokens_is_no_secret() -> None:
    log = Log()
    structlog.get_logger().info("event", input_tokens=12, usage={"output_tokens": 3})
    assert (log.only["input_tokens"], log.only["usage"]) == (12, {"output_tokens": 3})


def a_token() -> str:
    async def ring() -> KeyRing:
        return KeyRing(kid="k", keys={"k": b"k" * 32})

    tokens = AccessTokens(ring, lifetime=TokenLifetimes().access)
    return asyncio.run(tokens.issue(User(id="u", username="u", role=Role.USER), "login"))


@pytest.mark.parametrize(
    ("around", "secret"),
    [
        ("x{}y", KNOWN),
        ("offered csp.v1, csp.bearer.{}", a_token()),
        ("Authorization: Bearer {}", "abcdefghijklmnop"),
        ("key {} refused", "sk-ant-api03-abcdefgh"),
        ("spent {}", "csp_rt_" + "a" * 43),
        ("GET /ws?ticket={}&x=1", "csp_tk_" + "a" * 43),
        ("agent {}", "csp-" + "a" * 43),
        ("postgresql://{}@db/name", "user:pass-word"),
    ],
    # Not the secrets: some are made up anew in each worker.
    ids=lambda text: text if "{}" in text else "",
)
def test_a_secret_in_the_middle_of_a_text_is_not_logged(around: str, secret: str) -> None:
    log = Log()
    text = around.format(secret)
    structlog.get_logger().info(text, field=text, nested=[{text: text}])
    logging.getLogger("some.library").error("%s", text)
    try:
        raise ValueError(text)
    except ValueError:
        structlog.get_logger().exception("failed")
    assert secret not in log.text
    assert len(log.lines) == 3
    assert "ValueError" in log.lines[2]["exception"]


def test_requests_are_logged_without_their_query() -> None:
    log = Log()
    request = ("127.0.0.1:1", "GET", "/api/v1/sessions?q=my+diary", "1.1", 200)
    logging.getLogger("uvicorn.access").warning('%s - "%s %s HTTP/%s" %d', *request)
    logging.getLogger("uvicorn.error").warning(
        '%s - "WebSocket %s" [accepted]', "127.0.0.1:1", "/ws/v1/chat?ticket=abc"
    )
    assert [line["event"] for line in log.lines] == [
        '127.0.0.1:1 - "GET /api/v1/sessions HTTP/1.1" 200',
        '127.0.0.1:1 - "WebSocket /ws/v1/chat" [accepted]',
    ]


def test_no_field_makes_an_endless_line() -> None:
    log = Log()
    structlog.get_logger().info("e" * 1_000_000, username="u" * 1_000_000, many=list(range(1_000_000)))
    assert len(log.text) < 8192
    assert log.only["username"].startswith("u" * MAX_FIELD_LENGTH + "... [1000000 characters]")


def test_a_secret_that_the_cut_would_go_through_is_not_logged_in_part() -> None:
    log = Log()
    structlog.get_logger().info("event", text="x" * (MAX_FIELD_LENGTH - 5) + KNOWN)
    assert KNOWN[:5] not in log.text


def test_a_line_break_does_not_make_a_second_line() -> None:
    log = Log()
    structlog.get_logger().info("sign_in_refused", username='x\n{"level": "critical", "event": "forged"}')
    assert log.only["event"] == "sign_in_refused"


def test_what_cannot_be_shown_is_no_reason_to_fail() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    log = Log()
    recursive: list[object] = []
    recursive.append(recursive)
    structlog.get_logger().info("event", broken=Broken(), recursive=recursive, raw=b"\xff", surrogate="\ud800")
    assert log.only["event"] == "event"
