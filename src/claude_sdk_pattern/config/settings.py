"""Every setting of the server, read from the environment and an optional ``.env`` file.

Names are ``CLAUDE_SDK_PATTERN_<FIELD>``, except the two that belong to the model provider. Each description is the
documentation: ``docs/configuration.md`` and ``.env.example`` are checked against this class.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

ENV_PREFIX = "CLAUDE_SDK_PATTERN_"

# HMAC-SHA256 keys shorter than the hash weaken it; 32 characters is also what `openssl rand -hex 16` gives.
MIN_SECRET_KEY_LENGTH = 32


class StorageSettings(BaseSettings):
    """Where things are kept: all that the commands need which work on the database and start no server.

    Raises:
        pydantic.ValidationError: a value is wrong; :func:`explain` puts it in words.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_file=".env", env_ignore_empty=True, extra="ignore", validate_default=True
    )

    data_dir: Path = Field(
        default=Path("data"),
        description="Folder for everything outside the database: workspaces, agent configuration, the SQLite file.",
    )
    db_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL, `sqlite+aiosqlite:///path` or `postgresql+psycopg://user:password@host/name`. "
        "Unset: an SQLite file in the data folder.",
    )

    @property
    def database_url(self) -> str:
        """The database to use, with the SQLite default filled in."""
        return self.db_url or f"sqlite+aiosqlite:///{(self.data_dir / 'claude_sdk_pattern.db').absolute()}"


