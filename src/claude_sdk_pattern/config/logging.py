"""Structured logs: one JSON object per line on standard error, or readable text when that is a terminal.

Each line has ``timestamp``, ``level``, ``logger`` and ``event``, and as far as they are known ``correlation_id``,
``session_id`` and ``user_id``. Whoever knows a session or user binds it with
``structlog.contextvars.bind_contextvars``. What libraries log through :mod:`logging` takes the same way.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Any, Final, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from claude_sdk_pattern.config.redaction import Redactor, without_query

# What these say below the given level is what people write, or a line for each byte.
_QUIET_LIBRARIES: Final = {
    "aiosqlite": logging.WARNING,
    "alembic": logging.WARNING,
    "asyncio": logging.WARNING,
    "claude_agent_sdk": logging.WARNING,
    "httpcore2": logging.WARNING,
    "httpx2": logging.WARNING,
    "mcp": logging.WARNING,
    "python_multipart": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "websockets": logging.WARNING,
    # The gateway and the scripted model run on it too; what there is to say of the server we say ourselves.
    "uvicorn": logging.WARNING,
}

# They come with handlers of their own when uvicorn is configured by its own means.
_UVICORN: Final = ("uvicorn", "uvicorn.error", "uvicorn.access")

redactor: Final = Redactor()
"""The one all logs of this process go through. Register a secret with it when it comes to be known."""


def configure_logging(
    level: str, *, secrets: Iterable[str] = (), stream: TextIO | None = None, as_json: bool | None = None
) -> None:
    """Set up the logs of this process. Called once, before anything else; calling it again replaces the setup.

    Start uvicorn with ``log_config=None``, or it sets up its own.

    Args:
        level: the least important level that is logged: ``DEBUG``, ``INFO``, ``WARNING`` or ``ERROR``.
        secrets: texts that must never be logged, such as the API key.
        stream: where to; standard error by default.
        as_json: one JSON object per line, or text for people; by default text on a terminal.
    """
    redactor.register(*secrets)
    target = sys.stderr if stream is None else stream
    as_json = not target.isatty() if as_json is None else as_json
    _configure_structlog()
    handler = logging.StreamHandler(target)
    handler.setFormatter(_formatter(as_json=as_json))
    handler.addFilter(_strip_queries)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    _quieten_libraries(logging.getLevelNamesMapping()[level])


def _configure_structlog() -> None:
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_describing(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        # Loggers are made when modules are imported, which is before this runs.
        cache_logger_on_first_use=False,
    )


def _describing() -> list[Processor]:
    """Return what adds to an event where, when and for whom it was logged."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _formatter(*, as_json: bool) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_describing(), structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            redactor,
            structlog.processors.JSONRenderer(_dumps) if as_json else structlog.dev.ConsoleRenderer(),
        ],
    )


def _quieten_libraries(level: int) -> None:
    for name, least in _QUIET_LIBRARIES.items():
        logging.getLogger(name).setLevel(max(level, least))
    for name in _UVICORN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


def _strip_queries(record: logging.LogRecord) -> bool:
    """Take the query off paths in what uvicorn logs of requests and handshakes. Nothing is kept back."""
    if record.name in _UVICORN and isinstance(record.args, tuple):
        record.args = tuple(_without_query(argument) for argument in record.args)
    return True


def _without_query(argument: object) -> object:
    return without_query(argument) if isinstance(argument, str) and argument.startswith("/") else argument


def _dumps(event: EventDict, **options: Any) -> str:
    return orjson.dumps(event, default=str).decode()
