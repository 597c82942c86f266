"""The folders that Claude Code is given of plugins: their own, or copies in its format that are made once."""

import shutil
from pathlib import Path
from uuid import uuid4

from claude_sdk_pattern.plugins.native import is_native, write_native_copy
from claude_sdk_pattern.plugins.package import PluginPackage


def native_folder(package: PluginPackage, made: Path) -> Path | None:
    """Return the folder of a plugin that Claude Code is given, None if it needs none.

    Args:
        package: the plugin.
        made: where copies are; one that is there is used again.

    Raises:
        OSError: a copy cannot be made.
    """
    if is_native(package):
        return package.root
    if package.format == "platform" and not package.inventory.skills:
        return None
    target = made / package.digest[:16] / package.name
    if target.is_dir():
        return target
    # Aside and then moved: another that makes the same at the same time, or a crash, leaves nothing half.
    draft = made / f".{uuid4()}"
    try:
        write_native_copy(package, draft)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
