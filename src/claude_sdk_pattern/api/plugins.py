"""REST routes of plugins: what there is, what it asks for, and what operators do about it. See docs/plugins.md."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.api.dependencies import AdminUser, CurrentUser, OperatorUser
from claude_sdk_pattern.api.frames import JsonObject
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.api.uploads import FILE_FORM, whole_upload
from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.manifest import Permissions
from claude_sdk_pattern.plugins.package import Inventory
from claude_sdk_pattern.plugins.registry import PluginConfig, PluginOverview
from claude_sdk_pattern.plugins.runtime.runtime import PluginRuntime

router = APIRouter(prefix="/api/v1/plugins", tags=["plugins"], responses=PROBLEM_RESPONSES)

PluginName = Annotated[str, Path(max_length=64, pattern=r"^[^\x00]*$")]

Sha256 = Annotated[
    str | None, Query(pattern=r"^[0-9a-fA-F]{64}$", description="What the archive's SHA-256 has to be, in hex.")
]
Signature = Annotated[
    str | None, Query(max_length=200, description="Ed25519 over the archive, in base64. Some servers demand it.")
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProblemView(_Body):
    """One thing that is wrong with a plugin, or odd about it: where, what, and what to write instead."""

    file: str
    path: str
    message: str
    hint: str


class PathPermissionsView(_Body):
    """Folders of the server's machine, besides the plugin's own."""

    readable: list[str]
    writable: list[str]


class PermissionsView(_Body):
    """What a plugin asks for. More than that it does not get."""

    tools: list[str]
    hosts: list[str]
    paths: PathPermissionsView
    secrets: list[str]
    environment: list[str] = Field(description="Variables that it sets for agents and what they start.")
    events: list[str]
    slots: list[str] = Field(description="Places of the page where its code runs.")
    apps: bool = Field(description="Whether its tools may show pages of their own, walled off from this one.")


class InventoryView(_Body):
    """What a plugin brings, by name."""

    has_tools: bool
    mcp_servers: list[str]
    skills: list[str]
    folders: list[str] = Field(description="Folders that agents may read.")
    commands: list[str]
    agents: list[str]
    hooks: list[str] = Field(description="The events its hooks are for.")
    endpoints: bool
    profiles: list[str]
    ui: list[str] = Field(description="The slots of the page it fills.")
    other: list[str] = Field(description="Parts that only Claude Code's terminal uses.")


class OfferedToolView(_Body):
    """A tool that an active plugin really has."""

    name: str = Field(description="As agents see it.")
    description: str = Field(description="Empty for servers that Claude Code starts: it tells their names only.")
    is_declared: bool = Field(description="Whether `permissions.tools` lists it. Agents are refused the others.")


class PluginView(_Body):
    """A plugin. What waits for consent is described; what runs may be the version before."""

    name: str
    version: str
    description: str
    format: Literal["platform", "claude-code", "skills"] | None = Field(description="null: it cannot be read.")
    status: Literal["registered", "active", "disabled", "degraded", "errored", "inactive"]
    last_error: str | None
    source: Literal["folder", "upload", "marketplace"]
    origin: str = Field(description="Name of the folder, the uploaded file or the marketplace.")
    digest: str | None = Field(description="Of what is there now. Send it along to activate exactly this.")
    active_version: str | None = Field(description="Of what sessions are given; null: nothing.")
    has_update: bool = Field(description="Whether what is there is not what sessions are given.")
    permissions: PermissionsView
    new_permissions: PermissionsView = Field(description="What nobody has agreed to yet. Activating agrees to it.")
    inventory: InventoryView
    tools: list[OfferedToolView] = Field(
        description="What its Python and its servers really offer, as found when it was started; none unless it is at "
        "work. Of servers that Claude Code starts, as found in the first conversation."
    )
    dependencies: dict[str, str]
    problems: list[ProblemView] = Field(description="Why it, or its update, cannot be activated.")
    warnings: list[ProblemView]
    manifest: dict[str, Any] | None = Field(description="Of a plugin of this platform's own format.")


class PluginList(_Body):
    """All plugins, in the order of their names."""

    items: list[PluginView]


class ActivatePlugin(_Body):
    """What to activate. Without ``digest``, whatever is there."""

    digest: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class PluginConfigView(_Body):
    """A configuration. ``values`` have the defaults filled in."""

    config_schema: dict[str, Any]
    values: dict[str, Any]
    secrets: dict[str, str | None] = Field(description="`********` for those that are set, null for the others.")
    fixed_secrets: list[str] = Field(description="Those that come from files and cannot be changed here.")


class PluginConfigUpdate(_Body):
    """A new configuration. Values that are left out go back to their defaults; secrets that are left out stay."""

    values: JsonObject


@router.get("")
async def list_plugins(user: CurrentUser, services: ServicesDependency) -> PluginList:
    """List all plugins."""
    return PluginList(items=[plugin_view(one, services.plugin_runtime) for one in await services.plugins.overview()])


@router.post("", status_code=201, openapi_extra=FILE_FORM)
async def upload_plugin(
    request: Request,
    user: AdminUser,
    services: ServicesDependency,
    sha256: Sha256 = None,
    signature: Signature = None,
) -> PluginView:
    """Add a plugin from a zip archive, or another version of one. Nothing is executed, and it is not activated."""
    name, archive = await whole_upload(request, max_bytes=services.settings.max_plugin_archive_mb * 1024 * 1024)
    return plugin_view(
        await services.plugins.install(archive, actor=user.id, origin=name[:200], sha256=sha256, signature=signature),
        services.plugin_runtime,
    )


@router.get("/{name}")
async def read_plugin(name: PluginName, user: CurrentUser, services: ServicesDependency) -> PluginView:
    """Return one plugin."""
    return plugin_view(await services.plugins.find(name), services.plugin_runtime)


@router.delete("/{name}", status_code=204)
async def remove_plugin(name: PluginName, user: AdminUser, services: ServicesDependency) -> Response:
    """Forget a plugin that was uploaded or whose folder is gone, with its configuration and secrets."""
    await services.plugins.remove(name, actor=user.id)
    return Response(status_code=204)


@router.get("/{name}/config")
async def read_plugin_config(name: PluginName, user: OperatorUser, services: ServicesDependency) -> PluginConfigView:
    """Return the configuration of a plugin. Secrets are masked."""
    return _config_view(await services.plugins.read_config(name))


@router.put("/{name}/config")
async def write_plugin_config(
    name: PluginName, body: PluginConfigUpdate, user: OperatorUser, services: ServicesDependency
) -> PluginConfigView:
    """Replace the configuration of a plugin. An active plugin starts anew with it, for new sessions."""
    await services.plugins.configure(name, body.values, actor=user.id)
    return _config_view(await services.plugins.read_config(name))


@router.post("/{name}/activate")
async def activate_plugin(
    name: PluginName, user: OperatorUser, services: ServicesDependency, body: ActivatePlugin | None = None
) -> PluginView:
    """Put a plugin, or its update, to work in new sessions, and agree to what it asks for."""
    digest = None if body is None else body.digest
    return plugin_view(await services.plugins.activate(name, actor=user.id, digest=digest), services.plugin_runtime)


@router.post("/{name}/deactivate")
async def deactivate_plugin(name: PluginName, user: OperatorUser, services: ServicesDependency) -> PluginView:
    """Take a plugin away from new sessions."""
    return plugin_view(await services.plugins.deactivate(name, actor=user.id), services.plugin_runtime)


@router.post("/{name}/reload")
async def reload_plugin(name: PluginName, user: OperatorUser, services: ServicesDependency) -> PluginView:
    """Read a plugin's folder again, and start the plugin anew if it is active."""
    return plugin_view(await services.plugins.reload(name, actor=user.id), services.plugin_runtime)


