"""The plugins that are active together, as a value: sessions take one at their start and keep it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, override

from claude_sdk_pattern.plugins.package import PluginPackage


@dataclass(frozen=True, kw_only=True)
class ActivePlugin:
    """A plugin with its configuration.

    Attributes:
        config: values by key, defaults filled in. Secrets are not here: whoever starts the plugin's process asks the
            secret store for them.
        revision: grows with each change of the configuration, secrets included.
        trusted: the operator lets its code run inside the server.
    """

    package: PluginPackage
    config: Mapping[str, Any]
    revision: int
    trusted: bool = False

    @property
    def name(self) -> str:
        """Name of the plugin, unique among those that are active."""
        return self.package.name


@dataclass(frozen=True, eq=False)
class PluginSet:
    """Active plugins, in order of their names. Equal keys are equal sets."""

    plugins: tuple[ActivePlugin, ...] = ()

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, PluginSet) and self.key == other.key

    @override
    def __hash__(self) -> int:
        return hash(self.key)

    @classmethod
    def of(cls, plugins: Iterable[ActivePlugin]) -> "PluginSet":
        """Return the set of these plugins."""
        return cls(tuple(sorted(plugins, key=lambda plugin: plugin.name)))

    def __iter__(self) -> Iterator[ActivePlugin]:
        return iter(self.plugins)

    def __len__(self) -> int:
        return len(self.plugins)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the plugins."""
        return frozenset(plugin.name for plugin in self.plugins)

    @cached_property
    def key(self) -> str:
        """A short text that is equal for sets that mean the same to an agent process."""
        parts = [
            (plugin.name, plugin.package.version, plugin.package.digest, plugin.revision, plugin.trusted)
            for plugin in self.plugins
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def find(self, name: str) -> ActivePlugin | None:
        """Return the plugin of this name, if it is in the set."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    def without(self, names: Iterable[str]) -> "PluginSet":
        """Return the set without some plugins, and without those that need them."""
        left = set(self.names - frozenset(names))
        while True:
            # A plugin whose dependency is gone would fail where nobody looks for the reason.
            stranded = {
                plugin.name
                for plugin in self.plugins
                if plugin.name in left and not set(plugin.package.dependencies) <= left
            }
            if not stranded:
                return PluginSet(tuple(plugin for plugin in self.plugins if plugin.name in left))
            left -= stranded

    def only(self, names: Iterable[str]) -> "PluginSet":
        """Return the set of some of its plugins and those that they need; names it does not have are passed over."""
        wanted: set[str] = set()
        queue = [name for name in names if name in self.names]
        while queue:
            name = queue.pop()
            plugin = self.find(name)
            if plugin is not None and name not in wanted:
                wanted.add(name)
                queue.extend(plugin.package.dependencies)
        return PluginSet(tuple(plugin for plugin in self.plugins if plugin.name in wanted))
