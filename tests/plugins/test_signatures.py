"""Packages that are pinned by hash or signed. Real: keys and signatures as ``openssl`` makes them."""

import base64
import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from claude_sdk_pattern.plugins.errors import PackageNotTrustedError
from claude_sdk_pattern.plugins.signatures import check_archive, load_public_keys, sign_archive

ARCHIVE = b"an archive"


def key_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a pair of keys; return the files of the private and the public one."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_signature_of_a_trusted_key_is_taken_and_no_other(tmp_path: Path) -> None:
    mine, my_public = key_files(tmp_path, "mine")
    _, other_public = key_files(tmp_path, "other")
    stranger, _ = key_files(tmp_path, "stranger")
    trusted = load_public_keys([other_public, my_public])
    check_archive(ARCHIVE, sha256=None, signature=sign_archive(ARCHIVE, mine), keys=trusted)
    for signature in (sign_archive(ARCHIVE, stranger), sign_archive(b"another archive", mine), "no base64!", "", None):
        with pytest.raises(PackageNotTrustedError):
            check_archive(ARCHIVE, sha256=None, signature=signature, keys=trusted)


def test_hash_that_came_along_has_to_be_right() -> None:
    digest = hashlib.sha256(ARCHIVE).hexdigest()
    check_archive(ARCHIVE, sha256=digest.upper(), signature=None, keys=())
    with pytest.raises(PackageNotTrustedError, match="SHA-256"):
        check_archive(ARCHIVE + b"!", sha256=digest, signature=None, keys=())


def test_file_that_holds_no_such_key_is_named(tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "mine")
    other = tmp_path / "ec.pem"
    other.write_bytes(
        generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    for file in (private, other, tmp_path / "missing.pem"):
        with pytest.raises(ValueError, match=file.name):
            load_public_keys([file])
    with pytest.raises(ValueError, match=r"mine\.pub\.pem"):
        sign_archive(ARCHIVE, public)
    assert len(base64.b64decode(sign_archive(ARCHIVE, private))) == 64
