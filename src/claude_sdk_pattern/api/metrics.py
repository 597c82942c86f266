"""The metrics, for Prometheus to fetch. No authentication, and nothing in them about anybody."""

from fastapi import APIRouter, Response

from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.telemetry.metrics import CONTENT_TYPE

router = APIRouter(tags=["metrics"], responses=PROBLEM_RESPONSES)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(services: ServicesDependency) -> Response:
    """Return the metrics in the text format of Prometheus."""
    return Response(services.metrics.render(), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})
