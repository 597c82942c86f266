"""The one file of a multipart request, handed on as it comes in: it waits neither in memory nor in a temporary file."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from claude_sdk_pattern.api.problems import Problem

FIELD: Final = "file"

FILE_FORM: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {FIELD: {"type": "string", "format": "binary"}},
                    "required": [FIELD],
                }
            }
        },
    }
}
"""For ``openapi_extra=`` of a route: its body is such a form."""

# What a multipart body has besides the file: boundaries and a few headers.
FRAMING_BYTES: Final = 64 * 1024


class UploadedFile:
    """Reads a request; iterating gives the bytes of its file. Made by :meth:`begin`.

    Raises while it is read:
        Problem: 422 ``invalid_request``, the body is no multipart form or holds anything besides one file;
            400 ``bad_request``, the client left in the middle.
    """

    def __init__(self, body: AsyncGenerator[bytes], boundary: bytes) -> None:
        self.name = ""
        self._body = body
        # Headers of a part, its bytes, None for its end.
        self._found: deque[dict[str, str] | bytes | None] = deque()
        self._headers: dict[str, str] = {}
        self._field = b""
        self._value = b""
        self._is_over = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_part_begin,
                    "on_header_field": self._on_header_field,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._on_header_end,
                    "on_headers_finished": self._on_headers_finished,
                    "on_part_data": self._on_part_data,
                    "on_part_end": self._on_part_end,
                    "on_end": self._on_end,
                },
            )
        except FormParserError as error:
            raise _refused("The body is not a multipart form.") from error

    @classmethod
    async def begin(cls, request: Request) -> "UploadedFile":
        """Read up to the beginning of the file, from when on its ``name`` is known.

        Raises:
            Problem: as above, or 415 ``unsupported_media_type``.
        """
        kind, options = parse_options_header(request.headers.get("content-type"))
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise Problem(415, "unsupported_media_type", "Unsupported media type", "Send multipart/form-data.")
        upload = cls(request.stream(), boundary)
        headers = await upload._next()
        if not isinstance(headers, dict):
            raise _refused("The form is empty.")
        _, disposition = parse_options_header(headers.get("content-disposition"))
        if disposition.get(b"name") != FIELD.encode() or b"filename" not in disposition:
            raise _refused(f"The form has to hold one file, in the field `{FIELD}`.")
        # Browsers send the name in UTF-8; the parser hands on what HTTP takes headers for.
        upload.name = disposition[b"filename"].decode(errors="replace")
        return upload

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(part := await self._next(), bytes):
            yield part
        if await self._next() is not None or not self._is_over:
            raise _refused("Send one file at a time.")

    async def _next(self) -> dict[str, str] | bytes | None:
        """Return the next thing found; None at the end of a part and of the form."""
        while not self._found:
            if self._is_over:
                return None
            try:
                self._parser.write(await anext(self._body))
            except StopAsyncIteration:
                raise _refused("The form breaks off.") from None
            except FormParserError as error:
                raise _refused("The body is not a multipart form.") from error
            except ClientDisconnect as error:
                raise Problem(400, "bad_request", "Bad request", "The upload broke off.") from error
        return self._found.popleft()

    # --- what the parser reports --------------------------------------------------------------------------------

    def _on_part_begin(self) -> None:
        self._headers = {}

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._field.decode("latin-1").lower()] = self._value.decode("latin-1")
        self._field = self._value = b""

    def _on_headers_finished(self) -> None:
        self._found.append(self._headers)

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._found.append(data[start:end])

    def _on_part_end(self) -> None:
        self._found.append(None)

    def _on_end(self) -> None:
        self._is_over = True


async def whole_upload(request: Request, *, max_bytes: int) -> tuple[str, bytes]:
    """Return the name and all bytes of an uploaded file: for those that are judged as a whole.

    Raises:
        Problem: as :class:`UploadedFile`, or 413 ``body_too_large``.
    """
    announced = request.headers.get("content-length", "")
    # Told at once, the client need not send what would be refused.
    if announced.isdecimal() and int(announced) > max_bytes + FRAMING_BYTES:
        raise _too_large(max_bytes)
    upload = await UploadedFile.begin(request)
    received = bytearray()
    async for piece in upload:
        received += piece
        if len(received) > max_bytes:
            raise _too_large(max_bytes)
    return upload.name, bytes(received)


def _too_large(max_bytes: int) -> Problem:
    return Problem(413, "body_too_large", "File too large", f"The file may have {max_bytes} bytes.")


def _refused(detail: str) -> Problem:
    return Problem(422, "invalid_request", "Invalid request", detail)
