"""An MCP server, as small as they get, with one tool that tells who and where its process is."""

import json
import os
import sys
from typing import Any


def told() -> str:
    """Return the process's user, its network interfaces, and the variables it was started with."""
    with open("/proc/net/dev") as devices:
        interfaces = [line.split(":")[0].strip() for line in devices.readlines()[2:]]
    namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("net", "pid", "mnt", "user")}
    return json.dumps({"uid": os.getuid(), "interfaces": interfaces, "environment": sorted(os.environ)} | namespaces)


def answer(method: str, version: str) -> dict[str, Any]:
    """Return the result of a request."""
    match method:
        case "initialize":
            info = {"name": "where", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            schema: dict[str, Any] = {"type": "object", "properties": {}}
            return {"tools": [{"name": "tell", "description": "Tells where it runs.", "inputSchema": schema}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": told()}]}
        case _:
            return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            version = message.get("params", {}).get("protocolVersion", "")
            result = answer(message["method"], version)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
