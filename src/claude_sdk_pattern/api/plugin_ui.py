"""What active plugins put into the web app: which components there are, and their files. See docs/plugins.md.

A browser that loads a module sends no header of ours. So who lists the components gets their access token once more, as
a cookie that no script can read and that is sent with requests for these files only.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Depends, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.accounts.users import User
from claude_sdk_pattern.api.dependencies import BearerToken, CurrentUser, current_identity
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.plugins.manifest import Slot, UiPart
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.ui_files import MEDIA_TYPES, find_ui_file, integrity_of

_PATH: Final = "/api/v1/plugin-ui"
_COOKIE: Final = "csp_plugin_ui"

# Several times the length of one of ours.
_MAX_TOKEN_LENGTH: Final = 4096

# The path names the content. For this person's browser alone: a cache in between would not ask who they are.
_CACHING: Final = "private, max-age=31536000, immutable"

# Opened as a page of its own, a file is a page of nobody's: a picture may hold scripts.
_SANDBOX: Final = "sandbox; default-src 'none'"

router = APIRouter(prefix=_PATH, tags=["plugins"], responses=PROBLEM_RESPONSES)


class UiFileView(BaseModel):
    """A file for the page: where it is, and the hash its content has to have."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(description="A path on this server. It changes with the plugin's files.")
    integrity: str = Field(description="`sha384-...`, as in Subresource Integrity.")


class UiPartView(BaseModel):
    """A component that an active plugin puts into a slot of the page."""

    model_config = ConfigDict(extra="forbid")

    plugin: str
    version: str
    slot: Slot
    module: UiFileView
    export: str = Field(description="The component's name in the module.")
    style: UiFileView | None = Field(description="A style sheet for this plugin's components alone.")
    title: str | None = Field(description="Of a `side-panel` and a `settings-section`.")
    tools: list[str] = Field(description="Of a `message-renderer`: whose results it draws. `*` for any letters.")


class UiPartList(BaseModel):
    """All components, in the order of the plugins' names and of their manifests."""

    model_config = ConfigDict(extra="forbid")

    items: list[UiPartView]


@router.get("")
async def list_plugin_ui(
    request: Request, response: Response, user: CurrentUser, credentials: BearerToken, services: ServicesDependency
) -> UiPartList:
    """List the components of active plugins, and let this browser load their files with a cookie."""
    token = "" if credentials is None else credentials.credentials
    response.set_cookie(
        _COOKIE,
        token,
        max_age=int(services.accounts.lifetimes.access.total_seconds()),
        path=f"{_PATH}/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return UiPartList(items=await asyncio.to_thread(_parts, services))


async def _ui_user(
    credentials: BearerToken,
    services: ServicesDependency,
    csp_plugin_ui: Annotated[str | None, Cookie(max_length=_MAX_TOKEN_LENGTH, include_in_schema=False)] = None,
) -> User:
    if credentials is None and csp_plugin_ui is None:
        raise InvalidAccessTokenError
    if credentials is None and csp_plugin_ui is not None:
        return (await services.accounts.identify(csp_plugin_ui)).user
    return (await current_identity(credentials, services)).user


@router.get("/{name}/{digest}/{path:path}", response_class=FileResponse)
async def read_plugin_ui_file(
    name: str, digest: str, path: str, user: Annotated[User, Depends(_ui_user)], services: ServicesDependency
) -> FileResponse:
    """Return a file of an active plugin's `ui` folder. `digest` is of all its files: another version is not there."""
    plugin = services.plugin_runtime.find(name)
    package = None if plugin is None else plugin.package
    file = None
    if package is not None and package.digest == digest:
        file = await asyncio.to_thread(find_ui_file, package, path)
    if file is None:
        raise Problem(404, "not_found", "Not found", "No active plugin has this file for browsers.")
    # By the name that was asked for: a link is served as what it is called.
    media_type = MEDIA_TYPES[Path(path).suffix]
    headers = {"Cache-Control": _CACHING, "Content-Security-Policy": _SANDBOX}
    return FileResponse(file, media_type=media_type, headers=headers)


def _parts(services: Services) -> list[UiPartView]:
    return [
        view
        for plugin in services.plugin_runtime.active
        if plugin.package.manifest is not None
        for part in plugin.package.manifest.ui
        if (view := _part(plugin.package, part)) is not None
    ]


def _part(package: PluginPackage, part: UiPart) -> UiPartView | None:
    module = _file(package, part.bundle)
    if module is None:
        return None
    return UiPartView(
        plugin=package.name,
        version=package.version,
        slot=part.slot,
        module=module,
        export=part.export,
        style=None if part.style is None else _file(package, part.style),
        title=part.title,
        tools=list(part.tools),
    )


def _file(package: PluginPackage, path: str) -> UiFileView | None:
    file = find_ui_file(package, path)
    if file is None:
        return None
    return UiFileView(url=f"{_PATH}/{package.name}/{package.digest}/{path}", integrity=integrity_of(file))