def plugin_view(overview: PluginOverview, runtime: PluginRuntime) -> PluginView:
    """Return what is shown of a plugin."""
    record, package = overview.record, overview.package
    manifest = None if package is None else package.manifest
    return PluginView(
        name=record.name,
        version=record.version,
        description="" if package is None else package.description,
        format=None if package is None else package.format,
        status=record.status.value,
        last_error=record.last_error,
        source=record.source,
        origin=record.origin,
        digest=record.digest,
        active_version=record.running_version if record.is_running else None,
        has_update=record.has_update,
        permissions=_permissions(Permissions() if package is None else package.permissions),
        new_permissions=_permissions(overview.new_permissions),
        inventory=_inventory(Inventory() if package is None else package.inventory),
        tools=[
            OfferedToolView(name=tool.name, description=tool.description, is_declared=tool.is_declared)
            for tool in runtime.tools_of(record.name)
        ],
        dependencies={} if package is None else package.dependencies,
        problems=[_problem(problem) for problem in record.problems],
        warnings=[_problem(problem) for problem in record.warnings],
        manifest=None if manifest is None else manifest.model_dump(mode="json", by_alias=True, exclude_unset=True),
    )


def _config_view(config: PluginConfig) -> PluginConfigView:
    return PluginConfigView(
        config_schema=dict(config.schema),
        values=dict(config.values),
        secrets=dict(config.secrets),
        fixed_secrets=sorted(config.fixed_secrets),
    )


def _permissions(permissions: Permissions) -> PermissionsView:
    return PermissionsView.model_validate(permissions.model_dump(mode="json"))


def _inventory(inventory: Inventory) -> InventoryView:
    return InventoryView(
        has_tools=inventory.has_tools,
        mcp_servers=list(inventory.mcp_servers),
        skills=list(inventory.skills),
        folders=list(inventory.folders),
        commands=list(inventory.commands),
        agents=list(inventory.agents),
        hooks=list(inventory.hooks),
        endpoints=inventory.endpoints,
        profiles=list(inventory.profiles),
        ui=list(inventory.ui),
        other=list(inventory.other),
    )


def _problem(problem: PluginProblem) -> ProblemView:
    return ProblemView(file=problem.file, path=problem.path, message=problem.message, hint=problem.hint)
