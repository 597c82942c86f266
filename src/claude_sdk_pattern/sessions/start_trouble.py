"""What people are told when a turn could not begin: pure, from what went wrong."""

from dataclasses import dataclass

from claude_sdk_pattern.events import types as events
from claude_sdk_pattern.sessions.disk import is_out_of_space
from claude_sdk_pattern.sessions.errors import (
    AttachmentNotFoundError,
    SandboxUnavailableError,
    StorageFullError,
    TooManyWaitingError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartError:
    """An error event, and the same in short for the turn's result."""

    event: events.Error
    short: str


def start_error(error: Exception) -> StartError:
    """Return what to tell of an error that kept an agent process from taking a message."""
    if isinstance(error, TooManyWaitingError):
        return _told(code="server_busy", message=str(error), short=str(error))
    if isinstance(error, StorageFullError) or is_out_of_space(error):
        text = "The server's storage is full. Your message is saved; send it again when there is room."
        return _told(code="storage_full", message=text, short="The server's storage is full.")
    if isinstance(error, AttachmentNotFoundError):
        text = "A file of this message is not there any more. Attach it again."
        return _told(code="attachment_not_found", message=text, short=text, recoverable=False)
    if isinstance(error, SandboxUnavailableError):
        text = "The agent's sandbox is not available, so it was not started. An administrator has to fix this."
        return _told(
            code="sandbox_unavailable",
            message=text,
            short="The agent's sandbox is not available.",
            recoverable=False,
        )
    text = "The agent could not be started. Your message is saved; try again in a moment."
    return _told(code="agent_start_failed", message=text, short="The agent could not be started.")


def _told(*, code: str, message: str, short: str, recoverable: bool = True) -> StartError:
    return StartError(event=events.Error(code=code, message=message, recoverable=recoverable), short=short)
