"""Which files of a plugin's folder browsers get. Real files and links."""

from pathlib import Path

import pytest
from tests.support.plugins import write_files

from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.ui_files import find_ui_file


@pytest.fixture
def package(tmp_path: Path) -> PluginPackage:
    """A folder with files for browsers, files for nobody, and links between them."""
    root = write_files(
        tmp_path / "x",
        {
            "ui/part.js": "1",
            "ui/deep/a.png": "2",
            "ui/tools.py": "3",
            "tools.py": "4",
            "uix/a.js": "5",
            "keys.json": "6",
        },
    )
    (root / "ui" / "alias.js").symlink_to("part.js")
    (root / "ui" / "keys.json").symlink_to("../keys.json")
    (root / "ui" / "code.js").symlink_to("../tools.py")
    (root / "ui" / "folder.js").mkdir()
    return PluginPackage(name="x", version="1.0.0", format="platform", root=root, digest="0" * 64)


@pytest.mark.parametrize("path", ["ui/part.js", "ui/deep/a.png", "ui/alias.js"])
def test_files_of_the_ui_folder_are_found(package: PluginPackage, path: str) -> None:
    found = find_ui_file(package, path)
    assert found is not None
    assert found.read_bytes() == (package.root / path).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "ui",
        "ui/tools.py",
        "ui/keys.json",
        "ui/code.js",
        "ui/folder.js",
        "ui/gone.js",
        "ui/part.js/a.js",
        "uix/a.js",
        "tools.py",
        "ui/../keys.json",
        "../x/ui/part.js",
        "/ui/part.js",
        "./../ui/part.js",
        "ui/part.js\x00.css",
        f"ui/{'a' * 300}.js",
    ],
)
def test_nothing_else_is(package: PluginPackage, path: str) -> None:
    assert find_ui_file(package, path) is None
