"""What one answer of the model used: token counts as the API bills them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one answer by how they are priced. Every token of the prompt is in exactly one of the four inputs."""

    input_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    web_searches: int = 0

    @property
    def prompt_tokens(self) -> int:
        """The length of the whole prompt."""
        return self.input_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens + self.cache_read_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """One answer of the API to one session, whoever asked: the agent, its helpers, or a second try.

    ``turn_id`` is the turn in which it was asked for, if one ran; ``at_ms`` when it ended, in milliseconds of Unix
    time. ``is_complete`` is false for an answer that broke off or was stopped; its output is then counted only as far
    as the API had reported it.
    """

    session_id: str
    turn_id: str | None
    at_ms: int
    model: str
    usage: Usage
    cost_usd: float
    is_complete: bool


def read_usage(figures: Mapping[str, Any]) -> Usage:
    """Read the ``usage`` of an answer. What is missing or no number counts as none."""
    written = _count(figures, "cache_creation_input_tokens")
    written_1h = min(written, _count(_inside(figures, "cache_creation"), "ephemeral_1h_input_tokens"))
    return Usage(
        input_tokens=_count(figures, "input_tokens"),
        cache_write_5m_tokens=written - written_1h,
        cache_write_1h_tokens=written_1h,
        cache_read_tokens=_count(figures, "cache_read_input_tokens"),
        output_tokens=_count(figures, "output_tokens"),
        web_searches=_count(_inside(figures, "server_tool_use"), "web_search_requests"),
    )


def _inside(figures: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = figures.get(name)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _count(figures: Mapping[str, Any], name: str) -> int:
    found = figures.get(name)
    return found if isinstance(found, int) and found > 0 else 0
