"""ActivePlugin: a plugin at work on a bench, for tests that are plain functions."""

import contextlib
from collections.abc import AsyncGenerator, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from claude_sdk_pattern.workbench.bench import Answer, Bench, BenchChat, ToolCall, running_bench


class ActivePlugin:
    """A plugin that is active, and one conversation with an agent that has it; see :func:`activated`.

    Attributes:
        name: the plugin's.
    """

    def __init__(self, portal: BlockingPortal, bench: Bench, name: str, chat: BenchChat) -> None:
        self.name = name
        self._portal = portal
        self._bench = bench
        self._chat = chat

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the plugin offers, as agents see them."""
        return tuple(tool.name for tool in self._bench.services.plugin_runtime.tools_of(self.name))

    def call(self, tool: str, /, **arguments: Any) -> ToolCall:
        """Have the agent call one of the plugin's tools and return what came of it.

        Args:
            tool: its name, alone (``forecast``) or as agents see it (``mcp__weather__forecast``).
            arguments: what it is called with.

        Raises:
            LookupError: the plugin has no such tool, or the agent was kept from calling it; the message says how.
        """
        found = [name for name in self.tools if name == tool or name.endswith(f"__{tool}")]
        if len(found) != 1:
            raise LookupError(f"{tool} names {len(found)} tools of {self.name}; it has {', '.join(self.tools)}")
        return self._portal.call(self._chat.call, found[0], arguments)

    def ask(self, text: str) -> Answer:
        """Send the agent a message and return what it said and which tools it called.

        The scripted model answers; docs/scripted-model.md says what it understands, such as ``call tool NAME with {}``.
        """
        return self._portal.call(self._chat.ask, text)

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request to one of the plugin's endpoints, signed in.

        Args:
            method: such as ``POST``.
            path: below the plugin's own, such as ``/count``.
            options: what httpx2 takes: ``json``, ``content``, ``headers``, ``params``.
        """
        url = f"/api/v1/plugins/{self.name}/{path.removeprefix('/')}"
        return self._portal.call(partial(self._bench.request, method, url, **options))


@contextlib.contextmanager
def activated(folder: Path, config: Mapping[str, Any]) -> Generator[ActivePlugin]:
    """Activate the plugin in a folder on a platform of its own, of which nothing is left afterwards.

    Raises:
        PluginError: it is not valid or does not start; the message says why.
    """

    @contextlib.asynccontextmanager
    async def opened() -> AsyncGenerator[tuple[Bench, str, BenchChat]]:
        async with running_bench() as bench:
            name = await bench.activate(folder, config)
            async with bench.chat() as chat:
                yield bench, name, chat

    # A thread with a loop of its own: the tests may have one, or none.
    with start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(opened()) as (bench, name, chat):
            yield ActivePlugin(portal, bench, name, chat)
