"""``claude-sdk-pattern serve`` and ``demo``."""

import asyncio
from pathlib import Path

from claude_sdk_pattern import serving
from claude_sdk_pattern.cli.failing import explained_failures
from claude_sdk_pattern.config.settings import Settings


def serve() -> None:
    """Run the server, configured by CLAUDE_SDK_PATTERN_* and ANTHROPIC_API_KEY."""
    with explained_failures():
        settings = Settings.model_validate({})
        asyncio.run(serving.check(settings))
        asyncio.run(serving.announce_setup(settings))
    serving.serve(settings)


def demo() -> None:
    """Run the server with a scripted model and made-up users: no API key, nothing to configure."""
    with explained_failures():
        settings = serving.demo_settings()
        password = asyncio.run(serving.prepare_demo(settings))
    serving.announce_demo(settings, password, Path.cwd())
    serving.serve(settings)
