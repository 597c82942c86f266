"""What a file is by how it begins. Pure."""

import pytest
from tests.support.pictures import pdf, png

from claude_sdk_pattern.sessions.media_types import SNIFFED_BYTES, media_type


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (png(1, 1), "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"GIF87a\x01\x00", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "application/octet-stream"),
        (pdf(100), "application/pdf"),
        (b"", "text/plain"),
        ("Größe: 3 €\n".encode(), "text/plain"),
        (b"<script>alert(1)</script>", "text/plain"),
        (b'<svg xmlns="http://www.w3.org/2000/svg">', "text/plain"),
        (b"PK\x03\x04\x14\x00\x08\x00", "application/octet-stream"),
        (b"text with a \x00 in it", "application/octet-stream"),
        ("Größe".encode("latin-1"), "application/octet-stream"),
    ],
)
def test_content_decides(head: bytes, kind: str) -> None:
    assert media_type(head) == kind


def test_a_letter_cut_in_two_where_the_look_ends_is_no_fault() -> None:
    assert media_type(("a" + "é" * SNIFFED_BYTES).encode()) == "text/plain"
