"""What can go wrong with plugins.

::

    PluginError
    ├── UnknownPluginError         there is no plugin of this name
    ├── InvalidPluginError         the folder or archive is no valid plugin; ``problems`` says what to write instead
    ├── InvalidConfigError         the configuration does not fit the plugin's schema; ``problems`` says where
    ├── PluginStateError           it cannot be done in this state; the message says what comes first
    │   ├── DependencyError        a plugin that it needs is missing, or one that is active needs it
    │   └── PluginChangedError     the folder is not the one that was agreed to any more; look again
    ├── ActivationError            what activation tried did not work; the plugin is errored and the message says why
    ├── UploadRefusedError         the archive is damaged, or holds what no plugin may hold
    │   ├── ArchiveTooLargeError   it holds too much
    │   └── PackageNotTrustedError its hash or signature is not what is asked for
    ├── SecretUnreadableError      a stored secret was encrypted with another key, or belongs elsewhere
    ├── UnknownMarketplaceError    there is no marketplace of this name
    └── MarketplaceError           a marketplace cannot be read, or one of its plugins not be installed

Messages are written for operators: the edge passes them on. None holds a secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginProblem:
    """One thing that is wrong with a plugin: where, what, and what to write instead.

    Attributes:
        file: path inside the plugin, such as ``plugin.json``.
        path: place in the file, such as ``capabilities.tools.module``; empty for the whole file.
        hint: what to do; empty where the message says it all.
    """

    file: str
    path: str = ""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}: {self.path}" if self.path else self.file
        return f"{place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class PluginError(Exception):
    """Base of all errors of this room."""


class UnknownPluginError(PluginError):
    """There is no plugin of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no plugin {name}.")
        self.name = name


class UnknownProfileError(PluginError):
    """No active plugin has a profile of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No active plugin has a profile {name}.")
        self.name = name


class InvalidPluginError(PluginError):
    """A folder is no valid plugin; ``problems`` are all that were found, at least one."""

    def __init__(self, problems: Sequence[PluginProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ActivationError(PluginError):
    """What activation tried did not work: a server that does not answer, a module that cannot be imported, a clash.

    Raised by activators. The message is shown to operators.
    """


class InvalidConfigError(PluginError):
    """A configuration does not fit the plugin's schema; ``problems`` name keys, never values."""

    def __init__(self, problems: Sequence[PluginProblem]) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        self.problems = tuple(problems)


class PluginStateError(PluginError):
    """It cannot be done in the plugin's state; the message says what comes first."""


class DependencyError(PluginStateError):
    """A plugin that is needed is not active or has another version, or an active one needs this one."""


class PluginChangedError(PluginStateError):
    """The plugin changed since it was looked at; look again."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The plugin {name} has changed meanwhile. Look at what it asks for now, and try again.")
        self.name = name


class UploadRefusedError(PluginError):
    """An archive is no zip archive, or holds what no plugin may hold; the message says what."""


class ArchiveTooLargeError(UploadRefusedError):
    """An archive holds more, or grows more, than is allowed."""


class PackageNotTrustedError(UploadRefusedError):
    """An archive is not what its sender says, or not signed by anybody whom the operator trusts."""


class SecretUnreadableError(PluginError):
    """A stored secret was encrypted with another key, or for another place; set it anew."""

    def __init__(self, plugin: str, key: str) -> None:
        super().__init__(f"The secret {key} of the plugin {plugin} cannot be decrypted. Set it again.")
        self.plugin = plugin
        self.key = key


class UnknownMarketplaceError(PluginError):
    """There is no marketplace of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no marketplace {name}.")
        self.name = name


class MarketplaceError(PluginError):
    """A marketplace cannot be read, or one of its plugins cannot be had from there; the message says why."""
