"""Names of uploaded files. Pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sdk_pattern.sessions.file_names import numbered, safe_name


@pytest.mark.parametrize(
    ("given_name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("Größe 1,5 m².png", "Größe 1,5 m².png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\photo.jpg", "photo.jpg"),
        ("/", "file"),
        ("", "file"),
        ("..", "file"),
        (".env", "env"),
        ("a\nb\tc\x00d.txt", "a b c d.txt"),
        # Shown as "exe.gpj", which it is not.
        ("gpj.\u202eexe", "gpj. exe"),
        ("inv\u200bisible.txt", "inv isible.txt"),
        ("  spaced  out .txt. ", "spaced out.txt"),
        ("x" * 300 + ".tar", "x" * 96 + ".tar"),
        ("🦊" * 100 + ".txt", "🦊" * 49 + ".txt"),
        ("a." + "b" * 300, "a." + "b" * 98),
    ],
)
def test_a_name_keeps_what_is_harmless(given_name: str, safe: str) -> None:
    assert safe_name(given_name) == safe


@given(st.text())
def test_whatever_it_is_called_the_name_is_one_of_a_file_in_a_folder(given_name: str) -> None:
    name = safe_name(given_name)
    assert 0 < len(name) <= 100
    assert len(name.encode()) <= 200
    assert "/" not in name
    assert "\\" not in name
    assert name.isprintable()
    assert name not in (".", "..")
    assert safe_name(name) == name


def test_files_of_one_name_are_numbered_before_the_extension() -> None:
    assert [numbered("a.txt", number) for number in (1, 2, 10)] == ["a.txt", "a-2.txt", "a-10.txt"]
    assert numbered("Makefile", 2) == "Makefile-2"
