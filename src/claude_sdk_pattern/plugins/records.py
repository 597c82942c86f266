"""What the database knows of a plugin, and how that changes: pure values, input and output live elsewhere.

The status follows from facts that are kept apart: whether the plugin is there, whether an operator wants it, what runs,
and what went wrong. So it is right after any order of events, on any server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from claude_sdk_pattern.plugins.errors import PluginProblem, UnknownPluginError
from claude_sdk_pattern.plugins.manifest import Permissions
from claude_sdk_pattern.plugins.package import PluginPackage

Source = Literal["folder", "upload", "marketplace"]


class PluginStatus(StrEnum):
    """Where a plugin stands, as operators see it."""

    REGISTERED = "registered"
    """Found and valid; nobody has activated it yet."""
    ACTIVE = "active"
    """At work in new sessions."""
    DISABLED = "disabled"
    """Was at work until an operator deactivated it."""
    DEGRADED = "degraded"
    """At work, and something of it does not work."""
    ERRORED = "errored"
    """Not valid, or wanted and not to be started."""
    INACTIVE = "inactive"
    """Its folder is gone. Its configuration is kept for when it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """One plugin.

    Attributes:
        source: ``folder``: of the plugins folder; the others were installed over REST or on the command line.
        origin: name of the folder, of the uploaded file or of the marketplace.
        is_present: it is there; False after its folder vanished.
        is_enabled: an operator wants it active.
        was_enabled: an operator has ever wanted that.
        digest, version: of what is there now; no digest if that is not valid.
        problems: why it is not; or why it could not take the place of what runs.
        warnings: what is odd about it.
        running_digest, running_version, running_needs: of what sessions are given: an update that waits for consent,
            or is not valid, is not what runs.
        agreed: the permissions that an operator agreed to.
        config: the configuration without its secrets.
        generation: grows whenever the plugin has to be started anew: by a change of its configuration or version.
        error: why it could not be started.
        trouble: what does not work while it is active.
    """

    name: str
    source: Source
    origin: str
    is_present: bool = True
    is_enabled: bool = False
    was_enabled: bool = False
    digest: str | None = None
    version: str = ""
    problems: tuple[PluginProblem, ...] = ()
    warnings: tuple[PluginProblem, ...] = ()
    running_digest: str | None = None
    running_version: str = ""
    running_needs: Mapping[str, str] = field(default_factory=dict[str, str])
    agreed: Permissions | None = None
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    generation: int = 0
    error: str | None = None
    trouble: str | None = None

    @property
    def status(self) -> PluginStatus:
        """Where it stands."""
        if not self.is_present:
            return PluginStatus.INACTIVE
        if self.is_running and self.error is None:
            return PluginStatus.ACTIVE if self.trouble is None else PluginStatus.DEGRADED
        if self.error is not None or self.digest is None:
            return PluginStatus.ERRORED
        return PluginStatus.DISABLED if self.was_enabled else PluginStatus.REGISTERED

    @property
    def is_running(self) -> bool:
        """Whether sessions are to be given it. ``error`` says if that does not work."""
        return self.is_present and self.is_enabled and self.running_digest is not None

    @property
    def has_update(self) -> bool:
        """Whether what is there is not what runs."""
        return self.is_running and self.digest != self.running_digest

    @property
    def last_error(self) -> str | None:
        """The worst there is to say, in one text."""
        invalid = "; ".join(str(problem) for problem in self.problems) or None
        return self.error or self.trouble or invalid

    def found(self, package: PluginPackage, *, source: Source, origin: str) -> "PluginRecord":
        """Return the record after the plugin was found, new, changed or back. What runs goes on running."""
        return replace(
            self,
            source=source,
            origin=origin,
            is_present=True,
            digest=package.digest,
            version=package.version,
            problems=self.problems if package.digest == self.digest else (),
            # What was known already was not judged again.
            warnings=self.warnings if package.digest == self.digest else package.warnings,
            # Whatever could not be started was another one.
            error=self.error if package.digest == self.digest else None,
        )

    def invalid(self, problems: tuple[PluginProblem, ...], *, source: Source, origin: str) -> "PluginRecord":
        """Return the record after something was found in the plugin's place that is no valid plugin."""
        return replace(self, source=source, origin=origin, is_present=True, digest=None, problems=problems, warnings=())

    def vanished(self) -> "PluginRecord":
        """Return the record after the plugin's folder was gone. It is active again when the folder returns."""
        return replace(self, is_present=False, error=None, trouble=None)

    def activated(self, package: PluginPackage) -> "PluginRecord":
        """Return the record after an operator activated this package, and with that agreed to what it asks for.

        Does nothing if it runs without a fault.
        """
        if self.is_running and self.running_digest == package.digest and self.error is None:
            return replace(self, agreed=package.permissions)
        return replace(
            self,
            is_enabled=True,
            was_enabled=True,
            running_digest=package.digest,
            running_version=package.version,
            running_needs=dict(package.dependencies),
            agreed=package.permissions,
            generation=self.generation + 1,
            problems=(),
            error=None,
            trouble=None,
        )

    def updated(self, package: PluginPackage) -> "PluginRecord":
        """Return the record after another version took the place of the one that runs; it asks for nothing more."""
        assert self.agreed is not None  # noqa: S101 - what runs was agreed to
        return replace(self.activated(package), agreed=self.agreed)

    def deactivated(self) -> "PluginRecord":
        """Return the record after an operator deactivated the plugin. What it asks for has to be agreed to anew."""
        return replace(self, is_enabled=False, running_digest=None, agreed=None, error=None, trouble=None)

    def configured(self, config: Mapping[str, Any]) -> "PluginRecord":
        """Return the record after the configuration or a secret changed."""
        return replace(self, config=dict(config), generation=self.generation + 1, error=None, trouble=None)

    def restarted(self) -> "PluginRecord":
        """Return the record after an operator asked for another attempt."""
        problems = self.problems if self.digest is None else ()
        return replace(self, generation=self.generation + 1, problems=problems, error=None, trouble=None)

    def failed(self, generation: int, error: str) -> "PluginRecord":
        """Return the record after this generation could not be started; one that came after it is not meant."""
        return replace(self, error=error) if generation == self.generation and self.is_running else self

    def recovered(self, generation: int) -> "PluginRecord":
        """Return the record after this generation was started after all."""
        return replace(self, error=None) if generation == self.generation else self

    def refused(self, error: str) -> "PluginRecord":
        """Return the record after what is there could not be activated. What runs goes on running."""
        if not self.is_running:
            return replace(self, error=error)
        return replace(self, problems=(PluginProblem(file=".", message=f"could not be activated: {error}"),))

    def troubled(self, trouble: str | None) -> "PluginRecord":
        """Return the record after something of it stopped working while it runs, or works again (``None``)."""
        return replace(self, trouble=trouble) if self.is_running else self


def still_there(records: Mapping[str, PluginRecord], name: str) -> PluginRecord:
    """Return a record that was there a moment ago.

    Raises:
        UnknownPluginError: it was removed meanwhile.
    """
    record = records.get(name)
    if record is None:
        raise UnknownPluginError(name)
    return record


def added_permissions(agreed: Permissions | None, asked: Permissions) -> Permissions:
    """Return what is asked for and was not agreed to."""
    known = agreed or Permissions()
    return Permissions.model_validate(
        {
            "tools": _added(known.tools, asked.tools),
            "hosts": _added(known.hosts, asked.hosts),
            "paths": {
                "readable": _added((*known.paths.readable, *known.paths.writable), asked.paths.readable),
                "writable": _added(known.paths.writable, asked.paths.writable),
            },
            "secrets": _added(known.secrets, asked.secrets),
            "environment": _added(known.environment, asked.environment),
            "events": _added(known.events, asked.events),
            "slots": _added(known.slots, asked.slots),
            "apps": asked.apps and not known.apps,
        }
    )


def asks_for_nothing(permissions: Permissions) -> bool:
    """Whether a list of permissions is empty."""
    return permissions == Permissions()


def _added(known: tuple[str, ...], asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in asked if one not in known)
