"""SessionPlugins: what of the active plugins a session can have, and what it has."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from claude_sdk_pattern.plugins.errors import UnknownPluginError, UnknownProfileError
from claude_sdk_pattern.plugins.manifest import Profile
from claude_sdk_pattern.plugins.personas import OfferedProfile, find_profile, offered_profiles
from claude_sdk_pattern.plugins.plugin_set import PluginSet
from claude_sdk_pattern.sessions.plugin_choice import PluginChoice
from claude_sdk_pattern.sessions.repository import Session


@dataclass(frozen=True, slots=True)
class SessionPlugins:
    """The active plugins, as sessions see them. ``active`` returns those that are active now."""

    active: Callable[[], PluginSet]

    def choose(self, plugins: Iterable[str] | None, profile: str | None) -> tuple[PluginChoice, Profile | None]:
        """Return what a new session works with, and the profile it is made with.

        Args:
            plugins: names of plugins; None for all that are active, now or later.
            profile: ``plugin:profile``; it narrows the plugins.

        Raises:
            UnknownPluginError: one of the plugins is not active.
            UnknownProfileError: no active plugin has such a profile.
        """
        active = self.active()
        chosen = None if plugins is None else set(plugins)
        if chosen is not None and (unknown := sorted(chosen - active.names)):
            raise UnknownPluginError(unknown[0])
        if profile is None:
            return PluginChoice.of_names(chosen), None
        offered = find_profile(active, profile)
        if offered is None:
            raise UnknownProfileError(profile)
        if chosen is None:
            return PluginChoice.of_names(offered.plugins), offered.declared
        if offered.plugins is not None:
            chosen &= offered.plugins
        return PluginChoice.of_names(chosen | {offered.plugin.name}), offered.declared

    def profiles(self) -> Iterable[OfferedProfile]:
        """Return the profiles that a session can be made with now."""
        return offered_profiles(self.active())

    def of(self, session: Session) -> PluginSet:
        """Return the plugins that the session's next agent process works with, if nothing changes until then."""
        return session.plugins.among(self.active())

    def profile_of(self, session: Session) -> OfferedProfile | None:
        """Return the session's profile; None if it has none, or if no plugin of the session has it now."""
        return None if session.profile is None else find_profile(self.of(session), session.profile)
