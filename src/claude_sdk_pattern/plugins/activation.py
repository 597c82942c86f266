"""What the registry asks of those who put active plugins to work."""

from typing import Protocol

from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet


class Activator(Protocol):
    """Starts and stops one kind of capability: tools and servers, endpoints, hooks. The registry is given a list.

    All methods get every plugin and pass over those that have nothing for them. They are called by the registry, one
    at a time for each plugin, in the order of the list; ``stopped`` in the reverse.
    """

    async def check(self, plugin: ActivePlugin, others: PluginSet) -> None:
        """Try everything that activation needs, and leave nothing behind. ``others`` are those active already.

        Cancelled when it takes longer than the registry allows.

        Raises:
            ActivationError: it would not work: the message says why.
        """
        ...

    async def started(self, plugin: ActivePlugin) -> None:
        """Put the plugin to work: it is active from now on. Called again with another package or revision on a change.

        Raises:
            ActivationError: it did not work after all; the plugin becomes errored and ``stopped`` follows.
        """
        ...

    async def stopped(self, plugin: ActivePlugin) -> None:
        """End what ``started`` began, in bounded time. Called also when it began nothing; never raises."""
        ...
