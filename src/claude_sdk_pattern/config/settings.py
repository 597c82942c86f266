"""Every setting of the server, read from the environment and an optional ``.env`` file.

Names are ``CLAUDE_SDK_PATTERN_<FIELD>``, except the two that belong to the model provider. Each description is the
documentation: ``docs/configuration.md`` and ``.env.example`` are checked against this class.
"""

import os
from ipaddress import ip_network
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


class SecretSettings(StorageSettings):
    """What is needed besides to read what is encrypted in the database."""

    secret_key: SecretStr = Field(
        description="Signs access tokens and encrypts the secrets of plugins; at least 32 characters. See "
        "`PREVIOUS_SECRET_KEY` for how to change it.",
    )
    previous_secret_key: SecretStr | None = Field(
        default=None,
        description="The secret key of before: access tokens it signed are still taken, and what it encrypted is "
        "still read. Set it while changing the secret key, run `claude-sdk-pattern plugin secrets-rotate`, and remove "
        "it when the life of an access token is over.",
    )

    @field_validator("secret_key", "previous_secret_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < MIN_SECRET_KEY_LENGTH:
            raise ValueError(
                f"must be at least {MIN_SECRET_KEY_LENGTH} characters; make one with `openssl rand -hex 32`"
            )
        return value


class Settings(SecretSettings):
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
    public_url: str | None = Field(
        default=None,
        description="Address under which people reach the server, such as `https://chat.example.com`; for links and "
        "the way back from the identity provider. Unset: the one a request came to.",
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
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names under which the server may be asked for, comma-separated, without ports. Unset: any name; "
        "on a loopback address only names of loopback.",
    )
    max_connections: int = Field(
        default=2000, ge=1, description="Connections of all clients together that the server takes; more get 503."
    )
    max_connections_per_user: int = Field(
        default=50, ge=1, description="WebSockets and event streams that one user may have open on one server."
    )
    rate_limit_requests_per_minute: int = Field(
        default=60,
        ge=1,
        description="Requests a minute of one user, or of one address where nobody is signed in. Twice as many may "
        "come at once.",
    )
    rate_limit_new_sessions_per_minute: int = Field(
        default=10, ge=1, description="Sessions a minute that one user may make, forks included."
    )
    rate_limit_session_messages_per_minute: int = Field(
        default=20, ge=1, description="Messages a minute to one session, whoever sends them."
    )
    rate_limit_user_messages_per_minute: int = Field(
        default=40, ge=1, description="Messages a minute of one user to all their sessions together."
    )
    rate_limit_frames_per_second: int = Field(
        default=20,
        ge=1,
        description="Frames a second on one WebSocket. Twice as many may come at once; who goes on is closed.",
    )
    access_token_ttl_seconds: int = Field(default=900, ge=10, description="Life of an access token, in seconds.")
    refresh_token_ttl_seconds: int = Field(default=604_800, ge=60, description="Life of a refresh token, in seconds.")
    ticket_ttl_seconds: int = Field(default=30, ge=1, description="Life of a one-use ticket, in seconds.")
    oidc_issuer: str | None = Field(
        default=None,
        description="Issuer of an OpenID Connect identity provider, exactly as it calls itself. Unset: passwords only.",
    )
    oidc_client_id: str | None = Field(default=None, description="What the identity provider calls this server.")
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="The secret shared with the identity provider; unset, this is a public client."
    )
    oidc_client_secret_file: Path | None = Field(
        default=None, description="File that holds the client secret, instead of the variable."
    )
    oidc_name: str = Field(
        default="single sign-on", description="What people call the identity provider: `Sign in with ...`."
    )
    oidc_scopes: str = Field(default="openid profile email", description="What is asked for, separated by spaces.")
    oidc_role_claim: str | None = Field(
        default=None,
        description="Claim of the ID token that holds a person's groups, such as `groups` or `realm_access.roles`. "
        "Unset: roles are given here.",
    )
    oidc_roles: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("*=user",),
        description="Which group gives which role, comma-separated: `platform=admin,ops=operator,*=user`. The highest "
        "counts; `*` is anybody; whoever gets none cannot sign in. Used with `OIDC_ROLE_CLAIM`.",
    )
    oidc_allowed_domains: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Only verified mail addresses of these domains may sign in, comma-separated."
    )
    oidc_allowed_emails: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Besides those, only these verified mail addresses may, comma-separated."
    )
    oidc_auto_create: bool = Field(
        default=False,
        description="Whether somebody the identity provider knows and this server does not becomes a user by "
        "signing in.",
    )
    default_model: str = Field(default="claude-sonnet-4-5", description="Model of a session that names none.")
    max_turns: int = Field(default=20, ge=1, description="Agent steps allowed within one turn.")
    max_budget_usd: float | None = Field(
        default=None, gt=0, description="Most that one session may spend, in USD; unset, no limit."
    )
    max_user_budget_usd: float | None = Field(
        default=None,
        gt=0,
        description="Most that the sessions of one person may spend within 24 hours, in USD; unset, no limit.",
    )
    max_sessions: int = Field(default=10, ge=1, description="Most live agent processes at once.")
    max_sessions_per_user: int | None = Field(
        default=None, ge=1, description="Most live agent processes of one person at once; unset, as many as there are."
    )
    session_timeout: int = Field(
        default=1800, ge=1, description="Seconds of quiet after which a session gives up its agent process."
    )
    isolation: Literal["bubblewrap", "process"] | None = Field(
        default=None,
        description="How agent processes are kept apart: `bubblewrap` or `process`. Unset: bubblewrap where it works. "
        "Set to `bubblewrap`, the server refuses to start where it does not.",
    )
    sandbox_enabled: bool | None = Field(
        default=None,
        description="Whether Claude Code puts each shell command into a sandbox of its own as well. Unset: where "
        "bubblewrap and socat are there. Set to `true`, the server refuses to start where it does not work.",
    )
    agent_uid: int = Field(
        default=61_000,
        ge=1,
        lt=2**32 - 1,
        description="User id that agents get in bubblewrap when the server runs as root, which they never are.",
    )
    egress_allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that agents may reach, comma-separated: `example.com`, `*.example.com` for all below it, "
        "on ports 80 and 443 or on the one given (`example.com:8443`). Unset: no network. Holds in bubblewrap only.",
    )
    egress_allowed_networks: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Networks with addresses that are not public to which such a host may lead nevertheless, "
        "comma-separated, such as `10.1.2.0/24`.",
    )
    max_agent_processes: int = Field(
        default=512,
        ge=32,
        description="Processes and threads of one agent at once, in bubblewrap; Claude Code itself takes about 15.",
    )
    max_agent_open_files: int = Field(default=8192, ge=256, description="Open files of each process of an agent.")
    max_agent_file_mb: int = Field(default=1024, ge=1, description="Largest file that an agent can write, in MiB.")
    max_agent_cpu_seconds: int = Field(
        default=7200,
        ge=10,
        description="Processor time of each process of an agent, in seconds, after which it is ended.",
    )
    agent_home_mb: int = Field(
        default=512,
        ge=16,
        description="Size of an agent's home in bubblewrap, in MiB of memory: its transcript, and results of tools "
        "that are too long for it.",
    )
    agent_tmp_mb: int = Field(
        default=512, ge=1, description="Size of an agent's `/tmp` in bubblewrap, in MiB of memory."
    )
    agent_shm_mb: int = Field(
        default=64, ge=1, description="Size of an agent's `/dev/shm` in bubblewrap, in MiB of memory."
    )
    plugin_start_timeout_seconds: float = Field(
        default=30.0, gt=0, description="How long a server of a plugin may take to be there, in seconds."
    )
    plugin_max_result_bytes: int = Field(
        default=1024 * 1024, ge=1024, description="Longest answer of a plugin's tool, hook or endpoint."
    )
    plugin_max_body_bytes: int = Field(
        default=10 * 1024 * 1024,
        ge=0,
        description="Longest body of a request to an endpoint of a plugin, whatever the plugin declares.",
    )
    plugin_max_message_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=64 * 1024,
        description="Longest message that is read from a server of a plugin; what is longer is thrown away.",
    )
    plugin_max_processes: int = Field(
        default=128, ge=16, description="Processes and threads of one server of a plugin at once, in bubblewrap."
    )
    plugin_max_open_files: int = Field(default=1024, ge=64, description="Open files of each process of a plugin.")
    plugin_max_file_mb: int = Field(default=256, ge=1, description="Largest file that a plugin can write, in MiB.")
    plugin_max_cpu_seconds: int = Field(
        default=14400,
        ge=10,
        description="Processor time of each process of a plugin, in seconds, after which it is started anew.",
    )
    plugin_tmp_mb: int = Field(
        default=64, ge=1, description="Size of a plugin's `/tmp` and `/dev/shm` in bubblewrap, in MiB of memory each."
    )
    plugin_user: str | None = Field(
        default=None,
        description="Name of the user in whose name plugins begin sessions when a public endpoint of theirs is asked. "
        "Unset: that is refused.",
    )
    tool_search_min_tools: int = Field(
        default=50,
        ge=0,
        description="From so many tools of plugins on, the model is not given them all but looks up those it needs.",
    )
    enable_subagent_resume: bool = Field(
        default=False,
        description="Whether an agent may go on with a subagent that has ended (`SendMessage`), "
        "which remembers what it did.",
    )
    max_workspace_mb: int = Field(
        default=5120,
        ge=1,
        description="Size of a workspace, in MiB, from which on a turn that makes it larger is stopped.",
    )
    max_workspace_files: int = Field(
        default=200_000,
        ge=1,
        description="Files in a workspace, from which on a turn that makes more is stopped.",
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
    max_concurrent_starts: int | None = Field(
        default=None,
        ge=1,
        description="Agent processes that may be starting at the same time, each of which keeps a processor busy. "
        "Unset: half as many as there are processors.",
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
    policy_file: Path | None = Field(
        default=None,
        description="YAML file laid over the built-in policy of tools, files, hosts and commands.",
    )
    plugins_dir: Path = Field(
        default=Path("plugins"),
        description="Folder whose folders are plugins. It need not be there.",
    )
    plugin_secrets_dir: Path | None = Field(
        default=None,
        description="Folder with a file `PLUGIN/KEY` for each secret of a plugin that comes from elsewhere, such as a "
        "mounted Kubernetes secret. Such a file counts more than what was set over REST.",
    )
    plugin_activation_timeout_seconds: float = Field(
        default=30.0, gt=0, description="Seconds that trying, starting or stopping a plugin may take."
    )
    plugin_signing_keys: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(),
        description="Files with public Ed25519 keys in PEM, comma-separated. If there are any, uploads are taken only "
        "if one of these keys signed them.",
    )
    trusted_plugins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names of plugins, comma-separated, whose code may run inside the server if they ask for it. A "
        "fault in such a plugin is a fault of the server.",
    )
    max_plugin_archive_mb: int = Field(default=64, ge=1, description="Largest uploaded plugin or marketplace, in MiB.")
    max_plugin_mb: int = Field(default=256, ge=1, description="Most that such an archive may unpack to, in MiB.")
    marketplaces: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(),
        description="Marketplaces to install plugins from, comma-separated: folders or zip archives that hold a "
        "`marketplace.json`.",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")

    @property
    def oidc_secret(self) -> str | None:
        """The secret shared with the identity provider, from the variable or the file."""
        if self.oidc_client_secret_file is not None:
            return self.oidc_client_secret_file.read_text().strip()
        return None if self.oidc_client_secret is None else self.oidc_client_secret.get_secret_value()

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(origin.strip().rstrip("/") for origin in value.split(",") if origin.strip())
        return value

    @field_validator(
        "allowed_hosts",
        "egress_allowed_hosts",
        "egress_allowed_networks",
        "marketplaces",
        "plugin_signing_keys",
        "trusted_plugins",
        mode="before",
    )
    @classmethod
    def _split_list(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(item.strip() for item in value.split(",") if item.strip())
        return value

    @field_validator("egress_allowed_networks")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for item in value:
            ip_network(item)
        return value

    @field_validator("oidc_allowed_domains", "oidc_allowed_emails", mode="before")
    @classmethod
    def _split_lowered(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _split_roles(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("oidc_roles")
    @classmethod
    def _known_roles(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pair in value:
            group, _, role = pair.rpartition("=")
            if not group or role not in {"admin", "operator", "user"}:
                raise ValueError("must be pairs of a group and admin, operator or user, such as `ops=operator`")
        return value

    @field_validator("public_url", "oidc_issuer")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with https:// or http://")
        return value

    @field_validator("public_url")
    @classmethod
    def _without_slash(cls, value: str | None) -> str | None:
        return None if value is None else value.rstrip("/")

    @field_validator("oidc_client_secret_file")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None and not os.access(value, os.R_OK):
            raise ValueError("the file is not there or cannot be read")
        return value

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        level = value.upper()
        if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
        return level

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in {"127.0.0.1", "::1", "localhost"}

    @property
    def own_hosts(self) -> tuple[str, ...]:
        """The names under which the server may be asked for; none for any. ``localhost`` stands for all of loopback."""
        return self.allowed_hosts or (("localhost",) if self.is_on_loopback else ())

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.demo and not self.is_on_loopback:
            raise ValueError(
                f"demo mode listens on loopback only, not on {self.host}: its users and model are public knowledge"
            )
        if self.oidc_issuer is not None and self.oidc_client_id is None:
            raise ValueError("OIDC_CLIENT_ID is not set, but OIDC_ISSUER is")
        if self.oidc_client_secret is not None and self.oidc_client_secret_file is not None:
            raise ValueError("OIDC_CLIENT_SECRET and OIDC_CLIENT_SECRET_FILE are both set; use one of them")
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
