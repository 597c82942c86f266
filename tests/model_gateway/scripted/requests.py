"""Build the entries of a Messages request in the shapes that the CLI sends."""

from typing import Any

REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>\n"


def user(*blocks: str | dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [_text(block) for block in blocks]}


def assistant(*blocks: str | dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [_text(block) for block in blocks]}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def tool_use(tool: str, **tool_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"id-of-{tool}", "name": tool, "input": tool_input}


def tool_result(tool: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"id-of-{tool}", "content": text, "is_error": is_error}


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude-test-1", "max_tokens": 1000, "messages": list(messages), **more}


def _text(block: str | dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": block} if isinstance(block, str) else block
