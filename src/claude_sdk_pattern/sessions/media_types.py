"""What a file is, told from how it begins and not from what its sender says. Pure."""

import codecs
from typing import Final

SNIFFED_BYTES: Final = 4096
"""How much of a file's beginning :func:`media_type` looks at."""

PDF: Final = "application/pdf"

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The kinds of pictures that the Messages API takes."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)


def media_type(head: bytes) -> str:
    """Return the media type of a file that begins so.

    Pictures and PDFs are told apart, everything else is text or not; for those a browser must run nothing anyway.
    """
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return "text/plain" if _is_text(head[:SNIFFED_BYTES]) else "application/octet-stream"


def _is_text(head: bytes) -> bool:
    try:
        # Incremental: the beginning may end within a letter.
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return "\0" not in text
