"""A tool that puts a question to people, and one with which its page counts their votes. The page is ``poll.html``."""

import json
import secrets
from pathlib import Path
from typing import Any

from claude_agent_sdk import tool

from claude_sdk_pattern.plugins.author import app, plugin

MOST_OPTIONS = 10


@app("poll.html")
@tool(
    "ask",
    "Ask the person to choose between some options. They see buttons, and you are told when they have chosen.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "options": {"type": "array", "minItems": 2, "maxItems": MOST_OPTIONS, "items": {"type": "string"}},
        },
        "required": ["question", "options"],
    },
)
async def ask(arguments: dict[str, Any]) -> dict[str, Any]:
    """Begin a poll and return it as the page reads it."""
    poll_id = secrets.token_hex(8)
    votes = dict.fromkeys(arguments["options"], 0)
    poll = {"id": poll_id, "question": arguments["question"], "votes": votes}
    _file(poll_id).write_text(json.dumps(poll))
    return _answer(poll)


@app(visibility=("app",))
@tool("vote", "Count a vote.", {"id": str, "option": str})
async def vote(arguments: dict[str, Any]) -> dict[str, Any]:
    """Count a vote and return the poll."""
    file = _file(arguments["id"])
    poll = json.loads(file.read_text()) if file.is_file() else None
    if poll is None or arguments["option"] not in poll["votes"]:
        return {"content": [{"type": "text", "text": "There is no such poll or option."}], "is_error": True}
    poll["votes"][arguments["option"]] += 1
    file.write_text(json.dumps(poll))
    return _answer(poll)


def _file(poll_id: str) -> Path:
    # What a page sends is not to be trusted more than what a model does.
    return plugin.data / f"{int(poll_id, 16):016x}.json"


def _answer(poll: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(poll)}]}
