"""Settings read from a real environment."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from claude_sdk_pattern.config.settings import Settings, StorageSettings, explain

KEY = "k" * 32


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without a single setting, in an empty folder."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE_SDK_PATTERN_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def explained(**environment: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(ValidationError) as refused:
            Settings()  # pyright: ignore[reportCallIssue]
    return explain(refused.value)


def test_storage_alone_asks_for_nothing() -> None:
    assert StorageSettings().database_url.startswith("sqlite+aiosqlite:////")


def test_the_server_and_the_commands_use_the_same_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_SDK_PATTERN_SECRET_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    for name, value in (("DATA_DIR", "elsewhere"), ("DB_URL", "postgresql://db/name")):
        monkeypatch.setenv(f"CLAUDE_SDK_PATTERN_{name}", value)
        assert Settings().database_url == StorageSettings().database_url  # pyright: ignore[reportCallIssue]


def test_a_missing_variable_is_named() -> None:
    assert "CLAUDE_SDK_PATTERN_SECRET_KEY is not set" in explained(ANTHROPIC_API_KEY="sk-ant-test")
    assert explained(CLAUDE_SDK_PATTERN_SECRET_KEY=KEY).startswith("ANTHROPIC_API_KEY is not set")


def test_every_wrong_value_is_named_and_none_is_repeated() -> None:
    message = explained(
        CLAUDE_SDK_PATTERN_SECRET_KEY="planted-secret",
        CLAUDE_SDK_PATTERN_PORT="planted-secret",
        CLAUDE_SDK_PATTERN_LOG_LEVEL="planted-secret",
    )
    assert "planted-secret" not in message
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "CLAUDE_SDK_PATTERN_SECRET_KEY",
        "CLAUDE_SDK_PATTERN_PORT",
        "CLAUDE_SDK_PATTERN_LOG_LEVEL",
    ]


def test_demo_mode_is_refused_on_an_address_others_can_reach() -> None:
    message = explained(
        CLAUDE_SDK_PATTERN_SECRET_KEY=KEY, CLAUDE_SDK_PATTERN_DEMO="1", CLAUDE_SDK_PATTERN_HOST="192.0.2.1"
    )
    assert message.startswith("demo mode listens on loopback only")
