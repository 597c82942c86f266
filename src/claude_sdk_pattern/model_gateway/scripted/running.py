"""Run the scripted model inside the current process, for demo mode, tests and benchmarks."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from claude_sdk_pattern.model_gateway.loopback import serve_on_loopback
from claude_sdk_pattern.model_gateway.scripted.loader import Scenarios, load_scenarios
from claude_sdk_pattern.model_gateway.scripted.server import ReceivedRequest, ScriptedApp, create_scripted_app


@dataclass(frozen=True, kw_only=True)
class ScriptedModel:
    """A running scripted model."""

    base_url: str
    """What ``ANTHROPIC_BASE_URL`` is set to, without a slash at the end."""

    app: ScriptedApp

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The latest requests, oldest first; how many is bounded (``server.KEPT_REQUESTS``)."""
        return list(self.app.requests)

    async def wait_for_request(
        self, wanted: Callable[[ReceivedRequest], bool] = lambda _: True, timeout_seconds: float = 10
    ) -> ReceivedRequest:
        """Return the first request that ``wanted`` accepts, come or yet to come. Raises TimeoutError."""
        return await self.app.wait_for_request(wanted, timeout_seconds)

    async def wait_until_idle(self, timeout_seconds: float = 10) -> None:
        """Wait until no answer is being sent: all have ended, or their clients have left. Raises TimeoutError."""
        await self.app.wait_until_idle(timeout_seconds)


@contextlib.asynccontextmanager
async def running_scripted_model(port: int = 0, scenarios: Scenarios | None = None) -> AsyncGenerator[ScriptedModel]:
    """Serve on loopback from the current event loop while the block runs.

    ``port`` 0 takes a free one; ``scenarios`` None means the packaged ones. Raises OSError when the port is taken and
    ScenarioError when a scenario file is wrong. Requests still hanging at the end are cut off after a second.
    """
    app = create_scripted_app(load_scenarios() if scenarios is None else scenarios)
    async with serve_on_loopback(app, port=port) as base_url:
        yield ScriptedModel(base_url=base_url, app=app)
