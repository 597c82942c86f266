"""Personas: the profiles that active plugins declare, as sessions are given them."""

from collections.abc import Iterator
from dataclasses import dataclass

from claude_sdk_pattern.plugins.manifest import Profile
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin, PluginSet


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedProfile:
    """A profile that a session can be made with."""

    plugin: ActivePlugin
    key: str
    declared: Profile

    @property
    def name(self) -> str:
        """What it is asked for by: ``plugin:profile``."""
        return self._whole(self.key)

    @property
    def plugins(self) -> frozenset[str] | None:
        """The plugins that its sessions are made with, its own among them; None for all that are active."""
        declared = self.declared.plugins
        return None if declared is None else frozenset({*declared, self.plugin.name})

    def persona(self) -> "Persona":
        """Return what an agent process is given of it.

        Raises:
            OSError: the file with its prompt cannot be read.
            UnicodeDecodeError: it is not text.
        """
        declared, root = self.declared, self.plugin.package.root
        prompt = declared.prompt
        return Persona(
            name=self.name,
            prompt=prompt if prompt is not None else (root / (declared.prompt_file or "")).read_text("utf-8"),
            skills=self._whole_names(declared.skills),
            agents=self._whole_names(declared.agents),
        )

    def _whole_names(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(sorted(self._whole(name) for name in names))

    def _whole(self, name: str) -> str:
        return name if ":" in name else f"{self.plugin.name}:{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """A profile as an agent process has it.

    Attributes:
        name: ``plugin:profile``.
        prompt: the system prompt.
        skills: the skills it is told of, as ``plugin:skill``; None for all.
        agents: the subagents of plugins that it may call, as ``plugin:agent``; None for all.
    """

    name: str
    prompt: str
    skills: tuple[str, ...] | None
    agents: tuple[str, ...] | None


def offered_profiles(plugins: PluginSet) -> Iterator[OfferedProfile]:
    """Yield the profiles of a set of plugins, in the order of their names."""
    for plugin in plugins:
        manifest = plugin.package.manifest
        if manifest is not None:
            for key, declared in sorted(manifest.profiles.items()):
                yield OfferedProfile(plugin=plugin, key=key, declared=declared)


def find_profile(plugins: PluginSet, name: str) -> OfferedProfile | None:
    """Return the profile of this name, ``plugin:profile``; None if no plugin of the set has it."""
    plugin = plugins.find(name.partition(":")[0])
    own = () if plugin is None else offered_profiles(PluginSet((plugin,)))
    return next((offered for offered in own if offered.name == name), None)
