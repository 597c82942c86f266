"""A tool that rolls dice."""

import secrets
from typing import Annotated, Any

from claude_agent_sdk import tool

from claude_sdk_pattern.plugins.author import plugin


@tool(
    "roll",
    "Roll dice and return what they show.",
    {"count": Annotated[int, "How many dice"], "sides": Annotated[int, "How many sides each has"]},
)
async def roll(arguments: dict[str, Any]) -> dict[str, Any]:
    """Roll, and say what came of it; what is wrong with the arguments goes to the model, which can do better."""
    count, sides = arguments["count"], arguments["sides"]
    most = plugin.config["most"]
    if not 1 <= count <= most or sides < 2:
        problem = f"Roll 1 to {most} dice with at least 2 sides."
        return {"content": [{"type": "text", "text": problem}], "is_error": True}
    shown = [secrets.randbelow(sides) + 1 for _ in range(count)]
    return {"content": [{"type": "text", "text": f"{' + '.join(map(str, shown))} = {sum(shown)}"}]}
