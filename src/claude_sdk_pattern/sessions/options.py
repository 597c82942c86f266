"""OptionsBuilder: what an agent process is started with."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_agent_sdk import CanUseTool, ClaudeAgentOptions, PermissionMode, SessionStore

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.isolation.launcher import TOKEN_VARIABLE, WORKSPACE_VARIABLE
from claude_sdk_pattern.model_gateway.exchange import PINGS_ONLY_FACTOR

# The SDK ends the whole stream at a line longer than its buffer, and one tool result with an image is over its
# default of 1 MiB.
MAX_LINE_BYTES = 64 * 1024 * 1024

# An MCP tool that has not answered by then has hung; the CLI's own limit is over a day.
MCP_TOOL_TIMEOUT_MS = 60_000

# What the gateway may need to notice the end of its own limits on a busy machine.
_GATEWAY_MARGIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What of a session's settings cannot be changed once its process runs. Equal profiles can share a pool."""

    output_schema: str | None = None
    """JSON text of the schema that every result must fit; None for free text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """Where one agent process lives and what it continues."""

    agent_session_id: str
    resume: bool
    """True: continue the transcript of that id. False: begin it."""
    workspace: Path
    config_dir: Path
    token: str


class OptionsBuilder:
    """Builds :class:`ClaudeAgentOptions`, the same way for every process.

    Args:
        settings: the server's settings.
        launcher: the script that isolates the CLI.
        gateway_url: address of the model gateway as the agent process reaches it.
    """

    def __init__(self, settings: Settings, *, launcher: Path, gateway_url: str) -> None:
        self._settings = settings
        self._launcher = launcher
        self._gateway_url = gateway_url

    def build(
        self,
        plan: ProcessPlan,
        profile: AgentProfile,
        *,
        model: str,
        permission_mode: PermissionMode,
        transcripts: SessionStore,
        can_use_tool: CanUseTool,
        stderr: Callable[[str], None],
    ) -> ClaudeAgentOptions:
        """Return the options of the process ``plan`` describes."""
        settings = self._settings
        return ClaudeAgentOptions(
            cli_path=self._launcher,
            cwd=plan.workspace,
            env=self._environment(plan),
            resume=plan.agent_session_id if plan.resume else None,
            session_id=None if plan.resume else plan.agent_session_id,
            model=model,
            permission_mode=permission_mode,
            # No max_budget_usd: a process counts only what it has itself spent, by its own price list. The gateway
            # holds the session's budget.
            max_turns=settings.max_turns,
            output_format=_output_format(profile),
            include_partial_messages=True,
            # Settings in a workspace are code: hooks, environment, the address of the model.
            setting_sources=[],
            strict_mcp_config=True,
            max_buffer_size=MAX_LINE_BYTES,
            session_store=transcripts,
            # By default the mirror is written once a turn, and a process that dies takes its last message with it.
            session_store_flush="eager",
            can_use_tool=can_use_tool,
            stderr=stderr,
        )

    def _environment(self, plan: ProcessPlan) -> dict[str, str]:
        settings = self._settings
        # The gateway's own limits come first and say what happened; these catch a gateway that hangs. It passes on
        # nothing before an answer has begun, so both cover its longest silence.
        silence = settings.model_first_byte_timeout_seconds + PINGS_ONLY_FACTOR * settings.model_idle_timeout_seconds
        limit_ms = str(int((silence + _GATEWAY_MARGIN_SECONDS) * 1000))
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(plan.config_dir),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            WORKSPACE_VARIABLE: str(plan.workspace),
            "CLAUDE_CONFIG_DIR": str(plan.config_dir),
            "ANTHROPIC_BASE_URL": self._gateway_url,
            # Not a key: a token that opens the gateway for this one session.
            TOKEN_VARIABLE: plan.token,
            "CLAUDE_CODE_MAX_RETRIES": str(settings.model_max_retries),
            "API_TIMEOUT_MS": limit_ms,
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": limit_ms,
            # A stream that breaks off would otherwise be asked for again in one piece, and the answer shown then
            # differs from the one people were reading.
            "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            # Turns that nobody asked for have nobody to read them, and their output files grow without bound.
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "MCP_TOOL_TIMEOUT": str(MCP_TOOL_TIMEOUT_MS),
            "DISABLE_AUTOUPDATER": "1",
        }


def _output_format(profile: AgentProfile) -> dict[str, Any] | None:
    if profile.output_schema is None:
        return None
    # The CLI takes the schema as an object; the profile keeps it as text so that it can be compared and hashed.
    return {"type": "json_schema", "schema": json.loads(profile.output_schema)}
