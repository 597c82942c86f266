"""Drive the bundled Claude Code CLI against a scripted model."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    CanUseTool,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    PermissionResultAllow,
    ResultMessage,
    TextBlock,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
)

from claude_sdk_pattern.model_gateway.scripted import ScriptedModel

KEY = "key-of-the-test"


async def allow(_tool: str, _input: dict[str, Any], _context: ToolPermissionContext) -> PermissionResultAllow:
    return PermissionResultAllow()


def options(
    model: ScriptedModel, folder: Path, *, max_retries: int = 2, can_use_tool: CanUseTool = allow, **more: Any
) -> ClaudeAgentOptions:
    """Options for a CLI of its own: workspace and config under ``folder``, everything allowed."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    return ClaudeAgentOptions(
        cwd=workspace,
        env={
            "ANTHROPIC_BASE_URL": model.base_url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CONFIG_DIR": str(folder / "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": str(max_retries),
        },
        setting_sources=[],
        include_partial_messages=True,
        permission_mode="acceptEdits",
        max_buffer_size=64 << 20,
        can_use_tool=can_use_tool,
        **more,
    )


@contextlib.asynccontextmanager
async def real_cli(model: ScriptedModel, folder: Path, **more: Any) -> AsyncGenerator[ClaudeSDKClient]:
    async with ClaudeSDKClient(options(model, folder, **more)) as client:
        yield client


async def turn(client: ClaudeSDKClient, text: str) -> list[Message]:
    """Send ``text`` and return every message up to the turn's result."""
    await client.query(text)
    return [message async for message in client.receive_response()]


def texts(messages: list[Message]) -> list[str]:
    """The complete text blocks of the model, in order, those of subagents left out."""
    return [
        block.text
        for message in messages
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None
        for block in message.content
        if isinstance(block, TextBlock)
    ]


def tool_results(messages: list[Message]) -> list[ToolResultBlock]:
    return [
        block
        for message in messages
        if isinstance(message, UserMessage) and isinstance(message.content, list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


def result(messages: list[Message]) -> ResultMessage:
    last = messages[-1]
    assert isinstance(last, ResultMessage)
    return last
