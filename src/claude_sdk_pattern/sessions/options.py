"""OptionsBuilder: what an agent process is started with."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    CanUseTool,
    ClaudeAgentOptions,
    PermissionMode,
    SandboxSettings,
    SessionStore,
)

from claude_sdk_pattern.config.settings import Settings
from claude_sdk_pattern.isolation.housing import Housing
from claude_sdk_pattern.isolation.launcher import PASSED_VARIABLE, TOKEN_VARIABLE
from claude_sdk_pattern.isolation.probe import CommandSandbox
from claude_sdk_pattern.model_gateway.exchange import PINGS_ONLY_FACTOR
from claude_sdk_pattern.plugins.personas import Persona
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.plugins.runtime.offer import Offer
from claude_sdk_pattern.policy.hooks import HookEvent
from claude_sdk_pattern.policy.model import FilePolicy
from claude_sdk_pattern.policy.sdk_hooks import HookRunner, sdk_hooks
from claude_sdk_pattern.sessions.cli_mode import cli_mode

NO_PLUGINS = PluginSet()

# The SDK ends the whole stream at a line longer than its buffer, and one tool result with an image is over its
# default of 1 MiB.
MAX_LINE_BYTES = 64 * 1024 * 1024

# An MCP tool that has not answered by then has hung; the CLI's own limit is over a day.
MCP_TOOL_TIMEOUT_MS = 60_000

# Tools of Claude Code that promise what does not happen here, so that the model is not told of them. The first two come
# back to the conversation later by themselves, and by then its process may be put to sleep; nothing runs in the
# background that could be stopped; a process that is brought back begins in the workspace, and not in the worktree
# that its predecessor had gone to; and findings would be shown by a page other than ours.
_UNFIT_TOOLS = ("ScheduleWakeup", "Monitor", "TaskStop", "EnterWorktree", "ExitWorktree", "ReportFindings")

# With these, an agent finds and writes to a subagent that has ended.
_RESUME_TOOLS = ("ListAgents", "SendMessage")

# What the gateway may need to notice the end of its own limits on a busy machine.
_GATEWAY_MARGIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What of a session's settings cannot be changed once its process runs. Equal profiles can share a pool."""

    output_schema: str | None = None
    """JSON text of the schema that every result must fit; None for free text."""
    plugins: PluginSet = NO_PLUGINS
    """The plugins it works with."""
    persona: Persona | None = None
    """Who its agent is; None for nobody in particular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """Where one agent process lives and what it continues."""

    process_id: str
    agent_session_id: str
    resume: bool
    """True: continue the transcript of that id. False: begin it."""
    workspace: Path
    config_dir: Path
    token: str
    system_prompt: Path | None = None
    """The file with the system prompt of a persona. A file, because an argument has at most 128 KiB."""


class OptionsBuilder:
    """Builds :class:`ClaudeAgentOptions`, the same way for every process.

    Args:
        settings: the server's settings.
        housing: how agents are started and reach the server.
        hook_events: what every agent process reports; ``PreToolUse`` is among them, or nothing guards its tools.
        files: what agents may use of the machine's files, and see of them behind their walls.
    """

    def __init__(
        self, settings: Settings, housing: Housing, *, hook_events: Sequence[HookEvent], files: FilePolicy
    ) -> None:
        self._settings = settings
        self._housing = housing
        self._hook_events = hook_events
        self._files = files

    def build(
        self,
        plan: ProcessPlan,
        profile: AgentProfile,
        offer: Offer,
        *,
        model: str,
        permission_mode: PermissionMode,
        transcripts: SessionStore,
        can_use_tool: CanUseTool,
        run_hook: HookRunner,
        stderr: Callable[[str], None],
    ) -> ClaudeAgentOptions:
        """Return the options of the process ``plan`` describes, with what plugins offer it."""
        settings = self._settings
        events: tuple[HookEvent, ...] = tuple(
            dict.fromkeys((*self._hook_events, *(hook.event for hook in offer.hooks)))
        )
        return ClaudeAgentOptions(
            cli_path=self._housing.launcher,
            cwd=plan.workspace,
            add_dirs=list(offer.readable),
            env=self._environment(plan, offer),
            resume=plan.agent_session_id if plan.resume else None,
            session_id=None if plan.resume else plan.agent_session_id,
            system_prompt=None if plan.system_prompt is None else {"type": "file", "path": str(plan.system_prompt)},
            model=model,
            permission_mode=cli_mode(permission_mode),
            # No max_budget_usd: a process counts only what it has itself spent, by its own price list. The gateway
            # holds the session's budget.
            max_turns=settings.max_turns,
            output_format=_output_format(profile),
            include_partial_messages=True,
            # Settings in a workspace are code: hooks, environment, the address of the model.
            setting_sources=[],
            strict_mcp_config=not offer.starts_servers,
            mcp_servers=dict(offer.servers),
            agents=_agents(profile, offer) or None,
            disallowed_tools=[
                # Those in Claude Code's own format are found by Claude Code, and can only be denied.
                *(f"Agent({name})" for name in offer.native_agents if not _may_call(profile, name)),
                *_UNFIT_TOOLS,
                *([] if settings.enable_subagent_resume else _RESUME_TOOLS),
            ],
            skills=_skills(profile),
            plugins=[{"type": "local", "path": str(folder)} for folder in offer.folders.values()],
            settings=_settings(offer),
            sandbox=_command_sandbox(self._housing.command_sandbox, settings.egress_allowed_hosts),
            max_buffer_size=MAX_LINE_BYTES,
            session_store=transcripts,
            # By default the mirror is written once a turn, and a process that dies takes its last message with it.
            session_store_flush="eager",
            can_use_tool=can_use_tool,
            hooks=sdk_hooks(run_hook, events),
            stderr=stderr,
        )

    def _environment(self, plan: ProcessPlan, offer: Offer) -> dict[str, str]:
        settings = self._settings
        read_only = (*_present(self._files.readable), *([] if offer.place is None else [offer.place]))
        # The gateway's own limits come first and say what happened; these catch a gateway that hangs. It passes on
        # nothing before an answer has begun, so both cover its longest silence.
        silence = settings.model_first_byte_timeout_seconds + PINGS_ONLY_FACTOR * settings.model_idle_timeout_seconds
        limit_ms = str(int((silence + _GATEWAY_MARGIN_SECONDS) * 1000))
        return {
            **offer.environment,
            PASSED_VARIABLE: " ".join(offer.environment),
            "HOME": str(plan.config_dir),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **self._housing.environment(
                plan.process_id,
                workspace=plan.workspace,
                read_only=read_only,
                writable=_present(self._files.writable),
            ),
            "CLAUDE_CONFIG_DIR": str(plan.config_dir),
            "ANTHROPIC_BASE_URL": self._housing.gateway_url,
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
            "CLAUDE_CODE_DISABLE_CRON": "1",
            "CLAUDE_CODE_DISABLE_WORKFLOWS": "1",
            "MCP_TOOL_TIMEOUT": str(MCP_TOOL_TIMEOUT_MS),
            # Said either way: by itself the CLI goes by the address of the model, which here is always the gateway's.
            "ENABLE_TOOL_SEARCH": str(offer.tool_count >= settings.tool_search_min_tools).lower(),
            "DISABLE_AUTOUPDATER": "1",
        }


def _present(paths: Sequence[str]) -> tuple[Path, ...]:
    # One that is not there now keeps no agent from starting.
    return tuple(path for path in map(Path, paths) if path.exists())


def _output_format(profile: AgentProfile) -> dict[str, Any] | None:
    if profile.output_schema is None:
        return None
    # The CLI takes the schema as an object; the profile keeps it as text so that it can be compared and hashed.
    return {"type": "json_schema", "schema": json.loads(profile.output_schema)}


def _settings(offer: Offer) -> str | None:
    """Return Claude Code's settings as JSON. In a file, the agent could change them."""
    if not offer.options:
        return None
    # Plugins that are named on its command line belong to a marketplace of this name.
    configs = {f"{plugin}@inline": {"options": dict(options)} for plugin, options in offer.options.items()}
    return json.dumps({"pluginConfigs": configs})


def _agents(profile: AgentProfile, offer: Offer) -> dict[str, AgentDefinition]:
    return {name: agent for name, agent in offer.agents.items() if _may_call(profile, name)}


def _may_call(profile: AgentProfile, agent: str) -> bool:
    allowed = None if profile.persona is None else profile.persona.agents
    return allowed is None or agent in allowed


def _skills(profile: AgentProfile) -> list[str] | None:
    persona = profile.persona
    return None if persona is None or persona.skills is None else list(persona.skills)


def _command_sandbox(kind: CommandSandbox, hosts: Sequence[str]) -> SandboxSettings | None:
    if kind is CommandSandbox.OFF:
        return None
    return {
        "enabled": True,
        # Walls are no reason not to ask: what a command does to the workspace is still somebody's to decide.
        "autoAllowBashIfSandboxed": False,
        "allowUnsandboxedCommands": False,
        "enableWeakerNestedSandbox": kind is CommandSandbox.WEAKER,
        # By name only; the egress proxy behind it looks at ports and addresses.
        "network": {"allowedDomains": [host.partition(":")[0] for host in hosts]},
    }
