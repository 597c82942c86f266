"""Pictures and documents, made from nothing."""

import os
import struct
import zlib


def png(width: int, height: int, *, noise: bool = False) -> bytes:
    """Return a picture of one colour, or of noise, which nothing makes smaller."""
    row = b"\x20\x40\x80" * width
    rows = b"".join(b"\0" + (os.urandom(3 * width) if noise else row) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(rows, 0 if noise else 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def pdf(size_bytes: int) -> bytes:
    """Return what begins like a PDF; the scripted model looks no further."""
    return b"%PDF-1.4\n".ljust(size_bytes, b"x")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
