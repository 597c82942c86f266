"""A webhook in, a prompt out, JSON back."""

import hashlib
import hmac
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel

from claude_sdk_pattern.plugins.author import PlatformRefusedError, plugin

router = APIRouter()

VERDICT = {
    "type": "object",
    "properties": {
        "severity": {"enum": ["low", "medium", "high"]},
        "summary": {"type": "string"},
    },
    "required": ["severity", "summary"],
    "additionalProperties": False,
}


class Report(BaseModel):
    """What somebody reports."""

    text: str


@router.post("/hook")
async def hook(request: Request) -> dict[str, Any]:
    """Judge a report that was signed with the shared secret: the public path has to look after itself."""
    secret = plugin.config.get("WEBHOOK_SECRET")
    if secret is None:
        raise HTTPException(503, "WEBHOOK_SECRET is not set.")
    body = await request.body()
    wanted = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(request.headers.get("x-signature", ""), wanted):
        raise HTTPException(401, "The signature is missing or wrong.")
    return await judge(Report.model_validate_json(body))


@router.post("/judge")
async def judge(report: Report) -> dict[str, Any]:
    """Judge a report of somebody who is signed in."""
    try:
        answer = await plugin.query(f"Judge this report: {report.text}", output_schema=VERDICT)
    except PlatformRefusedError as refusal:
        raise HTTPException(503, str(refusal)) from refusal
    return {"verdict": answer.data, "session_id": answer.session_id}


@router.get("/whoami")
async def who_am_i() -> dict[str, str]:
    """Return who is asking."""
    caller = plugin.caller
    return {"name": "nobody" if caller is None else caller.name}
