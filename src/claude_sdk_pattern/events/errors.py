"""What can go wrong with a tape.

::

    TapeError
    ├── DuplicateClientId   this message is on the tape already
    ├── UnknownSession      there is no such session, or it was deleted
    ├── TapeTakenOver       another server works on the session; this one may not write to its tape
    ├── TapeNotEmpty        a copy was asked for into a tape that has events
    ├── TapeOverloaded      too much waits for the database; say so to the client and try later
    ├── TapeUnavailable     the database did not answer
    ├── TapeClosed          the log is shut down
    └── SubscriberTooSlow   a reader stayed too far behind; it reconnects with its last ``seq``
"""


class TapeError(Exception):
    """Base of all errors of this room."""


class DuplicateClientId(TapeError):
    """A message with this ``client_id`` is on the tape already; ``seq`` and ``turn_id`` are those of the first."""

    def __init__(self, session_id: str, client_id: str, seq: int, turn_id: str | None) -> None:
        super().__init__(f"client_id {client_id!r} is event {seq} of session {session_id}")
        self.session_id = session_id
        self.client_id = client_id
        self.seq = seq
        self.turn_id = turn_id


class UnknownSession(TapeError):
    """The session an event was meant for does not exist (any more)."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id}")
        self.session_id = session_id


class TapeTakenOver(TapeError):
    """This server may not write to a tape (any more): another one works on the session. Nothing is kept."""

    def __init__(self, session_id: str) -> None:
        super().__init__("another server works on this session now")
        self.session_id = session_id


class TapeNotEmpty(TapeError):
    """The target of a copy has events already."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"the tape of session {session_id} is not empty")
        self.session_id = session_id


class TapeOverloaded(TapeError):
    """More events or bytes wait for the database than the log may hold. Nothing of the refused event is kept."""

    def __init__(self, pending_events: int, pending_bytes: int) -> None:
        super().__init__(f"{pending_events} events ({pending_bytes} bytes) wait for the database")
        self.pending_events = pending_events
        self.pending_bytes = pending_bytes


class TapeUnavailable(TapeError):
    """The database did not answer, or not within the retry time; ``__cause__`` is its last error.

    After a failed append the event is not on the tape and its number is free, unless the connection broke in the
    middle of a commit: then it may be, and later readers see it. Later calls are tried afresh.
    """


class TapeClosed(TapeError):
    """An append came after :meth:`EventLog.aclose` had begun."""


class SubscriberTooSlow(TapeError):
    """A subscriber stayed more than the allowed bytes behind for longer than the allowed time.

    ``last_seq`` is the last event it was given: reading goes on from there after a reconnect.
    """

    def __init__(self, session_id: str, last_seq: int) -> None:
        super().__init__(f"a subscriber of session {session_id} stopped keeping up after event {last_seq}")
        self.session_id = session_id
        self.last_seq = last_seq
