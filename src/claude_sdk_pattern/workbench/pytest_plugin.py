"""Fixtures for tests of plugins, which pytest finds by itself where this package is installed.

A test that lies in the plugin's folder asks for ``active_plugin`` and needs nothing else: no key, no network, no event
loop. The tests of a module share one platform, because starting one takes seconds.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from claude_sdk_pattern.workbench.active_plugin import ActivePlugin


@pytest.fixture(scope="module")
def plugin_folder(request: pytest.FixtureRequest) -> Path:
    """The plugin's folder: the nearest around the test. Override it where tests lie elsewhere."""
    from claude_sdk_pattern.plugins.reading import plugin_format

    for folder in request.path.parents:
        if plugin_format(folder) is not None:
            return folder
    raise pytest.UsageError(f"{request.path} lies in no plugin; override the fixture `plugin_folder`")


@pytest.fixture(scope="module")
def plugin_config() -> dict[str, Any]:
    """The values of the plugin's configuration, secrets among them. Override it for others than the defaults."""
    return {}


@pytest.fixture(scope="module")
def active_plugin(plugin_folder: Path, plugin_config: dict[str, Any]) -> Generator["ActivePlugin"]:
    """The plugin, active on a platform of its own, with the real Claude Code and the scripted model."""
    # Here, because pytest loads this module for every test run there is.
    from claude_sdk_pattern.workbench.active_plugin import activated

    with activated(plugin_folder, plugin_config) as plugin:
        yield plugin
