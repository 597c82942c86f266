"""A tool result of 20 MB: the real CLI reads a document of that size, and nobody has to suffer for it.

The CLI shortens what its shell prints and what MCP servers answer; a PDF that its Read tool opens it hands on whole,
twice in one line.
"""

import asyncio
import os
from typing import Any, cast

import pytest
from tests.support.platform import Platform

from claude_sdk_pattern.events import types as events

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

# In base64 20 MB.
PDF_BYTES = 15_000_000


async def test_a_result_of_20_mb_reaches_readers_short_and_the_session_goes_on(platform: Platform) -> None:
    async with await platform.chat() as chat, await platform.chat() as other:
        await chat.ask("say exactly: first")
        await other.ask("say exactly: first")
        (chat.workspace / "big.pdf").write_bytes(b"%PDF-1.4\n" + os.urandom(PDF_BYTES))
        streaming = asyncio.create_task(other.ask("stream 300 tokens at 100 tokens per second"))
        _, ended = await chat.ask("read file big.pdf")
        assert ended.subtype == "success"
        (seen,) = [item for item in chat.seen if item.type == "tool_result"]
        limit = platform.services.settings.max_tool_result_bytes
        assert len(seen.payload) <= limit
        shown = seen.event
        assert isinstance(shown, events.ToolResult)
        assert shown.truncated
        assert shown.content[-1] == {"type": "text", "text": "[application/pdf, 20.0 MB, is left out here]"}
        whole = await platform.services.log.get(chat.session_id, seen.seq)
        assert whole is not None
        content = cast("list[dict[str, Any]]", cast("events.ToolResult", whole.event).content)
        assert len(content[-1]["source"]["data"]) > PDF_BYTES
        # Nobody else noticed, and the conversation goes on.
        text, ended = await streaming
        assert (len(text.split()), ended.subtype) == (300, "success")
        text, ended = await chat.ask("say exactly: after")
        assert (text, ended.subtype) == ("after", "success")
        assert all(len(item.payload) <= limit for item in await chat.tape())
        found = await platform.services.manager.repository.list(
            owner_id=platform.user.id, query="first", limit=10, after=None
        )
        assert {session.id for session in found} == {chat.session_id, other.session_id}
