"""Signed packages: Ed25519 over the bytes of the archive, made with ``openssl`` or ``plugin pack --sign``."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from claude_sdk_pattern.plugins.errors import PackageNotTrustedError


def load_public_keys(files: Sequence[Path]) -> tuple[Ed25519PublicKey, ...]:
    """Return the keys in PEM files.

    Raises:
        ValueError: a file cannot be read, or holds no public Ed25519 key.
    """
    keys: list[Ed25519PublicKey] = []
    for file in files:
        try:
            key = load_pem_public_key(file.read_bytes())
        except (OSError, ValueError, UnsupportedAlgorithm) as error:
            raise ValueError(f"{file} holds no public key in PEM: {type(error).__name__}") from error
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError(f"{file} holds a key that is not of the kind Ed25519")
        keys.append(key)
    return tuple(keys)


def sign_archive(archive: bytes, key_file: Path) -> str:
    """Return the signature of an archive, in base64.

    Raises:
        ValueError: the file holds no private Ed25519 key, or one with a password.
        OSError: it cannot be read.
    """
    try:
        key = load_pem_private_key(key_file.read_bytes(), password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise ValueError(f"{key_file} holds no private key in PEM, or one with a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{key_file} holds a key that is not of the kind Ed25519")
    return base64.b64encode(key.sign(archive)).decode()


def check_archive(
    archive: bytes, *, sha256: str | None, signature: str | None, keys: Sequence[Ed25519PublicKey]
) -> None:
    """Do nothing if an archive is what its sender says, and signed if there are keys.

    Raises:
        PackageNotTrustedError: it is not.
    """
    if sha256 is not None and hashlib.sha256(archive).hexdigest() != sha256.strip().lower():
        raise PackageNotTrustedError("The archive does not have the SHA-256 that came with it.")
    if not keys:
        return
    if signature is None:
        raise PackageNotTrustedError("This server takes signed packages only: send `signature`.")
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        raise PackageNotTrustedError("The signature is no base64.") from None
    if not any(_is_signed_by(key, raw, archive) for key in keys):
        raise PackageNotTrustedError("The signature is of none of the keys that this server trusts.")


def _is_signed_by(key: Ed25519PublicKey, signature: bytes, archive: bytes) -> bool:
    try:
        key.verify(signature, archive)
    except InvalidSignature:
        return False
    return True
