"""The files of a plugin that browsers get: those in its ``ui`` folder, of the kinds that a component is made of."""

import base64
import functools
import hashlib
from pathlib import Path, PurePosixPath
from typing import Final

from claude_sdk_pattern.plugins.manifest import UI_FOLDER
from claude_sdk_pattern.plugins.package import PluginPackage

MEDIA_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""What a browser is told of a file, by the end of its name. Files with other ends are not served."""


def find_ui_file(package: PluginPackage, path: str) -> Path | None:
    """Return a file by its path in the plugin's folder; ``None`` if browsers do not get it or it is not there."""
    parts = PurePosixPath(path).parts
    if parts[:1] != (UI_FOLDER,) or ".." in parts or "\x00" in path or PurePosixPath(path).suffix not in MEDIA_TYPES:
        return None
    try:
        file = (package.root / path).resolve(strict=True)
    except OSError:
        return None
    # A link within the plugin's folder may lead to what is not for browsers, such as its Python.
    return file if file.is_relative_to((package.root / UI_FOLDER).resolve()) and file.is_file() else None


# Files of a package never change: its folder is named by their digest.
@functools.lru_cache(maxsize=4096)
def integrity_of(file: Path) -> str:
    """Return the hash of a file as browsers check it (Subresource Integrity)."""
    return f"sha384-{base64.b64encode(hashlib.sha384(file.read_bytes()).digest()).decode()}"
