"""``python -m claude_sdk_pattern.model_gateway.scripted --port 8099``: the scripted model as a process of its own."""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from claude_sdk_pattern.model_gateway.scripted import ScenarioError, load_scenarios, running_scripted_model


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripted", description="A scripted stand-in for the model API.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--scenarios", type=Path, action="append", help="a further file or folder of scenarios")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(_serve(arguments.port, arguments.scenarios))
        except (ScenarioError, OSError) as problem:
            sys.stderr.write(f"{problem}\n")
            return 1
    return 0


async def _serve(port: int, paths: list[Path] | None) -> None:
    async with running_scripted_model(port, load_scenarios(paths)) as model:
        sys.stdout.write(f"{model.base_url}\n")  # the first line is the address: callers wait for it
        sys.stdout.flush()
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())
