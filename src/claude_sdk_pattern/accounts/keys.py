"""Keys made from the one secret of the configuration, and the hash under which tokens are stored."""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256


def derive_key(secret: str, purpose: str) -> bytes:
    """Return a 32-byte key for one purpose.

    Each use of the secret gets a key of its own: what is signed for one purpose proves nothing for another, and a
    key that leaks gives away neither the secret nor the other keys.
    """
    return hmac.digest(secret.encode(), f"claude_sdk_pattern/{purpose}".encode(), "sha256")


def token_hash(token: str) -> str:
    """Return what is stored of a random token.

    A plain hash does: there is no guessing 256 random bits, so nothing is gained by making it slow.
    """
    return sha256(token.encode()).hexdigest()


def base64url(raw: bytes) -> str:
    """Return bytes in the alphabet of URLs, without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
