"""Whether a client can go on from the last event it has seen. Pure: the caller reads ``last_seq`` from the log."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """Where a reader starts.

    ``after`` is what to pass to :meth:`EventHub.subscribe`. With ``is_gap`` the client must drop what it has and
    build its view anew from event ``from_seq`` on, the first one it will get.
    """

    after: int
    is_gap: bool

    @property
    def from_seq(self) -> int:
        """Number that the ``hello`` frame names after a gap."""
        return self.after + 1


def resume_point(after: int, last_seq: int) -> ResumePoint:
    """Decide how a client that has seen everything up to ``after`` goes on.

    The tape keeps every event but superseded deltas, so nothing can be too old. A client ahead of the tape has seen
    a different one (the database was restored from a backup): it starts over. Read ``last_seq`` before subscribing;
    what is appended in between is delivered.
    """
    if 0 <= after <= last_seq:
        return ResumePoint(after=after, is_gap=False)
    return ResumePoint(after=0, is_gap=True)
