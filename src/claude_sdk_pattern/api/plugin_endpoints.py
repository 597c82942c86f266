"""Requests to the endpoints of plugins, below ``/api/v1/plugins/<name>/``.

A plugin's router answers them in the plugin's own process. Who may ask is decided here, and what is passed on: never a
token or a cookie, and back nothing that would run as a page of this server.
"""

import base64
from typing import Final

from fastapi import APIRouter, Request, Response

from claude_sdk_pattern.api.dependencies import BearerToken, current_identity
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.plugins.author import Caller
from claude_sdk_pattern.plugins.hosted.protocol import HttpParams
from claude_sdk_pattern.plugins.manifest import EndpointsCapability
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin
from claude_sdk_pattern.plugins.runtime.server_connection import CallFailedError

router = APIRouter(prefix="/api/v1/plugins", tags=["plugins"], responses=PROBLEM_RESPONSES)

# Of a request: what is the server's own, and what is about this connection and not about the request.
_NOT_PASSED_ON: Final = frozenset(
    {"authorization", "connection", "content-length", "cookie", "host", "keep-alive", "transfer-encoding", "upgrade"}
)

# Of an answer: everything else could change what the browser does with the server's own pages.
_PASSED_BACK: Final = frozenset({"content-type", "content-language", "content-disposition", "etag", "last-modified"})
_OWN_PREFIX: Final = "x-plugin-"

# A page of a plugin is one of nobody's: it reaches no cookie, no storage and no part of the web app.
_SANDBOX: Final = "sandbox; default-src 'none'"


@router.api_route(
    "/{name}/{path:path}",
    methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
    include_in_schema=False,
)
async def call_endpoint(
    name: str, path: str, request: Request, credentials: BearerToken, services: ServicesDependency
) -> Response:
    """Have a plugin answer a request. Routes of the platform itself come first."""
    endpoints = _endpoints(services.plugin_runtime.find(name))
    if endpoints is None:
        raise Problem(404, "not_found", "Not found", "No active plugin answers here.")
    caller: Caller | None = None
    if f"/{path}" not in endpoints.public:
        user = (await current_identity(credentials, services)).user
        caller = Caller(user_id=user.id, name=user.username, role=user.role.value)
    body = await request.body()
    most = min(endpoints.max_body_bytes, services.settings.plugin_max_body_bytes)
    if len(body) > most:
        raise Problem(413, "body_too_large", "Too large", f"The plugin takes {most} bytes.")
    call_id = services.plugin_requests.begin_call(name, None if caller is None else caller.user_id)
    try:
        answer = await services.plugin_runtime.answer_http(
            name,
            HttpParams(
                call_id=call_id,
                http_method=request.method,
                path=f"/{path}?{request.url.query}" if request.url.query else f"/{path}",
                headers=[(key, value) for key, value in request.headers.items() if key not in _NOT_PASSED_ON],
                body=base64.b64encode(body).decode(),
                caller=None
                if caller is None
                else {"user_id": caller.user_id, "name": caller.name, "role": caller.role},
            ),
            timeout_seconds=endpoints.timeout_seconds,
        )
    except CallFailedError as failure:
        if failure.kind == "timeout":
            raise Problem(504, "plugin_timeout", "The plugin is slow", str(failure)) from failure
        raise Problem(502, "plugin_failed", "The plugin failed", str(failure)) from failure
    finally:
        services.plugin_requests.end_call(call_id)
    response = Response(base64.b64decode(answer.body), answer.status)
    for key, value in answer.headers:
        if key.lower() in _PASSED_BACK or key.lower().startswith(_OWN_PREFIX):
            response.headers[key] = value
    response.headers["Content-Security-Policy"] = _SANDBOX
    return response


def _endpoints(plugin: ActivePlugin | None) -> EndpointsCapability | None:
    manifest = None if plugin is None else plugin.package.manifest
    return None if manifest is None else manifest.capabilities.endpoints
