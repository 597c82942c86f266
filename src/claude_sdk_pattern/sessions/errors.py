"""What can go wrong with a session.

::

    SessionError
    ├── SessionNotFoundError       no such session, or not one this user may know of
    ├── MessageRefusedError        the message was not accepted; nothing of it is on the tape
    │   ├── MessageTooLongError    longer than the server allows; shorten it
    │   ├── EmptyMessageError      nothing but white space
    │   ├── TooManyAttachmentsError  more files than a message may carry, or than may wait to be sent
    │   ├── QueueFullError         too many messages wait already; try again when some were answered
    │   └── TooManyWaitingError    too many sessions wait for an agent process; try again in a moment
    ├── AttachmentNotFoundError    no file with this id was uploaded to this session
    ├── AttachmentTooLargeError    the file is larger than the server allows; nothing of it is kept
    ├── StorageFullError           the disk is almost full: nothing new is begun until there is room again
    ├── RequestNotPendingError     the permission request was answered, expired or never was
    ├── SessionElsewhereError      another server works on the session; try again there, or here in a moment
    ├── AppNotFoundError           the tool call has no app, or the app no such tool or resource
    ├── AppCallDeniedError         the policy denies what an app wants to call
    ├── ConsentNeededError         a person has to agree to what an app wants to call
    ├── NothingToForkError         the session has no answered turn to begin a fork from
    ├── NothingToRewindError       there is no message with that number to go back to
    └── ShuttingDownError          the server is stopping; try again in a moment

    AgentProcessError
    ├── AgentStartError            the process did not start or did not connect in time
    │   └── SandboxUnavailableError  it could not be walled in; it is not started without its walls
    └── AgentCrashedError          the process ended without being asked to
"""


class SessionError(Exception):
    """Base of what a caller of the session manager may have to tell its user."""


class SessionNotFoundError(SessionError):
    """No session with this id, or none this user may know of."""


class MessageRefusedError(SessionError):
    """A message was not accepted; nothing of it is on the tape."""


class MessageTooLongError(MessageRefusedError):
    """The message is longer than the server allows."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"the message has {length} characters; at most {limit} are allowed")
        self.length = length
        self.limit = limit


class EmptyMessageError(MessageRefusedError):
    """The message holds nothing but white space."""

    def __init__(self) -> None:
        super().__init__("the message is empty")


class TooManyAttachmentsError(MessageRefusedError):
    """A message carries more files than allowed, or more were uploaded to a session without being sent."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(f"{count} files are too many; at most {limit} are allowed")
        self.count = count
        self.limit = limit


class QueueFullError(MessageRefusedError):
    """Too many messages of this session wait for their turn."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} messages of this session are waiting already")
        self.limit = limit


class TooManyWaitingError(MessageRefusedError):
    """All agent processes are at work and too many sessions wait for one."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"all agents are at work and {waiting} sessions are waiting for one; try again in a moment")
        self.waiting = waiting


class AttachmentNotFoundError(SessionError):
    """No file with this id was uploaded to this session."""

    def __init__(self) -> None:
        super().__init__("no such file was uploaded to this session")


class AttachmentTooLargeError(SessionError):
    """The file is larger than the server allows; nothing of it is kept."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the file is larger than {limit} bytes")
        self.limit = limit


class StorageFullError(SessionError):
    """The server's disk is almost full. Nothing new is begun until there is room again."""

    def __init__(self) -> None:
        super().__init__("the server's storage is almost full; try again later")


class RequestNotPendingError(SessionError):
    """The permission request was answered, has expired, or never was."""

    def __init__(self, request_id: str) -> None:
        super().__init__("this permission request is not pending any more")
        self.request_id = request_id


class SessionElsewhereError(SessionError):
    """Another server works on the session. It can be read here, and changed there.

    ``retry_after_seconds`` is when this server could take it over if that one does not answer any more.
    """

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("another server works on this session; try again in a moment")
        self.retry_after_seconds = retry_after_seconds


class AppNotFoundError(SessionError):
    """There is no such tool call with an app now, or its plugin has no such tool or resource for apps."""


class AppCallDeniedError(SessionError):
    """The policy denies what an app wants to call; the message names the rule."""


class ConsentNeededError(SessionError):
    """Somebody has to agree to what an app wants to call; the message says why, where a rule asks."""


class NothingToForkError(SessionError):
    """The session has no answered turn at or before the place to fork from."""

    def __init__(self) -> None:
        super().__init__("there is no answered message to fork from")


class NothingToRewindError(SessionError):
    """No message that still stands has this number."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"there is no message with the number {seq} to go back to")
        self.seq = seq


class ShuttingDownError(SessionError):
    """The server is stopping and takes no new messages."""

    def __init__(self) -> None:
        super().__init__("the server is restarting")


class AgentProcessError(Exception):
    """Base of what goes wrong with an agent process; its conversation deals with it."""


class AgentStartError(AgentProcessError):
    """The process did not start or did not connect in time."""


class SandboxUnavailableError(AgentStartError):
    """The process could not be walled in as the server is set to, and so was not started."""


class AgentCrashedError(AgentProcessError):
    """The process ended without being asked to."""
