"""Hooks. Each is given what Claude Code says of the event, and returns nothing or what is to be done."""

from typing import Any

from claude_sdk_pattern.plugins.author import plugin


def keep_locked_files(event: dict[str, Any]) -> dict[str, Any] | None:
    """Object to changes of files that are locked."""
    path = str(event["tool_input"].get("file_path", ""))
    if not path.endswith(".locked"):
        return None
    return {"decision": "deny", "reason": "Files that end in .locked are left as they are. Write another file."}


def count(event: dict[str, Any]) -> None:
    """Keep a list of the tools that were used."""
    with (plugin.data / "tools.txt").open("a", encoding="utf-8") as file:
        file.write(f"{event['tool_name']}\n")
