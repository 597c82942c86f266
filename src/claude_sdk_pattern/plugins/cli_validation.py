"""Asks Claude Code whether it would load a plugin: its own validator, which needs no network and no key."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.native import NATIVE_MANIFEST, is_native, write_native_copy
from claude_sdk_pattern.plugins.package import PluginPackage

VALIDATION_SECONDS: Final = 60.0
"""It takes a third of a second; a machine that is busy, longer."""

_MARKDOWN: Final = ("agent", "command", "skill")

# Several at once only take turns on the processor, and each takes 150 MB.
_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the validator said. Errors keep Claude Code from loading the plugin, or hooks and servers of it."""

    errors: tuple[PluginProblem, ...] = ()
    warnings: tuple[PluginProblem, ...] = ()


class CliValidator:
    """Runs ``claude plugin validate`` on plugins that Claude Code itself is to load. ``cli`` is its executable."""

    def __init__(self, cli: Path) -> None:
        self._cli = cli
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, package: PluginPackage) -> Findings:
        """Return what it says of a plugin. It says nothing of parts that only this server reads."""
        if package.format == "platform" and not package.inventory.skills:
            return Findings()
        async with self._turns:
            with tempfile.TemporaryDirectory(prefix="plugin-check-") as temporary:
                if is_native(package):
                    return await self._validate(package.root, Path(temporary))
                folder = Path(temporary) / "plugin"
                await asyncio.to_thread(write_native_copy, package, folder)
                findings = await self._validate(folder, Path(temporary))
                # What the manifest lacks that was just made for it is nobody's fault.
                theirs = tuple(one for one in findings.warnings if one.file != NATIVE_MANIFEST)
                return Findings(errors=findings.errors, warnings=theirs)

    async def _validate(self, folder: Path, home: Path) -> Findings:
        process = await asyncio.create_subprocess_exec(
            str(self._cli),
            "plugin",
            "validate",
            "--json",
            str(folder),
            # Nothing of the server's environment: what it writes down, it writes in the folder that goes away.
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "config")},
            cwd=home,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(VALIDATION_SECONDS):
                answer, _ = await process.communicate()
            report: dict[str, Any] = json.loads(answer)
        except TimeoutError:
            return _failed("did not answer in time")
        except ValueError:
            return _failed("gave no answer that could be read")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())
        parts: list[dict[str, Any]] = [report["manifest"], *report["contents"]]
        found = [one for part in parts for one in _problems(part, folder)]
        return Findings(
            errors=tuple(problem for problem, is_fatal in found if is_fatal),
            warnings=tuple(problem for problem, is_fatal in found if not is_fatal),
        )


def _problems(part: dict[str, Any], folder: Path) -> Iterator[tuple[PluginProblem, bool]]:
    """Yield what is said of a file, and whether it keeps Claude Code from loading it."""
    file = Path(part["file"])
    name = str(file.relative_to(folder)) if file.is_relative_to(folder) else file.name
    for kind in ("errors", "warnings"):
        for one in part[kind]:
            problem = PluginProblem(file=name, path=one["path"], message=one["message"])
            yield problem, kind == "errors" and not _is_loaded_anyway(part["type"], problem)


def _is_loaded_anyway(kind: str, problem: PluginProblem) -> bool:
    """Whether Claude Code calls something an error and loads it all the same: the validator is for publishers, too.

    Names that only Anthropic may publish under are those of its own public plugins. And a file whose frontmatter is no
    YAML loses it and is there nevertheless, under the name of the file.
    """
    if kind == "plugin":
        return problem.path == "name" and " is reserved" in problem.message
    return kind in _MARKDOWN and problem.path == "frontmatter"


def _failed(what: str) -> Findings:
    return Findings(errors=(PluginProblem(file=".", message=f"could not be checked: Claude Code {what}"),))
