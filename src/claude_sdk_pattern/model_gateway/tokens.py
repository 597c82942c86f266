"""Tokens with which an agent process proves to the gateway which process it is.

A token is worth a model request for one session and nothing else, and it dies with its process. Tokens live in
memory: agent processes do not outlive the server that started them.
"""

import asyncio
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from claude_sdk_pattern.model_gateway.failures import ModelHealth


@dataclass(slots=True, kw_only=True)
class AgentCredential:
    """What the gateway knows of one agent process. ``session_id`` is None while the process waits in the pool.

    ``health`` is how the model treated its requests in this turn, and ``turn_id`` which one it is; whoever sends it a
    message begins the turn there. ``stored`` is done when that message is on disk; until then the model is not asked,
    and nothing is remembered of it.
    """

    process_id: str
    session_id: str | None = None
    turn_id: str | None = None
    stored: asyncio.Future[Any] | None = None
    health: ModelHealth = field(default_factory=ModelHealth)

    async def is_message_stored(self) -> bool:
        """Wait until it is known what became of the message, and return whether it is on disk."""
        stored = self.stored
        if stored is None:
            return True
        if not stored.done():
            await asyncio.wait({stored})
        return not stored.cancelled() and stored.exception() is None


class AgentTokens:
    """The tokens that are valid now."""

    def __init__(self) -> None:
        # Keyed by hash, so that a dump of the server's memory structures does not hold usable tokens.
        self._credentials: dict[bytes, AgentCredential] = {}

    def issue(self, process_id: str) -> tuple[str, AgentCredential]:
        """Return a new token and its credential, which the caller binds to a session when the process gets one."""
        token = f"csp-{secrets.token_urlsafe(32)}"
        credential = AgentCredential(process_id=process_id)
        self._credentials[_digest(token)] = credential
        return token, credential

    def check(self, token: str) -> AgentCredential | None:
        """Return the credential of a valid token, else None."""
        return self._credentials.get(_digest(token))

    def revoke(self, token: str) -> None:
        """Make a token worthless; unknown tokens are ignored."""
        self._credentials.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
