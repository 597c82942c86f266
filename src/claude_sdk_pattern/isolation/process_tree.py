"""Ending a process with all it has started."""

import contextlib

import psutil


def kill_tree(pid: int) -> None:
    """Send SIGKILL to a process and all its descendants, those in groups and sessions of their own included.

    A sandbox takes everything inside it along. Without one, or while one is still being built, nothing else does.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        # Looked up first: once the root is dead its children are somebody else's.
        descendants = root.children(recursive=True)
        for process in (root, *descendants):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
