"""An OpenID Connect provider as a client sees it: where its doors are, what it says of somebody, and whether it did.

Authorization code with PKCE. The protocol's parameters and the checks of an ID token are Authlib's; here is how they
are fetched, and what every failure is called.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
import orjson
import structlog
from authlib.oauth2.auth import ClientAuth

# The published types of these lack what they return.
from authlib.oauth2.rfc6749.parameters import (
    prepare_grant_uri,  # pyright: ignore[reportUnknownVariableType]
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # pyright: ignore[reportUnknownVariableType]
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from claude_sdk_pattern.accounts.errors import ProviderSignInError

logger = structlog.get_logger(__name__)

# Signatures with a key pair only. With HMAC the client's secret would be the key, and `none` is no signature at all.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")

_TIMEOUT = aiohttp.ClientTimeout(total=10.0)
_MAX_ANSWER_BYTES = 1024 * 1024
_METADATA_SECONDS = 3600.0

# Clocks of two machines, not two rooms.
_LEEWAY_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What one sign-in is begun with and has to be ended with; all three are random."""

    state: str
    nonce: str
    code_verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What we are to the provider. Without a secret the client is a public one."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scopes: str = "openid profile email"


class OidcProvider:
    """One provider. Its description and its keys are fetched when they are needed, and kept.

    Raises:
        ProviderSignInError: every method that asks the provider, with ``oidc_unreachable`` when it does not answer,
            ``oidc_misconfigured`` when it is not what the settings say, ``oidc_rejected`` when it does not vouch.
    """

    def __init__(self, issuer: str, client: Client, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.issuer = issuer
        self._client = client
        self._monotonic = monotonic
        self._metadata: Mapping[str, Any] = {}
        self._read_at = 0.0
        self._reading = asyncio.Lock()
        self._keys: KeySet | None = None

    async def authorization_url(self, attempt: Attempt, redirect_uri: str) -> str:
        """Return where a person's browser goes to sign in."""
        metadata = await self._described()
        challenge = cast("str", create_s256_code_challenge(attempt.code_verifier))
        return cast(
            "str",
            prepare_grant_uri(
                metadata["authorization_endpoint"],
                client_id=self._client.client_id,
                response_type="code",
                redirect_uri=redirect_uri,
                scope=self._client.scopes,
                state=attempt.state,
                nonce=attempt.nonce,
                code_challenge=challenge,
                code_challenge_method="S256",
            ),
        )

    async def end_session_url(self, return_to: str) -> str | None:
        """Return where a browser goes to sign out there as well; ``None`` if the provider has no such place."""
        endpoint = (await self._described()).get("end_session_endpoint")
        if not isinstance(endpoint, str):
            return None
        query = urlencode({"client_id": self._client.client_id, "post_logout_redirect_uri": return_to})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def claims_for(self, code: str, attempt: Attempt, redirect_uri: str) -> Mapping[str, Any]:
        """Trade an authorization code for what the provider says of the person; its ``sub`` is a text."""
        metadata = await self._described()
        tokens = await self._exchange(metadata, code, attempt, redirect_uri)
        id_token = tokens.get("id_token")
        if not isinstance(id_token, str):
            raise _rejected("the token endpoint gave no ID token")
        return await self._validated(metadata, id_token, attempt.nonce, tokens.get("access_token"))

    async def _described(self) -> Mapping[str, Any]:
        async with self._reading:
            if not self._metadata or self._monotonic() - self._read_at > _METADATA_SECONDS:
                metadata = await _fetched(get_well_known_url(self.issuer, external=True))
                self._check(metadata)
                self._metadata, self._keys, self._read_at = metadata, None, self._monotonic()
            return self._metadata

    def _check(self, metadata: Mapping[str, Any]) -> None:
        if metadata.get("issuer") != self.issuer:
            # Otherwise one provider could speak for another.
            raise ProviderSignInError(
                "oidc_misconfigured",
                f"The identity provider calls itself {metadata.get('issuer')!r}, but the server expects "
                f"{self.issuer!r}.",
            )
        described = OpenIDProviderMetadata(metadata)
        try:
            for part in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if part not in metadata:
                    raise ValueError(f"{part} is missing")
                if not _is_loopback(self.issuer):
                    getattr(described, f"validate_{part}")()
        except ValueError as error:
            raise ProviderSignInError(
                "oidc_misconfigured", f"The identity provider's description of itself is wrong: {error}."
            ) from error

    async def _exchange(
        self, metadata: Mapping[str, Any], code: str, attempt: Attempt, redirect_uri: str
    ) -> Mapping[str, Any]:
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=redirect_uri, code_verifier=attempt.code_verifier
        )
        auth = ClientAuth(self._client.client_id, self._client.client_secret, self._auth_method(metadata))
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        prepare = cast("Callable[..., tuple[str, dict[str, str], str]]", cast("Any", auth).prepare)
        uri, headers, body = prepare("POST", metadata["token_endpoint"], headers, body)
        return await _fetched(uri, body=body, headers=headers)

    def _auth_method(self, metadata: Mapping[str, Any]) -> str:
        if self._client.client_secret is None:
            return "none"
        offered = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"

    async def _validated(
        self, metadata: Mapping[str, Any], id_token: str, nonce: str, access_token: object
    ) -> Mapping[str, Any]:
        try:
            try:
                token = jwt.decode(id_token, await self._key_set(metadata), algorithms=ALGORITHMS)
            except (JoseError, ValueError):
                # The provider may have changed its keys since they were fetched.
                self._keys = None
                token = jwt.decode(id_token, await self._key_set(metadata), algorithms=ALGORITHMS)
            claims = CodeIDToken(
                token.claims,
                token.header,
                options={"iss": {"value": self.issuer}, "aud": {"value": self._client.client_id}},
                params={"nonce": nonce, "client_id": self._client.client_id, "access_token": access_token},
            )
            claims.validate(leeway=_LEEWAY_SECONDS)
        except (JoseError, ValueError) as error:
            raise _rejected(f"the ID token is not valid: {error}") from error
        if not isinstance(token.claims.get("sub"), str) or not token.claims["sub"]:
            raise _rejected("the ID token names nobody")
        return token.claims

    async def _key_set(self, metadata: Mapping[str, Any]) -> KeySet:
        if self._keys is None:
            self._keys = KeySet.import_key_set(cast("Any", await _fetched(metadata["jwks_uri"])))
        return self._keys


