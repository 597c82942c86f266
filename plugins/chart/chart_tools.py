"""A tool that returns data for a chart. What draws it is in ``ui/chart.js``."""

import json
import math
from typing import Any

from claude_agent_sdk import tool

MOST_POINTS = 50


@tool(
    "draw",
    "Show numbers to the person as a chart in the conversation.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What the chart is about, in a few words"},
            "points": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_POINTS,
                "items": {
                    "type": "object",
                    "properties": {"label": {"type": "string"}, "value": {"type": "number"}},
                    "required": ["label", "value"],
                },
            },
        },
        "required": ["title", "points"],
    },
)
async def draw(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the data as the component reads it, with the sum; what is wrong goes to the model, which can do better."""
    points = arguments["points"]
    if not 1 <= len(points) <= MOST_POINTS or not all(math.isfinite(point["value"]) for point in points):
        problem = f"Give 1 to {MOST_POINTS} points with numbers for values."
        return {"content": [{"type": "text", "text": problem}], "is_error": True}
    data = {"title": arguments["title"], "points": points, "sum": sum(point["value"] for point in points)}
    return {"content": [{"type": "text", "text": json.dumps(data)}]}