class Settings(StorageSettings):
    """The server's configuration; constructing it validates it.

    Raises:
        pydantic.ValidationError: a value is missing or wrong; :func:`explain` puts it in words.
    """

    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="API key for Claude. Only the model gateway holds it. Required unless in demo mode.",
    )
    anthropic_base_url: str = Field(
        default="https://api.anthropic.com",
        validation_alias=AliasChoices("ANTHROPIC_BASE_URL", "anthropic_base_url"),
        description="Address of the Messages API that the model gateway forwards to.",
    )
    secret_key: SecretStr = Field(
        description="Signs access tokens; at least 32 characters. Changing it signs everybody out.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    demo: bool = Field(
        default=False,
        description="Demo mode: scripted model, no API key, demo users. Refused on any address but loopback.",
    )
    demo_password: SecretStr | None = Field(
        default=None, description="Password of the demo users; unset, one is made up and printed at start."
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("http://localhost:5173",),
        description="Origins that may open the WebSocket and call the API from a browser, comma-separated. The "
        "server's own address is always allowed.",
    )
    access_token_ttl_seconds: int = Field(default=900, ge=10, description="Life of an access token, in seconds.")
    refresh_token_ttl_seconds: int = Field(default=604_800, ge=60, description="Life of a refresh token, in seconds.")
    ticket_ttl_seconds: int = Field(default=30, ge=1, description="Life of a one-use ticket, in seconds.")
    default_model: str = Field(default="claude-sonnet-4-5", description="Model of a session that names none.")
    max_turns: int = Field(default=20, ge=1, description="Agent steps allowed within one turn.")
    max_budget_usd: float | None = Field(
        default=None, gt=0, description="Most that one session may spend, in USD; unset, no limit."
    )
    max_sessions: int = Field(default=10, ge=1, description="Most live agent processes at once.")
    session_timeout: int = Field(
        default=1800, ge=1, description="Seconds of quiet after which a session gives up its agent process."
    )
    isolation: Literal["bubblewrap", "process"] | None = Field(
        default=None,
        description="How agent processes are kept apart: `bubblewrap` or `process`. Unset: bubblewrap where it works. "
        "Set to `bubblewrap`, the server refuses to start where it does not.",
    )
    prewarm_pool_size: int = Field(
        default=2, ge=0, description="Agent processes kept connected ahead of need; 0 turns the pool off."
    )
    max_message_length: int = Field(default=32_000, ge=1, description="Longest user message, in characters.")
    max_queued_messages: int = Field(
        default=20, ge=1, description="Messages that may wait in one session while a turn runs."
    )
    approval_timeout_seconds: float = Field(
        default=300.0, gt=0, description="Seconds a permission request waits for a person before it is denied."
    )
    connect_timeout_seconds: float = Field(
        default=30.0, gt=0, description="Seconds an agent process may take to start."
    )
    interrupt_timeout_seconds: float = Field(
        default=5.0, gt=0, description="Seconds an interrupted turn may take to end before its process is killed."
    )
    model_idle_timeout_seconds: float = Field(
        default=120.0, gt=0, description="Seconds the model may send nothing before a request is given up."
    )
    model_max_retries: int = Field(default=3, ge=0, description="Retries of a failed model request.")
    shutdown_grace_seconds: float = Field(
        default=30.0, ge=0, description="Seconds that running turns get to finish when the server stops."
    )
    hibernate_after_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Seconds of quiet after which a session that nobody watches gives up its agent process.",
    )
    max_session_duration_seconds: float = Field(
        default=14_400.0,
        gt=0,
        description="Seconds after which an agent process is ended and the session hibernates; its next message "
        "starts a fresh one.",
    )
    session_warning_seconds: float = Field(
        default=300.0,
        ge=0,
        description="Seconds before that at which the people in the session are warned.",
    )
    max_session_rss_mb: int = Field(
        default=4096,
        ge=1,
        description="Memory of an agent process and all its children, in MiB, from which on it is restarted "
        "between turns; at twice as much, at once.",
    )
    query_timeout_seconds: float = Field(
        default=600.0,
        gt=0,
        description="Seconds a turn may take before it is stopped.",
    )
    silence_timeout_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds without a word from an agent process in a turn after which it is asked whether it "
        "is alive.",
    )
    watchdog_interval_seconds: float = Field(
        default=2.0,
        gt=0,
        description="Seconds between two looks at the age and memory of all agent processes.",
    )
    max_waiting_sessions: int = Field(
        default=50,
        ge=0,
        description="Sessions that may wait for an agent process while all are at work; further messages are refused.",
    )
    max_concurrent_starts: int = Field(
        default=2,
        ge=1,
        description="Agent processes that may be starting at the same time.",
    )
    pool_max_age_seconds: float = Field(
        default=1800.0,
        gt=0,
        description="Seconds after which an unused process of the pool is replaced by a fresh one.",
    )
    pool_key_seconds: float = Field(
        default=600.0,
        ge=0,
        description="Seconds for which a process is also kept ready for sessions of another kind than the "
        "default, after one of them was started.",
    )
    max_crashes_in_a_row: int = Field(
        default=3,
        ge=1,
        description="Crashes without an answered turn in between after which an agent process is not brought "
        "back by itself.",
    )
    lease_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds after which another server may take over the sessions of one that no longer answers.",
    )
    min_free_disk_mb: int = Field(
        default=200,
        ge=0,
        description="Free space in the data folder, in MiB, below which no turn is begun.",
    )
    max_attachment_bytes: int = Field(default=20_971_520, ge=1, description="Largest attached file, in bytes.")
    max_attachments_per_message: int = Field(default=10, ge=0, description="Files that one message may carry.")
    max_tool_result_bytes: int = Field(
        default=65_536,
        ge=1024,
        description="Longest tool result that is sent to clients unasked, in bytes of JSON; of longer ones they "
        "get the beginning and may fetch the whole.",
    )
    model_first_byte_timeout_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds the model may take to begin an answer before the request is given up.",
    )
    model_max_retry_wait_seconds: float = Field(
        default=30.0,
        ge=0,
        description="Longest wait the model may ask for before a request is retried; a longer one ends the turn "
        "and says when to try again.",
    )
    breaker_failures: int = Field(
        default=5,
        ge=1,
        description="Failed model requests within the window after which requests are refused for a while.",
    )
    breaker_window_seconds: float = Field(default=60.0, gt=0, description="That window, in seconds.")
    breaker_open_seconds: float = Field(
        default=15.0,
        gt=0,
        description="Seconds for which requests are refused before one is let through to see whether the model "
        "answers again.",
    )
    model_prices_file: Path | None = Field(
        default=None,
        description="YAML file with what the model's tokens cost, in place of the packaged `prices.yaml`.",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(origin.strip().rstrip("/") for origin in value.split(",") if origin.strip())
        return value

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < MIN_SECRET_KEY_LENGTH:
            raise ValueError(
                f"must be at least {MIN_SECRET_KEY_LENGTH} characters; make one with `openssl rand -hex 32`"
            )
        return value

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        level = value.upper()
        if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
        return level

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.demo and self.host not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError(
                f"demo mode listens on loopback only, not on {self.host}: its users and model are public knowledge"
            )
        if not self.demo and self.anthropic_api_key is None:
            raise ValueError("ANTHROPIC_API_KEY is not set; use `claude-sdk-pattern demo` to try without a key")
        return self


def explain(error: ValidationError) -> str:
    """Return what is wrong with the configuration, a line for each fault, by the names of the variables.

    Values are not repeated: one of them may be a secret.
    """
    return "\n".join(_explained(fault["loc"], fault["type"], fault["msg"]) for fault in error.errors())


def _explained(location: tuple[int | str, ...], kind: str, message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not location:
        return message
    field = str(location[0])
    name = field if field.isupper() else f"{ENV_PREFIX}{field.upper()}"
    if kind == "missing":
        return f"{name} is not set"
    return f"{name}: {message[:1].lower()}{message[1:]}"
