"""Archives: what comes in is what went out, and none of the known tricks gets a file past the folder.

Real: zip archives, the evil ones built byte by byte with the standard library, and the file system they aim at.
"""

import contextlib
import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.plugins import SKILL, manifest, write_files, write_plugin, zipped

from claude_sdk_pattern.plugins.archives import ArchiveLimits, pack_folder, unpack_archive
from claude_sdk_pattern.plugins.errors import ArchiveTooLargeError, UploadRefusedError
from claude_sdk_pattern.plugins.folders import folder_digest

_SMALL = ArchiveLimits(max_files=5, max_bytes=4_000_000, max_ratio=100)


def special(name: str, mode: int, content: bytes = b"x") -> bytes:
    """Return an archive with one entry of a kind that the file system knows."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("plugin.json", "{}")
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content)
    return packed.getvalue()


def renamed(before: bytes, after: bytes) -> bytes:
    """Return an archive in which a name was replaced by one of the same length that no library would write."""
    assert len(before) == len(after)
    archive = zipped({"plugin.json": "{}", before.decode(): "x"})
    return archive.replace(before, after)


def flagged(bit: int) -> bytes:
    """Return an archive whose entries have a flag set."""
    archive = bytearray(zipped({"plugin.json": "{}"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = archive.index(signature) + offset
        flags = struct.unpack_from("<H", archive, place)[0]
        struct.pack_into("<H", archive, place, flags | bit)
    return bytes(archive)


def lying_about_size() -> bytes:
    """Return an archive that says its file is one byte long, and holds 8 MB."""
    archive = bytearray(zipped({"a.txt": b"\0" * 8_000_000}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", archive, archive.index(signature) + offset, 1)
    return bytes(archive)


EVIL: dict[str, Callable[[], bytes]] = {
    "absolute": lambda: zipped({"/tmp/evil": "x"}),  # noqa: S108 - the point
    "parent": lambda: zipped({"../evil": "x"}),
    "parent-inside": lambda: zipped({"a/../../evil": "x"}),
    "only-dots": lambda: zipped({"..": "x"}),
    "backslash": lambda: zipped({"..\\evil": "x"}),
    "drive": lambda: zipped({"C:/evil": "x"}),
    "nul": lambda: renamed(b"goodXname.txt", b"good\0name.txt"),
    "newline": lambda: zipped({"a\nb": "x"}),
    "right-to-left": lambda: zipped({"a\u202etxt.exe": "x"}),
    "unknown-encoding": lambda: renamed(b"aaaa.txt", b"a\xff\xfea.txt"),
    "long-name": lambda: zipped({"a" * 250: "x"}),
    "long-path": lambda: zipped({"/".join(["abcdefgh"] * 120): "x"}),
    "twice": lambda: zipped({"a.txt": "1", "./a.txt": "2"}),
    "twice-by-case": lambda: zipped({"Tools.py": "1", "tools.py": "2"}),
    "twice-by-form": lambda: zipped({"e\u0301.py": "1", "\u00e9.py": "2"}),
    "file-and-folder": lambda: zipped({"a": "1", "a/b": "2"}),
    "file-and-empty-folder": lambda: zipped({"b/": "", "b": "1", "c": ""}),
    "link": lambda: special("link", stat.S_IFLNK | 0o777, b"/etc/passwd"),
    "link-inside": lambda: special("link", stat.S_IFLNK | 0o777, b"plugin.json"),
    "pipe": lambda: special("pipe", stat.S_IFIFO | 0o644),
    "device": lambda: special("null", stat.S_IFCHR | 0o666),
    "socket": lambda: special("socket", stat.S_IFSOCK | 0o666),
    "encrypted": lambda: flagged(0x1),
    "many": lambda: zipped({f"{number}.txt": "" for number in range(6)}),
    "large": lambda: zipped({"a.bin": bytes(range(256)) * 20_000}),
    "bomb": lambda: zipped({"a.txt": b"\0" * 3_000_000}),
    "lying": lying_about_size,
    "empty": lambda: zipped({}),
    "no-zip": lambda: b"this is no archive",
    "cut-off": lambda: zipped({"a.txt": "x" * 1000})[:-30],
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("case", EVIL)
def test_evil_archive_is_refused_and_writes_nothing_outside(case: str, tmp_path: Path) -> None:
    target = tmp_path / "inner" / "folder"
    with pytest.raises(UploadRefusedError):
        unpack_archive(EVIL[case](), target, _SMALL)
    assert [path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "inner")] == []
    assert all(path.is_relative_to(target) for path in (tmp_path / "inner").iterdir())


@pytest.mark.parametrize("case", ["many", "large", "bomb"])
def test_too_much_is_told_from_other_faults(case: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveTooLargeError):
        unpack_archive(EVIL[case](), tmp_path / "x", _SMALL)


def test_nothing_is_unpacked_over_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        unpack_archive(zipped({"a": "1"}), tmp_path)


def test_folder_comes_back_as_it_was_packed(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path)
    write_files(folder, {"bin/run": "#!/bin/sh\n", "leer/ä ö.txt": "\u2713", "__pycache__/x.pyc": "no part of it"})
    (folder / "bin" / "run").chmod(0o755)
    (folder / "alias.py").symlink_to("tools.py")
    archive = pack_folder(folder)
    assert archive == pack_folder(folder)
    unpack_archive(archive, tmp_path / "again", ArchiveLimits(may_link=True))
    assert folder_digest(tmp_path / "again") == folder_digest(folder)


def test_folder_around_everything_is_left_out(tmp_path: Path) -> None:
    archive = zipped(
        {"weather-1.0/plugin.json": "{}", "weather-1.0/a/b.py": "", "__MACOSX/x": "", "weather-1.0/.git/x": ""}
    )
    unpack_archive(archive, tmp_path / "x")
    assert sorted(str(path.relative_to(tmp_path / "x")) for path in (tmp_path / "x").rglob("*")) == [
        "a",
        "a/b.py",
        "plugin.json",
    ]
    unpack_archive(zipped({"weather/plugin.json": "{}", "empty/": ""}), tmp_path / "z")
    assert (tmp_path / "z" / "weather" / "plugin.json").is_file()
    unpack_archive(zipped({"skills/a/SKILL.md": SKILL}), tmp_path / "y")
    assert (tmp_path / "y" / "skills" / "a" / "SKILL.md").is_file()


@given(cut=st.integers(0, 600), with_byte=st.integers(0, 255))
def test_archive_with_any_byte_changed_is_unpacked_inside_or_refused(
    cut: int, with_byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    archive = bytearray(zipped({"plugin.json": str(manifest()), "a/b.py": "x = 1\n"}))
    archive[cut % len(archive)] = with_byte
    parent = tmp_path_factory.mktemp("byte")
    with contextlib.suppress(UploadRefusedError):
        unpack_archive(bytes(archive), parent / "folder")
    assert [path.name for path in parent.iterdir()] in ([], ["folder"])
