"""An MCP server that keeps notes in a file. Nothing in it knows the platform: any MCP client can run it."""

import os
from pathlib import Path

from mcp.server import MCPServer

FILE = Path(os.environ["NOTES_FILE"])
TITLE = os.environ.get("NOTES_TITLE", "Notes")

server = MCPServer("notes")


@server.tool()
def add_note(text: str) -> str:
    """Keep a note."""
    with FILE.open("a", encoding="utf-8") as file:
        file.write(text.replace("\n", " ") + "\n")
    return "Kept."


@server.tool()
def read_notes() -> str:
    """Return all notes that were kept, one to a line."""
    notes = FILE.read_text("utf-8") if FILE.exists() else ""
    return f"{TITLE}:\n{notes}" if notes else f"{TITLE}: nothing yet."


if __name__ == "__main__":
    server.run("stdio")
