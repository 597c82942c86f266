"""The commands as an operator runs them: real processes, a real SQLite file, a real terminal for the prompt.

One run takes a second of imports, so most tests run the same code in this process.
"""

import asyncio
import importlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.accounts import SECRET_KEY
from typer.testing import CliRunner, Result

from claude_sdk_pattern.accounts.accounts import Accounts, TokenPair
from claude_sdk_pattern.accounts.audit import AuditLog
from claude_sdk_pattern.accounts.errors import WrongCredentialsError
from claude_sdk_pattern.accounts.logins import Origin
from claude_sdk_pattern.accounts.users import Role
from claude_sdk_pattern.cli import app
from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.plugins.secret_store import SecretStore
from claude_sdk_pattern.serving import announce_setup
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


def test_a_link_gives_a_password_and_keys_rotate(migrated: str) -> None:
    succeed("user", "add", "ada", "--role", "admin", "--link")
    link = succeed("user", "reset-password", "ada").splitlines()[-1]
    path, _, token = link.partition("#")
    assert path == "/choose-password"

    async def choose() -> None:
        async with Database(migrated) as database:
            accounts = Accounts(database, secret_key=SECRET_KEY)
            await accounts.login_with_link(token, PASSWORD, Origin(address="192.0.2.1", client="a browser"))

    asyncio.run(choose())
    assert "192.0.2.1" in succeed("user", "sign-ins", "ada")
    succeed("user", "sign-out", "ada")
    assert succeed("user", "sign-ins", "ada") == ""
    before = succeed("keys", "list").splitlines()
    succeed("keys", "rotate")
    after = succeed("keys", "list").splitlines()
    assert (len(before), len(after)) == (1, 2)
    assert "taken until" in after[1]
    succeed("keys", "rotate", "--at-once")
    assert len(succeed("keys", "list").splitlines()) == 1
    assert fail("user", "disable", "ada").startswith("error: This is the last administrator")
    succeed("user", "link", "ada", "--subject", "s", "--issuer", "https://login.example")
    succeed("user", "add", "bob", "--link")
    succeed("user", "delete", "bob")
    assert "bob" not in succeed("user", "list")


