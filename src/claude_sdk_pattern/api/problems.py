"""Errors as ``application/problem+json`` (RFC 9457), for everything that can go wrong over HTTP.

``code`` is what clients decide by and never changes; ``detail`` is a sentence for a person. What the client sent is
not repeated: it may be a password.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, cast
from uuid import uuid4

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claude_sdk_pattern.api.domain_problems import DOMAIN_PROBLEMS, kind_of
from claude_sdk_pattern.plugins.errors import InvalidConfigError, InvalidPluginError

logger = structlog.get_logger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

# More faults than this in one request help nobody to mend it.
_MAX_FAULTS: Final = 20
_MAX_NAME_LENGTH: Final = 64
_MAX_MESSAGE_LENGTH: Final = 300

# How many faults the sentence names; all of them are in ``errors``.
_FAULTS_IN_DETAIL: Final = 3

_CODES: Final = {
    400: "bad_request",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    429: "too_many_requests",
    503: "unavailable",
}


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    where: str = Field(description="The place, in words: `username in the body`.")
    what: str = Field(description="What is wrong there.")


class ProblemBody(BaseModel):
    """An RFC 9457 problem. Further members depend on the code."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A URN made of the code.")
    title: str = Field(description="The kind of problem, in a few words.")
    status: int
    code: str = Field(description="The kind of problem, for programs. Never changes.")
    detail: str | None = Field(default=None, description="What happened this time, in a sentence.")
    errors: list[Fault] | None = Field(default=None, description="What is wrong with the request, part by part.")
    error_id: str | None = Field(default=None, description="Of an unexpected failure: what to look for in the logs.")


PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "A problem",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
    }
}
"""For ``responses=`` of a router: documents that whatever is no success is a problem."""


class Problem(Exception):
    """Raised by a route to answer with a problem.

    ``extra`` adds members to the body. ``retry_after_seconds`` becomes the header.
    """

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})
        if retry_after_seconds is not None:
            self.headers["Retry-After"] = str(retry_after_seconds)
        if status == HTTPStatus.UNAUTHORIZED:
            self.headers["WWW-Authenticate"] = "Bearer"


def install(app: FastAPI) -> None:
    """Make an application answer with problems. Call it before adding other middleware: that then sees problems too."""
    app.add_middleware(UnexpectedErrors)
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)
    for error in DOMAIN_PROBLEMS:
        app.add_exception_handler(error, _on_domain_error)
    _describe(app)


def problem_response(problem: Problem) -> Response:
    """Return the answer that a problem amounts to; also to a WebSocket handshake that was not accepted yet."""
    body = {
        "type": f"urn:claude-sdk-pattern:problem:{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        **({} if problem.detail is None else {"detail": problem.detail}),
        **problem.extra,
    }
    headers = {"Cache-Control": "no-store", **problem.headers}
    return JSONResponse(body, problem.status, headers, media_type=MEDIA_TYPE)


class UnexpectedErrors:
    """Middleware that turns an exception nobody foresaw into a 500 that says nothing but an id to look for.

    Not an exception handler for ``Exception``: those sit outside of all other middleware, so that their answer has no
    CORS headers and a page of an allowed origin cannot read it, and they log everything twice.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        has_begun = False

        async def observe(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except Exception:
            error_id = str(uuid4())
            logger.exception("unexpected_error", error_id=error_id, method=scope["method"], path=scope["path"])
            if has_begun:
                # Part of another answer is out. The server ends the connection, so that the client notices.
                raise
            problem = Problem(
                500,
                "internal_error",
                "Unexpected error",
                f"Something went wrong on the server. If you report it, name {error_id}.",
                extra={"error_id": error_id},
            )
            await problem_response(problem)(scope, receive, send)


async def _on_problem(request: Request, error: Exception) -> Response:
    return problem_response(cast("Problem", error))


async def _on_domain_error(request: Request, error: Exception) -> Response:
    kind = kind_of(error)
    if kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("request_failed", code=kind.code, path=request.url.path, exc_info=error)
    return domain_response(error)


def domain_response(error: Exception) -> Response:
    """Return the answer to an error of one of the rooms; it has to be in the table."""
    kind = kind_of(error)
    problem = Problem(
        kind.status,
        kind.code,
        kind.title,
        kind.detail or str(error),
        extra=_faults_of(error),
        retry_after_seconds=getattr(error, "retry_after_seconds", kind.retry_after_seconds),
    )
    return problem_response(problem)


def _faults_of(error: Exception) -> dict[str, Any]:
    """Return what is wrong with a plugin or its configuration, part by part."""
    if not isinstance(error, InvalidPluginError | InvalidConfigError):
        return {}
    faults = [
        Fault(
            where=f"{problem.path} in {problem.file}" if problem.path else problem.file,
            what=f"{problem.message} ({problem.hint})" if problem.hint else problem.message,
        )
        for problem in error.problems[:_MAX_FAULTS]
    ]
    return {"errors": [fault.model_dump() for fault in faults]}


async def _on_http_exception(request: Request, error: Exception) -> Response:
    error = cast("HTTPException", error)
    title = HTTPStatus(error.status_code).phrase
    detail = error.detail if error.detail != title else _detail(request, error.status_code)
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    return problem_response(Problem(error.status_code, code, title, detail, headers=error.headers))


def _detail(request: Request, status: int) -> str | None:
    path = request.url.path[:_MAX_MESSAGE_LENGTH]
    match status:
        case HTTPStatus.NOT_FOUND:
            return f"There is nothing at {path}."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{path} does not take {request.method}."
        case _:
            return None


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    raw: Sequence[Any] = cast("RequestValidationError", error).errors()
    broken = next((fault for fault in raw if fault["type"] == "json_invalid"), None)
    if broken is not None:
        detail = f"The body is not valid JSON, at character {broken['loc'][-1]}."
        return problem_response(Problem(400, "malformed_json", "Malformed JSON", detail))
    faults = [Fault(where=_in_words(fault["loc"]), what=_message(fault)) for fault in raw[:_MAX_FAULTS]]
    detail = "; ".join(f"{fault.where}: {fault.what}" for fault in faults[:_FAULTS_IN_DETAIL])
    extra = {"errors": [fault.model_dump() for fault in faults]}
    return problem_response(Problem(422, "invalid_request", "Invalid request", f"{detail}.", extra=extra))


def _message(fault: Mapping[str, Any]) -> str:
    """Return what is wrong. Only the message is used: the other parts of a fault hold what the client sent."""
    return str(fault["msg"]).removeprefix("Value error, ")[:_MAX_MESSAGE_LENGTH]


def _in_words(location: Sequence[str | int]) -> str:
    """Return a location such as ``("body", "plugins", 2, "name")`` as ``plugins[2].name in the body``."""
    place, *names = location
    path = ""
    for name in names:
        if isinstance(name, int):
            path += f"[{name}]"
        else:
            # Names can come from the client, as those of fields that should not be there.
            path += f".{name[:_MAX_NAME_LENGTH]}"
    return f"{path.removeprefix('.')} in the {place}" if path else f"the {place}"


def _describe(app: FastAPI) -> None:
    """Add the schema that :data:`PROBLEM_RESPONSES` refers to."""
    generate = app.openapi
    _, schema = models_json_schema(
        [(ProblemBody, "serialization"), (Fault, "serialization")], ref_template="#/components/schemas/{model}"
    )

    def openapi() -> dict[str, Any]:
        document = generate()
        document.setdefault("components", {}).setdefault("schemas", {}).update(schema["$defs"])
        return document

    app.openapi = openapi
