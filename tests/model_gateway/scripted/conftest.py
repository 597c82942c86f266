"""A scripted model per test, and one conversation of the CLI to build requests from."""

from collections.abc import AsyncGenerator

import pytest

from claude_sdk_pattern.model_gateway.scripted import ScriptedModel, running_scripted_model


@pytest.fixture
async def model(anyio_backend: str) -> AsyncGenerator[ScriptedModel]:
    async with running_scripted_model() as running:
        yield running
