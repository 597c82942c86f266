"""REST routes of marketplaces: catalogues of plugins, from the settings or uploaded, to install from."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.api.dependencies import AdminUser, OperatorUser
from claude_sdk_pattern.api.plugins import PluginView, Sha256, Signature, plugin_view
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.api.uploads import FILE_FORM, whole_upload
from claude_sdk_pattern.plugins.marketplaces import Marketplace

router = APIRouter(prefix="/api/v1/marketplaces", tags=["plugins"], responses=PROBLEM_RESPONSES)

_Name = Annotated[str, Path(max_length=200, pattern=r"^[^\x00]*$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OfferView(_Body):
    """A plugin in a marketplace."""

    name: str
    description: str
    version: str | None
    category: str | None
    obstacle: str | None = Field(description="Why it cannot be installed; null: it can.")


class MarketplaceView(_Body):
    """A catalogue of plugins."""

    name: str
    source: Literal["settings", "upload"]
    description: str
    owner: str
    problem: str | None = Field(description="Why it cannot be read.")
    plugins: list[OfferView]


class MarketplaceList(_Body):
    """All marketplaces, those of the settings first."""

    items: list[MarketplaceView]


@router.get("")
async def list_marketplaces(user: OperatorUser, services: ServicesDependency) -> MarketplaceList:
    """List all marketplaces with what they offer."""
    return MarketplaceList(items=[_view(one) for one in await services.marketplaces.list()])


@router.post("", status_code=201, openapi_extra=FILE_FORM)
async def upload_marketplace(
    request: Request,
    user: AdminUser,
    services: ServicesDependency,
    sha256: Sha256 = None,
    signature: Signature = None,
) -> MarketplaceView:
    """Keep a marketplace from a zip archive, in the place of one of the same name."""
    _, archive = await whole_upload(request, max_bytes=services.settings.max_plugin_archive_mb * 1024 * 1024)
    return _view(await services.marketplaces.add(archive, actor=user.id, sha256=sha256, signature=signature))


@router.get("/{name}")
async def read_marketplace(name: _Name, user: OperatorUser, services: ServicesDependency) -> MarketplaceView:
    """Return one marketplace with what it offers."""
    return _view(await services.marketplaces.find(name))


@router.delete("/{name}", status_code=204)
async def remove_marketplace(name: _Name, user: AdminUser, services: ServicesDependency) -> Response:
    """Forget an uploaded marketplace. What was installed from it stays."""
    await services.marketplaces.remove(name, actor=user.id)
    return Response(status_code=204)


@router.post("/{name}/plugins/{plugin}/install", status_code=201)
async def install_from_marketplace(
    name: _Name, plugin: _Name, user: AdminUser, services: ServicesDependency
) -> PluginView:
    """Install a plugin, or its update, from a marketplace. It is not activated by that."""
    return plugin_view(await services.marketplaces.install(name, plugin, actor=user.id), services.plugin_runtime)


def _view(marketplace: Marketplace) -> MarketplaceView:
    return MarketplaceView(
        name=marketplace.name,
        source=marketplace.source,
        description=marketplace.description,
        owner=marketplace.owner,
        problem=marketplace.problem,
        plugins=[
            OfferView(
                name=offer.name,
                description=offer.description,
                version=offer.version,
                category=offer.category,
                obstacle=offer.obstacle,
            )
            for offer in marketplace.offers
        ],
    )
