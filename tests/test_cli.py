"""The commands as an operator runs them: real processes, a real SQLite file, a real terminal for the prompt.

One run takes a second of imports, so most tests run the same code in this process.
"""

import asyncio
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.accounts import SECRET_KEY
from typer.testing import CliRunner, Result

from claude_sdk_pattern.accounts.accounts import Accounts, TokenPair
from claude_sdk_pattern.accounts.errors import WrongCredentialsError
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.cli import app
from claude_sdk_pattern.storage.data_folder import locked_data_folder
from claude_sdk_pattern.storage.database import Database

PASSWORD = "correct horse battery"
COMMAND = (sys.executable, "-c", "from claude_sdk_pattern.cli import app; app()")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without a single setting, in an empty folder."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE_SDK_PATTERN_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def migrated(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A migrated database that the commands use; its URL."""
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_DB_URL", sqlite_url)
    return sqlite_url


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def succeed(*arguments: str, stdin: str | None = None) -> str:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*arguments: str, stdin: str | None = None, code: int = 1) -> str:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


def sign_in(url: str, username: str, password: str) -> TokenPair:
    async def sign_in_once() -> TokenPair:
        async with Database(url) as database:
            return await Accounts(database, secret_key=SECRET_KEY).login(username, password, "here")

    return asyncio.run(sign_in_once())


def test_without_any_setting_an_operator_can_migrate_and_add_a_user(tmp_path: Path) -> None:
    for arguments, stdin in (
        (["migrate"], ""),
        (["user", "add", "Ada", "--role", "admin", "--password-stdin"], PASSWORD),
    ):
        done = subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    url = f"sqlite+aiosqlite:///{tmp_path / 'data' / 'claude_sdk_pattern.db'}"
    assert sign_in(url, "ada", PASSWORD).user.role is Role.ADMIN


def test_the_password_is_asked_for_twice_and_not_shown(migrated: str) -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "user", "add", "ada"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    try:
        for prompt in (b"Password: ", b"Password, again: "):
            while not shown.endswith(prompt):
                shown += os.read(ours, 1024)
            os.write(ours, PASSWORD.encode() + b"\n")
        while b"added ada" not in shown:
            shown += os.read(ours, 1024)
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert PASSWORD.encode() not in shown
    assert sign_in(migrated, "ada", PASSWORD).user.role is Role.USER


def test_a_user_is_listed_changed_disabled_and_enabled(migrated: str) -> None:
    succeed("user", "add", "ada", "--password-stdin", stdin=PASSWORD + "\n")
    succeed("user", "set-role", "ada", "operator")
    assert succeed("user", "list").split()[:2] == ["ada", "operator"]
    succeed("user", "set-password", "ada", "--password-stdin", stdin="another password\r\n")
    assert sign_in(migrated, "ada", "another password")
    succeed("user", "disable", "ADA")
    assert "disabled since" in succeed("user", "list")
    with pytest.raises(WrongCredentialsError):
        sign_in(migrated, "ada", "another password")
    succeed("user", "enable", "ada")
    assert sign_in(migrated, "ada", "another password")


@pytest.mark.usefixtures("migrated")
def test_what_cannot_be_done_is_said_in_one_line() -> None:
    succeed("user", "add", "ada", "--password-stdin", stdin=PASSWORD)
    assert fail("user", "add", "ada", "--password-stdin", stdin=PASSWORD) == (
        "error: there is a user named ada already\n"
    )
    assert fail("user", "add", "a b", "--password-stdin", stdin=PASSWORD).startswith("error: a username begins")
    assert fail("user", "add", "bob", "--password-stdin", stdin="short") == (
        "error: a password has at least 8 characters\n"
    )
    assert fail("user", "disable", "bob") == "error: there is no user bob\n"
    assert "--password-stdin" in fail("user", "add", "bob")


@pytest.mark.usefixtures("migrated")
def test_wrong_usage_has_an_exit_code_of_its_own() -> None:
    assert "king" in fail("user", "set-role", "ada", "king", code=2)
    fail("user", "add", code=2)
    fail("no-such-command", code=2)


def test_a_database_that_was_never_migrated_is_said_to_be_so_and_not_made(tmp_path: Path) -> None:
    assert "run `claude-sdk-pattern migrate`" in fail("user", "list")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://user:planted-secret@db/name", "mysql is not supported"),
        ("planted-secret", "could not parse"),
        ("sqlite://", "must be a file"),
        ("postgresql://user:planted-secret@127.0.0.1:1/name", "the database cannot be used"),
        ("sqlite+aiosqlite:////proc/no/such/folder/x.db", "run `claude-sdk-pattern migrate`"),
    ],
)
def test_a_database_that_cannot_be_used_is_explained_without_its_password(
    url: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_DB_URL", url)
    message = fail("user", "list")
    assert said in message.replace("Could", "could")
    assert message.count("\n") == 1
    assert "planted-secret" not in message


@pytest.mark.usefixtures("migrated")
def test_migrating_twice_changes_nothing() -> None:
    assert succeed("migrate") == succeed("migrate")


def test_a_second_server_on_the_data_folder_is_refused_while_other_commands_work(
    tmp_path: Path, migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none that works")
    with locked_data_folder(tmp_path / "data"):
        for command in ("serve", "demo"):
            message = fail(command)
            assert message.startswith("error: the data folder data is in use by another server (process")
            assert message.count("\n") == 1
        succeed("migrate")
        succeed("user", "add", "ada", "--password-stdin", stdin=PASSWORD)
        assert "ada" in succeed("user", "list")
