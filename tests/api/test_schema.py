"""The documents of the public interface, printed as the build of the web app has them printed."""

import json
import subprocess
import sys
from typing import Any

import pytest

from claude_sdk_pattern.api.schema import frames_schema, main, openapi_schema
from claude_sdk_pattern.events.types import Event


def types(schema: dict[str, Any], union: str) -> set[str]:
    """Return the values of ``type`` in one of the unions of the frames' schema."""
    definitions = schema["$defs"]
    parts = definitions["Frames"]["properties"][union]
    parts = definitions[parts["$ref"].rsplit("/", 1)[1]] if "$ref" in parts else parts
    return set(parts["discriminator"]["mapping"])


def test_the_command_prints_the_frames() -> None:
    command = [sys.executable, "-m", "claude_sdk_pattern.api.schema", "frames"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == frames_schema()


def test_the_command_prints_openapi(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openapi"]) == 0
    assert json.loads(capsys.readouterr().out) == openapi_schema()


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["frames", "openapi"]])
def test_anything_else_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "frames|openapi" in printed.err


def test_the_frames_are_all_there() -> None:
    schema = frames_schema()
    assert types(schema, "client") == {
        "user_message",
        "interrupt",
        "permission_response",
        "session_command",
        "plugin_config",
        "presence",
        "ping",
    }
    assert types(schema, "connection") == {
        "hello",
        "presence",
        "status",
        "pong",
        "error",
        "session_command_result",
    }
    assert types(schema, "event") == {str(kind.model_fields["type"].default) for kind in Event.__subclasses__()}


def test_every_route_says_that_its_errors_are_problems() -> None:
    document = openapi_schema()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "/health/" in path:
                continue
            problem = operation["responses"]["default"]["content"]
            assert list(problem) == ["application/problem+json"], (path, method)
    assert "ProblemBody" in document["components"]["schemas"]
