"""The public interface in machine-readable form, from which the web app's types are generated.

``python -m claude_sdk_pattern.api.schema frames`` prints the JSON Schema of all WebSocket frames,
``... openapi`` the OpenAPI document of the REST routes.
"""

import json
import sys
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from claude_sdk_pattern import __version__
from claude_sdk_pattern.api import problems
from claude_sdk_pattern.api.frames import ClientFrame, ServerFrame
from claude_sdk_pattern.api.rest_modules import REST_MODULES
from claude_sdk_pattern.events.types import AnyEvent


class Envelope(BaseModel):
    """What every event of the tape carries besides its own fields."""

    model_config = ConfigDict(extra="allow")

    seq: Annotated[int, Field(ge=1)]
    session_id: str
    turn_id: str | None
    actor: str
    ts: str


class Frames(BaseModel):
    """All frames: what a client sends, what the server says of one connection, and the events of the tape."""

    client: ClientFrame
    connection: ServerFrame
    event: AnyEvent
    envelope: Envelope


def frames_schema() -> dict[str, Any]:
    """Return the JSON Schema of all frames, as they are sent (``serialization`` mode for the server's)."""
    _, schema = models_json_schema([(Frames, "validation")], title="Frames")
    return schema


def openapi_schema() -> dict[str, Any]:
    """Return the OpenAPI document without starting a server."""
    app = FastAPI(title="claude_sdk_pattern", version=__version__)
    problems.install(app)
    for module in REST_MODULES:
        app.include_router(module.router)
    return app.openapi()


def main(arguments: list[str]) -> int:
    """Print one of the two documents; return the exit code."""
    documents = {"frames": frames_schema, "openapi": openapi_schema}
    if len(arguments) != 1 or arguments[0] not in documents:
        sys.stderr.write("usage: python -m claude_sdk_pattern.api.schema frames|openapi\n")
        return 2
    sys.stdout.write(json.dumps(documents[arguments[0]](), indent=2, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
