"""The book of notes, as an agent uses it."""

from typing import Any

import pytest

from claude_sdk_pattern.workbench.active_plugin import ActivePlugin

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def plugin_config() -> dict[str, Any]:
    """A title of our own."""
    return {"title": "House book"}


def test_the_book_has_two_tools(active_plugin: ActivePlugin) -> None:
    assert active_plugin.tools == ("mcp__notes-book__add_note", "mcp__notes-book__read_notes")


def test_what_was_written_down_is_read_under_the_configured_title(active_plugin: ActivePlugin) -> None:
    assert not active_plugin.call("add_note", text="water the plants").is_error
    told = active_plugin.call("read_notes").text
    assert "House book" in told
    assert "water the plants" in told
