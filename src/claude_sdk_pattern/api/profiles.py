"""REST route of profiles: who an agent can be. Plugins bring them; see docs/plugin-guide.md."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.api.dependencies import CurrentUser
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.plugins.personas import OfferedProfile

router = APIRouter(prefix="/api/v1/profiles", tags=["profiles"], responses=PROBLEM_RESPONSES)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProfileView(_Body):
    """A profile on offer. Null: as in any other session."""

    name: str = Field(description="`plugin:profile`; what a session is made with.")
    display_name: str
    description: str | None
    plugin: str
    model: str | None
    permission_mode: str | None
    plugins: list[str] | None = Field(description="The plugins that its sessions are made with.")


class ProfileList(_Body):
    """All profiles on offer, in the order of their names."""

    items: list[ProfileView]


@router.get("")
async def list_profiles(user: CurrentUser, services: ServicesDependency) -> ProfileList:
    """List the profiles of the active plugins."""
    return ProfileList(items=[_view(offered) for offered in services.manager.plugins.profiles()])


def _view(offered: OfferedProfile) -> ProfileView:
    return ProfileView(
        name=offered.name,
        display_name=offered.declared.display_name,
        description=offered.declared.description,
        plugin=offered.plugin.name,
        model=offered.declared.model,
        permission_mode=offered.declared.permission_mode,
        plugins=None if offered.plugins is None else sorted(offered.plugins),
    )
