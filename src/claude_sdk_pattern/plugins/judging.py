"""Whether a folder holds a plugin that this server can work with. Nothing in the folder is executed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from claude_sdk_pattern.plugins.cli_validation import Findings
from claude_sdk_pattern.plugins.errors import InvalidPluginError, PluginProblem
from claude_sdk_pattern.plugins.manifest import MANIFEST_FILE
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.reading import read_package
from claude_sdk_pattern.plugins.versions import fits

type Validator = Callable[[PluginPackage], Awaitable[Findings]]


class PackageJudge:
    """Reads packages and judges them.

    Args:
        platform_version: of this server; what plugins say they work with is compared with it.
        validate: asks Claude Code about what Claude Code is to load; None: nobody is asked.
    """

    def __init__(self, *, platform_version: str, validate: Validator | None = None) -> None:
        self._platform_version = platform_version
        self._validate = validate

    async def judge(self, root: Path, *, name: str | None = None, known_digest: str | None = None) -> PluginPackage:
        """Return the plugin in a folder. One whose digest is ``known_digest`` was judged before and is only read.

        Raises:
            InvalidPluginError: it is none, or not for this server.
        """
        package = await asyncio.to_thread(read_package, root, name=name)
        if not fits(self._platform_version, package.platform_version):
            raise InvalidPluginError(
                [
                    PluginProblem(
                        file=MANIFEST_FILE,
                        path="platform_version",
                        message=f"needs {package.platform_version}; this server is {self._platform_version}",
                    )
                ]
            )
        if self._validate is None or package.digest == known_digest:
            return package
        findings = await self._validate(package)
        if findings.errors:
            raise InvalidPluginError(findings.errors)
        return replace(package, warnings=(*package.warnings, *findings.warnings))
