"""REST routes that show administrators what happens on the platform: sessions, processes, costs."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.api.cursors import decoded, encoded
from claude_sdk_pattern.api.dependencies import require_role
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import Services, ServicesDependency
from claude_sdk_pattern.api.sessions import decoded_place, encoded_place
from claude_sdk_pattern.events.types import StatusName
from claude_sdk_pattern.sessions.process_overview import held_processes
from claude_sdk_pattern.sessions.repository import CostKey

router = APIRouter(
    prefix="/api/v1/admin",
    tags=["admin"],
    responses=PROBLEM_RESPONSES,
    dependencies=[Depends(require_role(Role.ADMIN))],
)

MAX_PAGE = 200

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
# PostgreSQL takes no NUL.
_NO_NUL = r"^[^\x00]*$"


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SessionOverview(_Body):
    """A session, without what was said in it. ``status`` is that on the server asked."""

    id: str
    title: str
    owner: str
    owner_name: str
    status: StatusName
    model: str
    cost_usd: float
    last_seq: int
    created_at: datetime
    last_active_at: datetime


class SessionOverviewPage(_Body):
    """One page of sessions, most recently active first."""

    items: list[SessionOverview]
    next_cursor: str | None


class ProcessView(_Body):
    """An agent process on the server asked, and the session that holds it."""

    session_id: str
    title: str
    owner: str
    owner_name: str
    status: StatusName
    model: str
    pid: int | None
    age_seconds: float
    rss_bytes: int = Field(description="Memory of the process and all it has started.")
    is_watched: bool = Field(description="Whether anybody has the session open.")


class ProcessList(_Body):
    """The agent processes of the server asked, and how many it keeps ready and may have."""

    items: list[ProcessView]
    pooled: int
    limit: int


class UserCosts(_Body):
    """What the sessions of one user have cost."""

    user: str
    username: str
    cost_usd: float
    sessions: int


class CostPage(_Body):
    """One page of costs, the dearest user first. Sessions that were deleted are not in it."""

    total_usd: float
    items: list[UserCosts]
    next_cursor: str | None


@router.get("/sessions")
async def list_sessions(
    services: ServicesDependency,
    q: Annotated[str | None, Query(max_length=200, pattern=_NO_NUL, description="Text to look for in titles.")] = None,
    owner: Annotated[str | None, Query(max_length=64, pattern=_NO_NUL, description="Id of a user.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> SessionOverviewPage:
    """List everybody's sessions. What was said in them is not searched."""
    after = None if cursor is None else decoded_place(cursor)
    found = await services.manager.repository.list(owner_id=owner, title=q, query=None, limit=limit + 1, after=after)
    page = found[:limit]
    names = await _names(services, (session.owner_id for session in page))
    items = [
        SessionOverview(
            id=session.id,
            title=session.title,
            owner=session.owner_id,
            owner_name=names.get(session.owner_id, ""),
            status=services.manager.status(session.id),
            model=session.model,
            cost_usd=session.cost_usd,
            last_seq=session.last_seq,
            created_at=session.created_at,
            last_active_at=session.last_active_at,
        )
        for session in page
    ]
    return SessionOverviewPage(items=items, next_cursor=encoded_place(page[-1]) if len(found) > limit else None)


@router.get("/processes")
async def list_processes(services: ServicesDependency) -> ProcessList:
    """List the agent processes of this server."""
    found = await held_processes(services.manager.conversations)
    names = await _names(services, (process.owner_id for process in found))
    items = [
        ProcessView(
            session_id=process.session_id,
            title=process.title,
            owner=process.owner_id,
            owner_name=names.get(process.owner_id, ""),
            status=process.status,
            model=process.model,
            pid=process.pid,
            age_seconds=process.age_seconds,
            rss_bytes=process.rss_bytes,
            is_watched=process.is_watched,
        )
        for process in found
    ]
    return ProcessList(items=items, pooled=services.manager.pool.size, limit=services.settings.max_sessions)


@router.get("/costs")
async def list_costs(services: ServicesDependency, limit: Limit = 50, cursor: Cursor = None) -> CostPage:
    """List what the sessions that are there have cost, user by user."""
    after = None
    if cursor is not None:
        cost_usd, owner_id = decoded(cursor, float, str)
        after = CostKey(cost_usd=cost_usd, owner_id=owner_id)
    found = await services.manager.repository.costs(limit=limit + 1, after=after)
    page = found[:limit]
    names = await _names(services, (costs.owner_id for costs in page))
    items = [
        UserCosts(
            user=costs.owner_id,
            username=names.get(costs.owner_id, ""),
            cost_usd=costs.cost_usd,
            sessions=costs.sessions,
        )
        for costs in page
    ]
    return CostPage(
        total_usd=await services.manager.repository.total_cost(),
        items=items,
        next_cursor=encoded(page[-1].cost_usd, page[-1].owner_id) if len(found) > limit else None,
    )


async def _names(services: Services, user_ids: Iterable[str]) -> Mapping[str, str]:
    return await services.accounts.users.names(user_ids)
