"""REST routes of apps: the pages that tools of plugins show below their calls (MCP Apps), and what these ask for.

An app is named by the session and the number of its call's event. Its page comes with a policy that makes it one of
nobody's, so it can send no request here: the web app asks in its place, as the person who looks at it.
"""

from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.accounts.access import SessionAction, authorize
from claude_sdk_pattern.accounts.audit import AuditAction
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.api.dependencies import CurrentUser, StreamUser
from claude_sdk_pattern.api.frames import MAX_SEQ
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.api.sessions import Readable, Writable
from claude_sdk_pattern.plugins.runtime.apps import AppPage, NoAppError
from claude_sdk_pattern.plugins.runtime.plugin_app import PluginApp
from claude_sdk_pattern.plugins.runtime.server_connection import CallFailedError
from claude_sdk_pattern.sessions.errors import AppCallDeniedError, AppNotFoundError, ConsentNeededError
from claude_sdk_pattern.sessions.repository import Session

# An app sends what a person did in it.
MAX_ARGUMENT_BYTES: Final = 64 * 1024

router = APIRouter(prefix="/api/v1/sessions/{session_id}/apps/{seq}", tags=["apps"], responses=PROBLEM_RESPONSES)

Seq = Annotated[int, Path(ge=1, le=MAX_SEQ, description="Of the `tool_use` event that has a `ui_resource`.")]


class AppView(BaseModel):
    """An app, for the page that is to show it."""

    model_config = ConfigDict(extra="forbid")

    plugin: str
    ui_resource: str
    tool: dict[str, Any] = Field(description="The tool that was called, as MCP describes tools.")


class AppCall(BaseModel):
    """What an app wants to call: a tool of its own server."""

    model_config = ConfigDict(extra="forbid")

    tool: str = Field(min_length=1, max_length=200, description="As its server names it.")
    arguments: dict[str, Any] = Field(default_factory=dict)
    consent: bool = Field(default=False, description="The person who looks at the app has agreed to this call.")


class AppCallAnswer(BaseModel):
    """What came of it: one of both."""

    model_config = ConfigDict(extra="forbid")

    result: dict[str, Any] | None = Field(default=None, description="As MCP has the result of `tools/call`.")
    consent_needed: str | None = Field(
        default=None, description="Nothing was called: a person has to agree, and this is why. Then ask with `consent`."
    )


@router.get("")
async def describe_app(seq: Seq, session: Readable, services: ServicesDependency) -> AppView:
    """Describe the app of a tool call. It is there while its plugin is."""
    app = await _find(seq, session, services)
    # Here and not first in the frame, where an answer that is no page would be shown as one.
    await _page(app)
    return AppView(
        plugin=app.plugin,
        ui_resource=app.uri,
        tool=app.tool.model_dump(mode="json", by_alias=True, exclude_none=True),
    )


async def _viewable(session_id: str, user: StreamUser, services: ServicesDependency) -> Session:
    session = await services.manager.get(session_id)
    authorize(user, SessionAction.READ, session.owner_id)
    return session


@router.get("/page", response_class=HTMLResponse)
async def read_app_page(
    seq: Seq, session: Annotated[Session, Depends(_viewable)], services: ServicesDependency
) -> HTMLResponse:
    """Return the page of an app, for a frame: with a token, or else a ticket."""
    page, policy = await _page(await _find(seq, session, services))
    headers = {
        "Content-Security-Policy": policy,
        # The policy's `frame-ancestors` says the same more exactly.
        "X-Frame-Options": "SAMEORIGIN",
        # What a page looks up is something it tells.
        "X-DNS-Prefetch-Control": "off",
    }
    return HTMLResponse(page.html, headers=headers)


@router.get("/resource", response_class=Response, response_model=dict[str, Any])
async def read_app_resource(
    seq: Seq,
    session: Readable,
    user: CurrentUser,
    services: ServicesDependency,
    uri: Annotated[str, Query(min_length=1, max_length=500, description="`ui://...`, of the app's own server.")],
) -> Response:
    """Return a resource for an app, as MCP has the result of `resources/read`."""
    await services.rate_limits.check_app_call(user.id, session.id)
    app = await _find(seq, session, services)
    try:
        result = await app.resource(uri)
    except CallFailedError as failure:
        raise _failed(failure) from failure
    except NoAppError as error:
        raise AppNotFoundError(str(error)) from error
    return Response(result.model_dump_json(by_alias=True, exclude_none=True), media_type="application/json")


@router.post("/call")
async def call_app_tool(
    seq: Seq, body: AppCall, session: Writable, user: CurrentUser, services: ServicesDependency
) -> AppCallAnswer:
    """Call a tool for an app. It passes the policy like a call of the agent."""
    await services.rate_limits.check_app_call(user.id, session.id)
    size = len(orjson.dumps(body.arguments))
    if size > MAX_ARGUMENT_BYTES:
        raise Problem(413, "body_too_large", "Too large", f"An app may send {MAX_ARGUMENT_BYTES} bytes of arguments.")
    app = await _find(seq, session, services)
    tool = app.find_tool(body.tool)
    if tool is None:
        raise AppNotFoundError("The plugin has no such tool for this app.")
    chosen = services.manager.plugins.of(session)
    try:
        arguments = await services.app_calls.check(session, chosen, tool, body.arguments, has_consent=body.consent)
    except ConsentNeededError as needed:
        return AppCallAnswer(consent_needed=str(needed))
    except AppCallDeniedError:
        await _note(services, user, session, app, tool, outcome="denied")
        raise
    result = await app.call(body.tool, arguments)
    await _note(services, user, session, app, tool, outcome="error" if result.is_error else "success")
    return AppCallAnswer(result=result.model_dump(mode="json", by_alias=True, exclude_none=True))


async def _find(seq: int, session: Session, services: Services) -> PluginApp:
    recorded = await services.log.get(session.id, seq)
    return services.app_calls.find(None if recorded is None else recorded.event, services.manager.plugins.of(session))


async def _page(app: PluginApp) -> tuple[AppPage, str]:
    try:
        return await app.page()
    except CallFailedError as failure:
        raise _failed(failure) from failure
    except NoAppError as error:
        raise Problem(502, "plugin_failed", "The plugin failed", str(error)) from error


def _failed(failure: CallFailedError) -> Problem:
    if failure.kind == "timeout":
        return Problem(504, "plugin_timeout", "The plugin is slow", str(failure))
    return Problem(502, "plugin_failed", "The plugin failed", str(failure))


async def _note(services: Services, user: User, session: Session, app: PluginApp, tool: str, *, outcome: str) -> None:
    await services.audit.record(
        AuditAction.APP_CALLED_TOOL,
        actor=user.id,
        target=session.id,
        details={"plugin": app.plugin, "tool": tool, "outcome": outcome},
    )
