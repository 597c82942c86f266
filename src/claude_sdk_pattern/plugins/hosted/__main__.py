"""``python -I -m claude_sdk_pattern.plugins.hosted``: a plugin's Python as an MCP server on standard input and output.

What it is to load stands in the environment. What the plugin prints goes to standard error, with everything that goes
wrong before the server is there; the last line says what that was.
"""

import asyncio
import os
import sys
import traceback
from typing import Any

from mcp.server import Server
from mcp.server.stdio import stdio_server

from claude_sdk_pattern.plugins.hosted.code import load_server
from claude_sdk_pattern.plugins.hosted.protocol import SPEC_VARIABLE, CodeSpec

# The plugin's code could not be loaded.
NOT_LOADED = 3


async def _serve(spec: CodeSpec) -> int:
    # Claims standard output before anything of the plugin can print to it.
    async with stdio_server() as (read, write):
        try:
            # In the loop, so that what is made at import belongs to it.
            server: Server[Any] = load_server(spec)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: a module that exits is one that cannot be used
            _tell(error)
            os._exit(NOT_LOADED)
        await server.run(read, write, server.create_initialization_options())
    return 0


def _tell(error: BaseException) -> None:
    traceback.print_exception(error, limit=-5)
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve(CodeSpec.model_validate_json(os.environ.pop(SPEC_VARIABLE)))))
