"""Looks at an answer's event stream as it passes: is it one, is it complete, and what does it cost?

Only whole events go on. That delays nothing, because the receiver can do nothing with a part of one, and keeps what is
not an event of the Messages API from it. The many events that carry text are told by their first and last bytes;
only the few that carry figures are parsed.
"""

from typing import Any, cast

import orjson

# The largest events are tool inputs sent in one piece; anything over this is no event but something without end.
MAX_EVENT_BYTES = 8 * 1024 * 1024

_DELTA = b"event: content_block_delta\ndata: {"


class EventStream:
    """One answer. Give it the bytes as they come; it says what may be passed on and what they meant.

    Attributes:
        has_begun: an event beyond the start of the message and pings has come.
        is_finished: the model has said why it stopped; nothing of the answer is missing.
        is_complete: the last event has come.
        is_garbage: what came is no event stream of the Messages API. What follows is not looked at.
        error: type and message of the API's error event, which ends the stream. It is not passed on.
        model: the model that answers, as the API names it.
        usage: the API's figures so far, as it sent them.
        progress: how many events came, pings apart.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self.is_finished = False
        self.is_complete = False
        self.is_garbage = False
        self.error: tuple[str, str] | None = None
        self.model = ""
        self.usage: dict[str, Any] | None = None
        self.progress = 0
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes and return those that may go on: whole events, up to the first that is none or is an error."""
        data = self._rest + chunk
        if b"\r" in data:
            # A carriage return inside of an event is escaped, so these can only be line ends; a lone last one waits.
            data = data.replace(b"\r\n", b"\n")
        end = data.rfind(b"\n\n") + 2
        if end < 2:
            end = 0
        self._rest = data[end:]
        if not end:
            self.is_garbage = len(data) > MAX_EVENT_BYTES
            return b""
        good = 0
        for event in data[: end - 2].split(b"\n\n"):
            if not self._is_good(event):
                return data[:good]
            good += len(event) + 2
        return data[:end]

    def _is_good(self, event: bytes) -> bool:
        if event.startswith(_DELTA) and event.endswith(b"}") and self.progress:
            self.progress += 1
            self.has_begun = True
            return True
        try:
            return self._read(event)
        except (ValueError, TypeError, KeyError, AttributeError):
            self.is_garbage = True
            return False

    def _read(self, event: bytes) -> bool:
        kind, data = _fields(event)
        if not data:
            return True
        if not (data.startswith(b"{") and data.endswith(b"}")):
            raise ValueError("not a JSON object")
        if kind == "ping":
            return True
        if kind == "error":
            found = orjson.loads(data)["error"]
            self.error = (str(found["type"]), str(found["message"]))
            return False
        if kind != "message_start" and not self.progress:
            raise ValueError("an answer begins with message_start")
        self.progress += 1
        self.has_begun = self.has_begun or kind != "message_start"
        match kind:
            case "message_start":
                message = orjson.loads(data)["message"]
                self.model = str(message["model"])
                self._add_usage(message.get("usage"))
            case "message_delta":
                message = orjson.loads(data)
                self._add_usage(message.get("usage"))
                self.is_finished = self.is_finished or message["delta"].get("stop_reason") is not None
            case "message_stop":
                self.is_finished = self.is_complete = True
            case _:
                # Blocks, and whatever the API will have one day.
                pass
        return True

    def _add_usage(self, usage: Any) -> None:
        """Take over figures: those at the end are totals and replace the ones of the start."""
        if isinstance(usage, dict):
            given = cast("dict[str, Any]", usage)
            self.usage = {**(self.usage or {}), **{name: value for name, value in given.items() if value is not None}}


def _fields(event: bytes) -> tuple[str, bytes]:
    """Return the type and the data of a server-sent event.

    Raises:
        ValueError: it has lines that no event has.
    """
    kind, data = "", b""
    for line in event.split(b"\n"):
        if not line or line.startswith(b":"):
            continue
        name, _, value = line.partition(b":")
        match name:
            case b"event":
                kind = value.strip().decode()
            case b"data":
                data += value.strip()
            case b"id" | b"retry":
                pass
            case _:
                raise ValueError("not a field of an event")
    return kind, data