def _is_loopback(issuer: str) -> bool:
    return issuer.startswith(("http://127.", "http://localhost", "http://[::1]"))


def _rejected(reason: str) -> ProviderSignInError:
    return ProviderSignInError("oidc_rejected", f"The identity provider's answer was refused: {reason}.")


async def _fetched(url: str, *, body: str | None = None, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """Return the JSON object at an address; with a body, what it answers to that."""
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=True) as session,
            # A redirect could lead anywhere, and a secret goes along.
            session.request(
                "GET" if body is None else "POST", url, data=body, headers=headers, allow_redirects=False
            ) as answer,
        ):
            content = await answer.content.read(_MAX_ANSWER_BYTES)
            status = answer.status
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        logger.warning("oidc_unreachable", url=url, error=f"{type(error).__name__}: {error}")
        raise ProviderSignInError(
            "oidc_unreachable", "The identity provider cannot be reached. Try again in a moment."
        ) from error
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = None
    if status == 200 and isinstance(found, dict):
        return cast("dict[str, Any]", found)
    # The words of an OAuth error are made for logs; a body that is none may hold anything.
    said = cast("dict[str, Any]", found).get("error") if isinstance(found, dict) else None
    logger.warning("oidc_refused", url=url, status=status, error=str(said)[:100])
    if body is not None and said is not None:
        raise _rejected(f"it said {str(said)[:100]}")
    raise ProviderSignInError(
        "oidc_unreachable", f"The identity provider answered with status {status}. Try again in a moment."
    )
