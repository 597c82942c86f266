"""Which of the active plugins a session works with: all, some that were chosen when it was made, more or less since."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChoice:
    """What was chosen for a session.

    Attributes:
        only: the plugins it was made with; None for all that are active, those that are activated later among them.
        switched: those that were turned on or off for it since, and which of both.
    """

    only: frozenset[str] | None = None
    switched: Mapping[str, bool] = field(default_factory=dict[str, bool])

    @classmethod
    def of_names(cls, names: Iterable[str] | None) -> Self:
        """Return the choice of these plugins, None for all."""
        return cls(only=None if names is None else frozenset(names))

    @classmethod
    def from_row(cls, value: Mapping[str, Any] | None) -> Self:
        """Return the choice that stands in a session's row."""
        if value is None:
            return cls()
        only: list[str] | None = value["only"]
        return cls(only=None if only is None else frozenset(only), switched=dict(value["switched"]))

    def to_row(self) -> dict[str, Any] | None:
        """Return it for a session's row; None for a session that works with everything."""
        if self.only is None and not self.switched:
            return None
        return {"only": None if self.only is None else sorted(self.only), "switched": dict(self.switched)}

    def switch(self, plugin: str, *, enabled: bool) -> "PluginChoice":
        """Return the choice with a plugin turned on or off."""
        return PluginChoice(only=self.only, switched={**self.switched, plugin: enabled})

    def among(self, active: PluginSet) -> PluginSet:
        """Return the plugins of the session among those that are active.

        Those that guard are always among them: they are the operator's, and not for a session to do without.
        """
        guards = {plugin.name for plugin in active if is_guard(plugin)}
        off = {name for name, enabled in self.switched.items() if not enabled} - guards
        on = {name for name, enabled in self.switched.items() if enabled} | guards
        chosen = active if self.only is None else active.only(self.only | on)
        return chosen.without(off)


def is_guard(plugin: ActivePlugin) -> bool:
    """Whether a plugin decides about what others do: it has a security hook."""
    manifest = plugin.package.manifest
    return manifest is not None and any(hook.kind == "security" for hook in manifest.hooks)
