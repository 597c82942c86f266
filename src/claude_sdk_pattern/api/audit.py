"""REST routes of the audit log, for administrators."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from claude_sdk_pattern.accounts.audit import AuditAction, AuditFilter, NamedEntry
from claude_sdk_pattern.accounts.audit_chain import Anchor
from claude_sdk_pattern.api.dependencies import AdminUser
from claude_sdk_pattern.api.frames import MAX_SEQ
from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES, Problem
from claude_sdk_pattern.api.services import ServicesDependency

router = APIRouter(prefix="/api/v1/admin/audit", tags=["admin"], responses=PROBLEM_RESPONSES)

MAX_PAGE: Final = 200
_MAX_ANCHORS: Final = 20

_EXPORT: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "One entry a line, oldest first; the last line holds the anchor of the last entry.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}

# PostgreSQL takes no NUL.
_Text = Annotated[str | None, Query(max_length=255, pattern=r"^[^\x00]*$")]


class AuditEntryView(BaseModel):
    """One entry. ``actor`` is a user's id, ``cli``, or null for somebody who was not signed in."""

    model_config = ConfigDict(extra="forbid")

    seq: int
    at: datetime
    action: str
    actor: str | None
    actor_name: str | None = Field(description="The user's name today; null for what is no user.")
    target: str | None = Field(description="The id of what it was done to.")
    details: dict[str, JsonValue]
    correlation_id: str | None = Field(description="The request's id in the server's log.")
    hash: str


class AuditPage(BaseModel):
    """One page of entries, newest first. ``next_cursor`` asks for the next one; null on the last."""

    model_config = ConfigDict(extra="forbid")

    items: list[AuditEntryView]
    next_cursor: str | None


class AuditChain(BaseModel):
    """What a look at the whole chain found: no faults, or what was removed, altered or moved."""

    model_config = ConfigDict(extra="forbid")

    is_intact: bool
    entries: int = Field(description="Number of the last entry.")
    anchor: str = Field(description="Number and hash of the last entry, `SEQ:HASH`. Note it elsewhere.")
    faults: list[str]


def _filter(
    actor: Annotated[_Text, Query(description="Id of a user, or `cli`.")] = None,
    action: Annotated[_Text, Query(description="An action, or with a dot at its end all below it: `auth.`")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Not before this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Before this time.")] = None,
) -> AuditFilter:
    return AuditFilter(actor=actor, action=action, since=since, until=until)


def _anchors(
    anchor: Annotated[
        list[str], Query(max_length=_MAX_ANCHORS, description="Anchors noted earlier, each `SEQ:HASH`.")
    ] = [],  # noqa: B006 - FastAPI copies it
) -> list[Anchor]:
    try:
        return [Anchor.parse(text) for text in anchor]
    except ValueError as error:
        raise Problem(422, "invalid_anchor", "Invalid anchor", f"{error}.") from error


@router.get("")
async def list_entries(
    user: AdminUser,
    services: ServicesDependency,
    wanted: Annotated[AuditFilter, Depends(_filter)],
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> AuditPage:
    """List what was recorded, newest first."""
    before = None if cursor is None else _decoded(cursor)
    found = await services.audit.page(wanted, limit=limit + 1, before=before)
    page = found[:limit]
    return AuditPage(
        items=[_view(named) for named in page],
        next_cursor=str(page[-1].entry.seq) if len(found) > limit else None,
    )


@router.get("/actions")
async def list_actions(user: AdminUser) -> list[str]:
    """List what is recorded, for filters."""
    return [action.value for action in AuditAction]


@router.get("/chain")
async def check_chain(
    user: AdminUser, services: ServicesDependency, anchors: Annotated[list[Anchor], Depends(_anchors)]
) -> AuditChain:
    """Look at every entry: whether one was removed, altered or moved."""
    report = await services.audit.verify(anchors)
    return AuditChain(
        is_intact=report.is_intact, entries=report.head.seq, anchor=str(report.head), faults=list(report.faults)
    )


@router.get("/export", response_class=StreamingResponse, responses=_EXPORT)
async def export_entries(user: AdminUser, services: ServicesDependency) -> StreamingResponse:
    """Return the whole log, this export included, as NDJSON: to be kept, or checked without the database."""
    await services.audit.record(AuditAction.AUDIT_EXPORTED, actor=user.id)
    head = await services.audit.head()

    async def lines() -> AsyncGenerator[bytes]:
        async for entry in services.audit.entries(until=head.seq):
            yield entry.to_json() + b"\n"
        yield orjson.dumps({"anchor": str(head)}) + b"\n"

    return StreamingResponse(
        lines(),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": 'attachment; filename="audit.ndjson"', "Cache-Control": "no-store"},
    )


def _view(named: NamedEntry) -> AuditEntryView:
    entry = named.entry
    return AuditEntryView(
        seq=entry.seq,
        at=entry.at,
        action=entry.action,
        actor=entry.actor,
        actor_name=named.actor_name,
        target=entry.target,
        details=entry.details,
        correlation_id=entry.correlation_id,
        hash=entry.hash,
    )


def _decoded(cursor: str) -> int:
    if cursor.isascii() and cursor.isdecimal() and len(cursor) <= len(str(MAX_SEQ)):
        return int(cursor)
    raise Problem(422, "invalid_cursor", "The cursor is not one this server gave out.")