def test_a_first_start_prints_a_link_until_there_is_a_user(
    migrated: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none that works")
    settings = Settings.model_validate({"secret_key": SECRET_KEY, "public_url": "https://chat.example/"})
    asyncio.run(announce_setup(settings))
    assert "https://chat.example/setup#csp_ln_" in capsys.readouterr().out
    succeed("user", "add", "ada", "--password-stdin", stdin=PASSWORD)
    asyncio.run(announce_setup(settings))
    assert capsys.readouterr().out == ""


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


def record(url: str, count: int) -> None:
    async def record_some() -> None:
        async with Database(url) as database, AuditLog(database) as audit:
            for number in range(count):
                await audit.record("auth.login", actor=f"user {number}")

    asyncio.run(record_some())


def test_the_audit_log_is_verified_and_exported(migrated: str, tmp_path: Path) -> None:
    record(migrated, 3)
    anchor = succeed("audit", "verify").split()[-1]
    exported = succeed("audit", "export")
    assert exported.count("\n") == 5
    file = tmp_path / "export.ndjson"
    file.write_text(exported)
    assert succeed("audit", "verify", "--anchor", anchor).startswith("4 entries")
    assert succeed("audit", "verify", "--file", str(file), "--anchor", anchor).startswith("4 entries")


def test_an_audit_log_that_was_changed_fails_the_command(migrated: str, tmp_path: Path) -> None:
    record(migrated, 3)
    lines = succeed("audit", "export").splitlines(keepends=True)
    file = tmp_path / "export.ndjson"
    for changed, said in (
        ([lines[0].replace("user 0", "user 9"), *lines[1:]], "entry 1 was altered"),
        ([lines[0], *lines[2:]], "entry 2 is missing"),
        ([*lines[:2], lines[-1]], "entries 3 to 4 are missing"),
        (lines[:2], "breaks off"),
        (["nonsense\n"], "error:"),
    ):
        file.write_text("".join(changed))
        assert said in fail("audit", "verify", "--file", str(file))
    assert "entries 5 to 9 are missing" in fail("audit", "verify", "--anchor", "9:" + "0" * 64)
    assert "SEQ:HASH" in fail("audit", "verify", "--anchor", "nine")


def test_an_audit_log_without_a_database_is_not_made(tmp_path: Path) -> None:
    assert "run `claude-sdk-pattern migrate`" in fail("audit", "verify")
    assert list(tmp_path.iterdir()) == []


# --- plugins ----------------------------------------------------------------------------------------------------


@pytest.fixture
def plugin_settings(migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands need that manage plugins."""
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_SECRET_KEY", SECRET_KEY)


@pytest.mark.cli
@pytest.mark.parametrize("kind", ["tool", "mcp", "skill", "endpoint"])
def test_new_plugin_of_each_type_passes_every_check(kind: str) -> None:
    succeed("plugin", "new", f"my-{kind}", "--type", kind)
    checked = run("plugin", "check", f"plugins/my-{kind}")
    assert checked.exit_code == 0, checked.output
    assert checked.stdout.startswith(f"my-{kind} 0.1.0 (platform): valid")
    assert checked.stderr == ""
    assert "is there already" in fail("plugin", "new", f"my-{kind}")


def test_code_of_new_plugins_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("tool", "endpoint"):
        succeed("plugin", "new", f"new-{kind}", "--type", kind)
        monkeypatch.setattr(sys, "path", [str(tmp_path / "plugins" / f"new-{kind}"), *sys.path])
    assert importlib.import_module("new_tool_tools").count_words.name == "count_words"
    routes = importlib.import_module("new_endpoint_routes").router.routes
    assert [route.path for route in routes] == ["/count"]


def test_plugin_that_is_not_to_be_made_says_why() -> None:
    assert "lower-case letters" in fail("plugin", "new", "My Plugin")
    assert "tool, mcp, skill, endpoint" in fail("plugin", "new", "x", "--type", "theme")
    assert list(Path.cwd().iterdir()) == []


def test_broken_plugin_is_refused_line_by_line(tmp_path: Path) -> None:
    succeed("plugin", "new", "weather")
    manifest = tmp_path / "plugins" / "weather" / "plugin.json"
    manifest.write_text(manifest.read_text().replace('"0.1.0"', '"one"').replace("capabilities", "capabilites"))
    said = fail("plugin", "check", "plugins/weather")
    assert "error: plugin.json: version: must be a version of three numbers" in said
    assert "error: plugin.json: capabilites: is no field here (did you mean `capabilities`?" in said


@pytest.mark.usefixtures("plugin_settings")
def test_packed_plugin_is_installed_activated_and_removed() -> None:
    succeed("plugin", "new", "weather")
    first = succeed("plugin", "pack", "plugins/weather")
    assert first == succeed("plugin", "pack", "plugins/weather")
    assert "installed weather 0.1.0" in succeed("plugin", "install", "weather-0.1.0.zip")
    assert "weather  registered" in succeed("plugin", "list")
    assert "is to be active" in succeed("plugin", "activate", "weather")
    assert "weather  active" in succeed("plugin", "list")
    assert "Deactivate it first" in fail("plugin", "remove", "weather")
    succeed("plugin", "deactivate", "weather")
    succeed("plugin", "remove", "weather")
    assert succeed("plugin", "list") == ""
    assert "There is no plugin weather" in fail("plugin", "activate", "weather")


@pytest.mark.usefixtures("plugin_settings")
def test_secrets_are_encrypted_anew_with_todays_key(migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def store_and_read(write: str | None, key: str) -> str | None:
        async with Database(migrated) as database:
            store = SecretStore(database, secret_key=key)
            if write is not None:
                await store.store("weather", {"API_KEY": write})
            return await store.reveal("weather", "API_KEY")

    asyncio.run(store_and_read("the secret", SECRET_KEY))
    fresh = "another-secret-key-" + "1" * 32
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_SECRET_KEY", fresh)
    assert "cannot be decrypted" in fail("plugin", "secrets-rotate")
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_PREVIOUS_SECRET_KEY", SECRET_KEY)
    assert "encrypted 1 secrets anew" in succeed("plugin", "secrets-rotate")
    assert asyncio.run(store_and_read(None, fresh)) == "the secret"
