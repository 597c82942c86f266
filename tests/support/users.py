"""Running a program as an ordinary user, from tests that run as root as well as from others."""

import os
import sys
from pathlib import Path

# The user nobody, which every distribution has.
NOBODY = 65534

CHECKOUT = Path(__file__).parents[2]

# Root's home is closed to others, and Python may live in there: what it needs is laid bare, in a mount namespace of
# its own. Every step becomes the next, so that the program has the process id that was started.
_PREPARE = """
set -eu
closed=$1; shared=$2; shift 2
if [ -n "$closed" ]; then
  mount --bind "$shared" /mnt
  mount -t tmpfs -o mode=755 tmpfs "$closed"
  mkdir -p "$shared"
  mount --bind /mnt "$shared"
  umount /mnt
fi
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all -- env HOME=/tmp "$@"
"""


def as_ordinary_user(*command: str) -> tuple[str, ...]:
    """Return what runs a command as a user without privileges: as it is, or from root as the user nobody."""
    if os.geteuid() != 0:
        return command
    closed = _closed_folder_above(Path(sys.base_prefix))
    shared = "" if closed is None else sys.base_prefix
    return ("unshare", "--mount", "sh", "-c", _PREPARE, "sh", str(closed or ""), shared, *command)


def give_to_ordinary_user(folder: Path) -> None:
    """Make a folder and all in it belong to the user of :func:`as_ordinary_user`."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def _closed_folder_above(path: Path) -> Path | None:
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)
