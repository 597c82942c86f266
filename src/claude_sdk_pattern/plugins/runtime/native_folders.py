"""The folders that Claude Code is given of plugins: copies in its format, together in one folder for each set.

Together, because an agent's walls take 1.5 ms for each folder that is mounted, and bubblewrap has no room for more than
some 200 of them. Each is called like its plugin: scripts of plugins look for their modules by that name.
"""

import hashlib
import json
import shutil
import threading
from collections import Counter
from pathlib import Path
from typing import Final
from uuid import uuid4

from claude_sdk_pattern.plugins.native import copy_linked, is_native, write_native_copy
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.plugin_set import PluginSet

_KEPT_UNUSED: Final = 8
"""How many sets that no agent uses are kept: those of operators who try this and that, and come back."""


class NativeFolders:
    """Makes these folders, once each. Files are linked and not copied where the file system allows it.

    Its methods may be called from several threads.

    Args:
        made: where they are. What an earlier server left of sets there is removed.
    """

    def __init__(self, made: Path) -> None:
        self._made = made
        self._sets = made / "sets"
        self._lock = threading.Lock()
        self._users: Counter[Path] = Counter()
        self._known: list[Path] = []
        self._is_cleared = False

    def place(self, plugins: PluginSet) -> Path:
        """Return where the folders of a set lie, each under the name of its plugin, whether or not they are made."""
        parts = [(plugin.name, plugin.package.digest) for plugin in plugins if needs_folder(plugin.package)]
        return self._sets / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def single(self, package: PluginPackage) -> Path | None:
        """Return the folder of one plugin by itself, None if it needs none.

        Raises:
            OSError: a copy cannot be made.
        """
        if not needs_folder(package):
            return None
        if is_native(package):
            return package.root
        target = self._made / package.digest[:16] / package.name
        if not target.is_dir():
            # Aside and then moved: another that makes the same at the same time, or a crash, leaves nothing half.
            draft = self._draft()
            try:
                write_native_copy(package, draft)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.is_dir():
                    draft.rename(target)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return target

    def use(self, plugins: PluginSet) -> Path:
        """Return the folder with those of a set, made if need be. It stays until :meth:`leave` was called as often.

        Raises:
            OSError: it cannot be made.
        """
        place = self.place(plugins)
        with self._lock:
            if place not in self._known:
                self._make(place, plugins)
            self._known.remove(place)
            self._known.append(place)
            self._users[place] += 1
        return place

    def leave(self, place: Path) -> None:
        """Say that an agent process that used a set has ended."""
        with self._lock:
            self._users[place] -= 1

    def prepare(self, plugins: PluginSet) -> None:
        """Make the folder of a set, so that :meth:`use` takes no time.

        Raises:
            OSError: it cannot be made.
        """
        self.leave(self.use(plugins))

    def _make(self, place: Path, plugins: PluginSet) -> None:
        if not self._is_cleared:
            shutil.rmtree(self._sets, ignore_errors=True)
            self._is_cleared = True
        draft = self._draft()
        try:
            draft.mkdir(parents=True)
            # Whatever the server's umask: agents are another user.
            draft.chmod(0o755)
            for plugin in plugins:
                if (folder := self.single(plugin.package)) is not None:
                    copy_linked(folder, draft / plugin.name)
            self._sets.mkdir(parents=True, exist_ok=True)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        self._known.append(place)
        unused = [known for known in self._known if not self._users[known] and known != place]
        for old in unused[:-_KEPT_UNUSED]:
            self._known.remove(old)
            shutil.rmtree(old, ignore_errors=True)

    def _draft(self) -> Path:
        return self._made / f".{uuid4()}"


def needs_folder(package: PluginPackage) -> bool:
    """Whether Claude Code is given a folder of a plugin."""
    return package.format != "platform" or bool(package.inventory.skills or package.inventory.folders)
