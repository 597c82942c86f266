"""A program in front of ``npm`` that spares each start of an agent a start of Node."""

import shutil
from pathlib import Path

from claude_sdk_pattern.isolation.launcher import SEARCH_PATH

# With its sandbox on, Claude Code asks this before it says that it is there, only to look for a helper that it
# carries itself; without npm it does without. It asks from / and by way of a socket, as no command of an agent does.
_SCRIPT = """\
#!/bin/sh
[ "$*" = "root -g" ] && [ "$PWD" = / ] && [ -S /dev/fd/0 ] && exit 1
exec {npm} "$@"
"""


def write_quick_npm(folder: Path) -> Path | None:
    """Write the program into ``folder`` and return that, or None where agents have no npm."""
    npm = shutil.which("npm", path=SEARCH_PATH)
    if npm is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "npm"
    program.write_text(_SCRIPT.format(npm=npm))
    for path in (folder, program):
        path.chmod(0o755)
    return folder
