"""The agent processes of this server, for those who look after it."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from claude_sdk_pattern.events.types import StatusName
from claude_sdk_pattern.sessions.conversation import Conversation
from claude_sdk_pattern.sessions.memory import tree_rss


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldProcess:
    """An agent process and the session that holds it. ``rss_bytes`` counts all it has started."""

    session_id: str
    owner_id: str
    title: str
    model: str
    status: StatusName
    pid: int | None
    age_seconds: float
    rss_bytes: int
    is_watched: bool


async def held_processes(conversations: Iterable[Conversation]) -> list[HeldProcess]:
    """Return the processes that sessions hold, the oldest first."""
    held = [(item, process) for item in conversations if (process := item.process) is not None]
    rss = await tree_rss({process.pid for _, process in held if process.pid is not None})
    now = asyncio.get_running_loop().time()
    found = [
        HeldProcess(
            session_id=conversation.session.id,
            owner_id=conversation.owner_id,
            title=conversation.session.title,
            model=process.model,
            status=conversation.status,
            pid=process.pid,
            age_seconds=now - process.started_at,
            rss_bytes=rss.get(process.pid or 0, 0),
            is_watched=conversation.is_watched,
        )
        for conversation, process in held
    ]
    return sorted(found, key=lambda process: -process.age_seconds)
