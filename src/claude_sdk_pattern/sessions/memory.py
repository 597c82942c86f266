"""How much memory processes use, each with all it has started."""

import asyncio
from collections import defaultdict
from collections.abc import Collection

import psutil


async def tree_rss(pids: Collection[int]) -> dict[int, int]:
    """Return, for each process that is alive, the resident memory of it and all its descendants, in bytes.

    Pages that several of them share are counted for each. A sandbox's process is the ancestor of all inside it.
    """
    return await asyncio.to_thread(_tree_rss, pids) if pids else {}


def _tree_rss(pids: Collection[int]) -> dict[int, int]:
    # One look at all processes, however many trees are asked for.
    children: defaultdict[int, list[int]] = defaultdict(list)
    rss: dict[int, int] = {}
    for process in psutil.process_iter(["pid", "ppid", "memory_info"]):
        info = process.info
        if info["memory_info"] is not None:
            rss[info["pid"]] = info["memory_info"].rss
            children[info["ppid"]].append(info["pid"])
    return {pid: _sum(pid, rss, children) for pid in pids if pid in rss}


def _sum(pid: int, rss: dict[int, int], children: dict[int, list[int]]) -> int:
    total, waiting = 0, [pid]
    while waiting:
        member = waiting.pop()
        total += rss[member]
        waiting += children.get(member, [])
    return total
