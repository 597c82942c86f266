"""The processes of agents, found from outside: by the folder that their environment names."""

from pathlib import Path
from typing import Any

import psutil


def agent_processes(*data_dirs: Path) -> list[psutil.Process]:
    """Return everything that lives of the agents of these data folders, their shells included."""
    return [process for process, _ in _named(*data_dirs)]


def runs(program: str, *data_dirs: Path) -> bool:
    """Whether an agent of these data folders runs a program."""
    return any(program in name for _, name in _named(*data_dirs))


def _named(*data_dirs: Path) -> list[tuple[psutil.Process, str]]:
    found: list[tuple[psutil.Process, str]] = []
    for process in psutil.process_iter(["name", "environ"]):
        info: dict[str, Any] = process.info
        environment: dict[str, str] = info["environ"] or {}
        folder = environment.get("CLAUDE_CONFIG_DIR", "")
        if any(folder.startswith(f"{data_dir}/") for data_dir in data_dirs):
            found.append((process, info["name"] or ""))
    return found
