"""A server that is killed in the middle of an installation: afterwards there is the old version or the new one.

Real: a process that installs and is ended by the kernel, at points spread over everything it does on the way.
"""

import asyncio
import io
import signal
import sys
import zipfile
from pathlib import Path

import pytest
from tests.support.plugins import deployed, zipped_plugin

from claude_sdk_pattern.storage.database import Database

pytestmark = [pytest.mark.anyio, pytest.mark.chaos]

# An audit hook hears of every file that is opened, renamed or removed: the process ends itself at the given one.
# Imports take longer than all the rest, so they are made once, by a process that begins another for each line it reads.
_PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.support.plugins import deployed
from claude_sdk_pattern.storage.database import Database

url, folder, data_dir = sys.argv[1:]

async def install(archive, kill_at):
    heard, is_counting = 0, False

    def listen(event, arguments):
        nonlocal heard
        if is_counting and event.split(".")[0] in {"open", "os", "shutil", "sqlite3", "tempfile"}:
            heard += 1
            if heard == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(listen)
    async with Database(url) as database, deployed(database, Path(folder), Path(data_dir)) as server:
        is_counting = True
        await server.registry.install(Path(archive).read_bytes(), actor="ada", origin="weather.zip")
        is_counting = False
    return heard

for line in sys.stdin:
    archive, kill_at = line.split()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, str(asyncio.run(install(archive, int(kill_at)))).encode())
        os._exit(0)
    os.close(writing)
    _, status = os.wait()
    print("ended", status, os.read(reading, 20).decode() or 0, flush=True)
    os.close(reading)
"""

POINTS = 6


async def test_killed_installation_leaves_the_old_version_or_the_new_one(
    sqlite_url: str, folder: Path, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    async with Database(sqlite_url) as database, deployed(database, folder, data_dir) as server:
        await server.registry.install(zipped_plugin(), actor="ada", origin="weather.zip")
        await server.registry.activate("weather", actor="ada")

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PROGRAM, sqlite_url, str(folder), str(data_dir)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    async def install(version: str, kill_at: int) -> int:
        """Install a version, killed at its ``kill_at``-th step; return how many steps there were, 0 if killed."""
        assert process.stdin is not None
        assert process.stdout is not None
        (tmp_path / "next.zip").write_bytes(zipped_plugin(version=version))
        process.stdin.write(f"{tmp_path / 'next.zip'} {kill_at}\n".encode())
        async with asyncio.timeout(90):
            while True:
                match (await process.stdout.readline()).split():
                    case [b"ended", status, steps]:
                        assert (int(status) == signal.SIGKILL) == (kill_at > 0)
                        return int(steps)
                    case []:
                        raise AssertionError("the process ended")
                    case _:
                        pass

    with zipfile.ZipFile(io.BytesIO(zipped_plugin())) as archive:
        tools = archive.read("tools.py")
    steps, before = await install("1.0.1", 0), "1.0.1"
    assert steps > POINTS
    for point in range(POINTS):
        version = f"1.1.{point}"
        await install(version, 1 + point * (steps - 1) // (POINTS - 1))
        async with Database(sqlite_url) as database, deployed(database, folder, data_dir) as server:
            overview = await server.registry.find("weather")
            (plugin,) = server.registry.active
            assert overview.record.version in {before, version}
            assert plugin.package.version in {before, version}
            assert (plugin.package.root / "tools.py").read_bytes() == tools
            assert overview.record.status == "active"
            assert list((data_dir / "plugins" / ".incoming").iterdir()) == []
            before = overview.record.version
            assert plugin.package.version == before
    process.stdin.close()
    await process.wait()
