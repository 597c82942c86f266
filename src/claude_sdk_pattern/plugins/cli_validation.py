"""Asks Claude Code whether it would load a plugin: its own validator, which needs no network and no key."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from claude_sdk_pattern.plugins.errors import PluginProblem
from claude_sdk_pattern.plugins.native import NATIVE_MANIFEST, is_native, native_skills, write_native_copy
from claude_sdk_pattern.plugins.package import PluginPackage
from claude_sdk_pattern.plugins.skill_format import SKILL_FILE

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


type _Waiting = tuple[PluginPackage, asyncio.Future[Findings]]


class CliValidator:
    """Runs ``claude plugin validate`` on plugins that Claude Code itself is to load. ``cli`` is its executable.

    Most of what a run takes is its start. Plugins of which Claude Code is given nothing but skills therefore wait for
    the next run together, and are looked at in one.
    """

    def __init__(self, cli: Path) -> None:
        self._cli = cli
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._waiting: list[_Waiting] = []

    async def __call__(self, package: PluginPackage) -> Findings:
        """Return what it says of a plugin. It says nothing of parts that only this server reads."""
        if package.format == "platform" and not package.inventory.skills:
            return Findings()
        if package.format == "claude-code":
            async with self._turns:
                return await self._one(package)
        found: asyncio.Future[Findings] = asyncio.get_running_loop().create_future()
        self._waiting.append((package, found))
        try:
            async with self._turns:
                if not found.done():
                    await self._all_that_wait()
            return await found
        finally:
            # Nobody waits for it any more.
            found.cancel()

    async def _all_that_wait(self) -> None:
        together, self._waiting = [one for one in self._waiting if not one[1].done()], []
        try:
            findings = await self._skills_of([package for package, _ in together])
            for (package, found), what in zip(together, findings or [None] * len(together), strict=True):
                # One of them kept it from answering: each by itself.
                answer = what or await _outcome(self._one(package))
                if found.done():
                    continue
                if isinstance(answer, Exception):
                    found.set_exception(answer)
                else:
                    found.set_result(answer)
        finally:
            # After a cancellation of this one, the others are for whoever comes next.
            self._waiting += [one for one in together if not one[1].done()]

    async def _skills_of(self, packages: Sequence[PluginPackage]) -> list[Findings] | None:
        """Return what it says of skills in the order of their plugins, None if it did not answer."""
        with tempfile.TemporaryDirectory(prefix="plugin-check-") as temporary:
            folder = Path(temporary) / "plugin"
            try:
                skills = await _written(_write_skills, packages, folder)
            except OSError:
                return None
            found = await self._run(folder, Path(temporary))
        if isinstance(found, str):
            return None
        said: list[tuple[list[PluginProblem], list[PluginProblem]]] = [([], []) for _ in packages]
        for problem, is_fatal in found:
            if problem.file != NATIVE_MANIFEST:
                index, file = skills[problem.file.split("/")[1]]
                said[index][0 if is_fatal else 1].append(replace(problem, file=file))
        return [Findings(errors=tuple(errors), warnings=tuple(warnings)) for errors, warnings in said]

    async def _one(self, package: PluginPackage) -> Findings:
        with tempfile.TemporaryDirectory(prefix="plugin-check-") as temporary:
            folder = package.root
            if not is_native(package):
                folder = Path(temporary) / "plugin"
                await _written(write_native_copy, package, folder)
            found = await self._run(folder, Path(temporary))
        if isinstance(found, str):
            return Findings(errors=(PluginProblem(file=".", message=f"could not be checked: Claude Code {found}"),))
        return Findings(
            errors=tuple(problem for problem, is_fatal in found if is_fatal),
            warnings=tuple(
                problem
                for problem, is_fatal in found
                # What the manifest lacks that was just made for it is nobody's fault.
                if not is_fatal and (is_native(package) or problem.file != NATIVE_MANIFEST)
            ),
        )

    async def _run(self, folder: Path, home: Path) -> list[tuple[PluginProblem, bool]] | str:
        """Return what is said of a folder, and whether it keeps Claude Code from loading it; a text if nothing is."""
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
            return "did not answer in time"
        except ValueError:
            return "gave no answer that could be read"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())
        parts: list[dict[str, Any]] = [report["manifest"], *report["contents"]]
        return [one for part in parts for one in _problems(part, folder)]


async def _outcome(work: Awaitable[Findings]) -> Findings | Exception:
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - for whoever asked
        return error


def _write_skills(packages: Sequence[PluginPackage], folder: Path) -> dict[str, tuple[int, str]]:
    """Write the skills of plugins into one; return whose each is and what its file is called there, by its folder."""
    (folder / NATIVE_MANIFEST).parent.mkdir(parents=True)
    (folder / NATIVE_MANIFEST).write_text('{"name": "together", "version": "1.0.0"}')
    skills: dict[str, tuple[int, str]] = {}
    for index, package in enumerate(packages):
        for name, skill in native_skills(package):
            target = folder / "skills" / f"{len(skills)}-{name}"
            target.mkdir(parents=True)
            shutil.copyfile(skill / SKILL_FILE, target / SKILL_FILE)
            skills[target.name] = index, f"skills/{name}/{SKILL_FILE}"
    return skills


async def _written[**P, T](write: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Write in a thread, and to the end even if nobody waits: the folder is deleted next."""
    writing = asyncio.create_task(asyncio.to_thread(write, *args, **kwargs))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        raise


def _problems(part: dict[str, Any], folder: Path) -> Iterator[tuple[PluginProblem, bool]]:
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
