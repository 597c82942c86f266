"""What isolation there is, what bounds it, and how it is refused."""

import enum
from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


class Isolation(enum.StrEnum):
    """How far an agent process is kept apart from the rest of the machine."""

    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


class IsolationUnavailableError(Exception):
    """The isolation that was asked for cannot be had on this machine; the message says what to install or change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """What one agent, or one process of a plugin, may use. Each process of it has the limits on files, processor time
    and memory for itself.

    ``processes`` counts threads too, and holds in namespaces only: elsewhere the kernel counts all of a user's.
    ``tmp_bytes`` and ``shm_bytes`` are memory, and likewise only there; so is ``home_bytes``, None for no home at all.
    ``data_bytes`` is private memory that can be written to, None for as much as there is: what an engine reserves and
    does not touch is not counted.
    """

    processes: int
    open_files: int
    file_bytes: int
    cpu_seconds: int
    tmp_bytes: int
    shm_bytes: int
    home_bytes: int | None = None
    data_bytes: int | None = None
