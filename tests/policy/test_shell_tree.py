"""Scripts made to be hard to read: each is given back as unreadable, or read, in bounded time and without a crash."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_sdk_pattern.policy.shell import MAX_SCRIPT_LENGTH, Script, read_script

# Many times what one of them takes, and a fraction of what each took when nothing was bounded.
BOUND_SECONDS = 5.0

# What is repeated; with what closes it, if anything does.
OPENED = {
    "pipes": ("a|", ""),
    "shells in a pipe": ("sh|", ""),
    "and": ("a&&", ""),
    "and no end": ("a&& ", "&& b"),
    "expansions": ("${a:-", "}"),
    "substitutions": ("$(", ")"),
    "quoted substitutions": ('"$(', ')"'),
    "processes": ("<(", ")"),
    "brackets": ("(", ")"),
    "braces": ("{ ", "; }"),
    "backquotes": ("`a ", "`"),
    "array": ("a=(", ")"),
    "subscript": ("a[", "]"),
    "arithmetic": ("$((1+", "))"),
    "for": ("for((;;", ""),
    "case": ("case x in a) ", ""),
    "if": ("if a; then ", "fi;"),
    "functions": ("f(){ f|", "}"),
    "here-documents": ("cat <<E\n", ""),
    "here-documents in a line": ("<<E ", ""),
    "here-strings": ("a<<<", ""),
    "patterns": ("@(", ")"),
    "redirections": ("a>b;", ""),
    "wrappers": ("env ", ""),
    "finders": ("find -exec ", ""),
    "nul": ("\0", ""),
}


@pytest.mark.parametrize("length", [MAX_SCRIPT_LENGTH, 3000])
@pytest.mark.parametrize("name", list(OPENED))
def test_no_script_keeps_the_server_busy(name: str, length: int) -> None:
    opened, closed = OPENED[name]
    times = length // len(opened + closed) - 1
    for script in (opened * times + "a" + closed * times, opened * (length // len(opened))):
        begun = time.thread_time()
        assert isinstance(read_script(script), Script)
        assert time.thread_time() - begun < BOUND_SECONDS


def test_what_comes_after_a_script_that_took_too_long_is_read_as_ever() -> None:
    assert read_script("a|" * 9_000).problems
    assert [str(command) for command in read_script("ls -l; pwd").commands] == ["ls -l", "pwd"]


def test_a_script_of_real_size_is_read() -> None:
    lines = [f"mkdir -p build/{n} && cp 'src/ä {n}.py' build/{n}/ | tee -a log_{n}.txt" for n in range(80)]
    script = read_script("\n".join(lines))
    assert not script.problems
    assert len(script.commands) == 240
    # A file that is written with a command is the longest there is.
    text = "cat > notes.md <<'EOF'\n" + "Zeile für Zeile, ~~~ $(none) `of` it is run\n" * 400 + "EOF\nwc notes.md"
    assert [str(command) for command in read_script(text).commands] == ["cat", "wc notes.md"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo grüße", ["echo grüße"]),
        ("printf '%s' '日本語' | wc -c", ["printf %s 日本語", "wc -c"]),
        ('git commit -m "naïve $(sudo id) – done"', ["git commit -m naïve $(sudo id) – done", "sudo id", "id"]),
        ("cat 'Ünïcödé.txt' && rm -rf 'ä b'", ["cat Ünïcödé.txt", "rm -rf ä b"]),
        ("makeé ls; make ls", ["makeé ls", "make ls"]),
        ("bash -c 'echo 🎉; rm é'", ["bash -c echo 🎉; rm é", "echo 🎉", "rm é"]),
        ("é() { ls; }; é", ["ls", "é"]),
        ("echo $'é\\n'", ["echo é\n"]),
    ],
    ids=[
        "words", "quoted", "substitution", "files", "program", "nested", "function", "ansi"
    ],
)  # fmt: skip
def test_letters_of_all_languages_are_read(command: str, words: list[str]) -> None:
    script = read_script(command)
    assert not script.problems
    assert [str(found) for found in script.commands] == words


def test_a_name_ends_where_other_letters_begin() -> None:
    """The shell expands ``$KEY`` here, and not a variable of a longer name."""
    script = read_script("echo é $KEYé ${KEY}é")
    assert [reference.name for reference in script.references] == ["KEY", "KEY"]
    encoded = "echo é $KEYé ${KEY}é".encode()
    assert [encoded[found.start : found.end] for found in script.references] == [b"$KEY", b"${KEY}"]


@pytest.mark.parametrize(
    "command",
    [
        "cat <<É\nÈ\ncat <<'X'\nÉ\nsudo ls\nX\n",
        "cat <<'..'\né\ncat <<X\n..\nsudo ls\nX\n",
        "echo \ud800",
    ],
    ids=["mark", "stand-in", "half"],
)
def test_what_cannot_be_told_apart_is_not_taken_for_read(command: str) -> None:
    """In the first two a shell runs ``sudo``, and a reader that took all letters for one would not see it."""
    assert read_script(command).problems


def test_a_fork_bomb_of_any_name_is_one() -> None:
    assert read_script("爆() { 爆|爆& }; 爆").is_self_calling


@settings(max_examples=150, deadline=None)
@given(
    letters=st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5),
    place=st.sampled_from(
        ["{0}; {1}", "echo {0} && {1}", "echo '{0}' | {1}", 'x="{0}" {1}', "{1} {0}", "( {1} ) # {0}"]
    ),
)
def test_no_letters_hide_a_command(letters: str, place: str) -> None:
    found = read_script(place.format(letters, "sudo"))
    assert "sudo" in [command.program for command in found.commands]
