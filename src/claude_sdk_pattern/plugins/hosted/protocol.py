"""What the platform and a plugin's process say to each other besides MCP: requests of their own on its connection."""

from typing import Any, Literal

from mcp_types import Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict

HOOK = "claude_sdk_pattern/hook"
HTTP = "claude_sdk_pattern/http"
ASK_PREFIX = "claude_sdk_pattern/ask/"
"""What the plugin asks of the platform begins with this."""


class CodeSpec(BaseModel):
    """What a plugin's process is to load and to offer.

    Attributes:
        plugin: the plugin's name.
        root: its folder.
        data: the folder it may write to.
        tools: module with ``@tool`` functions.
        hooks: functions, as ``module:name``.
        router: a FastAPI router, as ``module:name``.
        config: the configuration, with the secrets it declares.
        max_result_bytes: the largest answer of a tool, a hook or an endpoint.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plugin: str
    root: str
    data: str
    tools: str | None = None
    hooks: tuple[str, ...] = ()
    router: str | None = None
    config: dict[str, Any] = {}
    max_result_bytes: int


SPEC_VARIABLE = "CLAUDE_SDK_PATTERN_PLUGIN"
"""The variable in which a plugin's process finds its :class:`CodeSpec`; it is gone when the plugin's code runs."""


class HookParams(RequestParams):
    """``function`` is one of the spec's, ``data`` what the CLI says of the event."""

    function: str
    data: dict[str, Any]


class HookRequest(Request[HookParams, Literal["claude_sdk_pattern/hook"]]):
    """Call a hook function."""

    method: Literal["claude_sdk_pattern/hook"] = HOOK
    params: HookParams


class HookResult(Result):
    """What a hook function returned, None for nothing."""

    reply: dict[str, Any] | None = None


class HttpParams(RequestParams):
    """An HTTP request. ``body`` is in base64; ``caller`` is who signed in, by the fields of ``author.Caller``."""

    call_id: str
    http_method: str
    path: str
    headers: list[tuple[str, str]]
    body: str
    caller: dict[str, str] | None = None


class HttpRequest(Request[HttpParams, Literal["claude_sdk_pattern/http"]]):
    """Answer an HTTP request with the plugin's router."""

    method: Literal["claude_sdk_pattern/http"] = HTTP
    params: HttpParams


class HttpResult(Result):
    """An HTTP response. ``body`` is in base64."""

    status: int
    headers: list[tuple[str, str]]
    body: str


class AskParams(RequestParams):
    """What a plugin wants of the platform."""

    model_config = ConfigDict(extra="allow")


class AskRequest(Request[AskParams, str]):
    """Ask something of the platform."""

    params: AskParams


class AskResult(Result):
    """What the platform answers: fields of its own, or ``refused`` with the reason."""

    model_config = ConfigDict(extra="allow")

    refused: str | None = None
