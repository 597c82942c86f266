"""ID tokens of a provider that errs or lies: made here with real keys, and handed over by a server on loopback."""

import hmac
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from claude_sdk_pattern.accounts.errors import ProviderSignInError
from claude_sdk_pattern.accounts.oidc_provider import Attempt, Client, OidcProvider

pytestmark = pytest.mark.anyio

KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": kid}) for kid in ("one", "two"))
SECRET = "a secret that is long enough to be the key of a signature"
ATTEMPT = Attempt(state="a state", nonce="a nonce", code_verifier="v" * 64)


class LyingProvider:
    """Answers what it is told to."""

    def __init__(self) -> None:
        self.issuer = ""
        self.id_token = ""
        self.keys = KeySet([KEY])

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        good = {
            "iss": self.issuer,
            "aud": "me",
            "sub": "somebody",
            "exp": now + 300,
            "iat": now,
            "nonce": ATTEMPT.nonce,
        }
        return {name: value for name, value in (good | changes).items() if value is not None}

    def sign(self, key: Any = KEY, algorithm: str = "RS256", **changes: Any) -> None:
        self.id_token = jwt.encode(
            {"alg": algorithm, "kid": key.kid}, self.claims(**changes), key, algorithms=[algorithm]
        )

    async def describe(self, request: web.Request) -> web.Response:
        places = {name: f"{self.issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        return web.json_response({"issuer": self.issuer, **places})

    async def show_keys(self, request: web.Request) -> web.Response:
        return web.json_response(self.keys.as_dict(private=False))

    async def give_tokens(self, request: web.Request) -> web.Response:
        return web.json_response({"id_token": self.id_token, "access_token": "unused", "token_type": "bearer"})


@pytest.fixture
async def liar(anyio_backend: str) -> AsyncGenerator[LyingProvider]:
    liar = LyingProvider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", liar.describe)
    app.router.add_get("/jwks_uri", liar.show_keys)
    app.router.add_post("/token_endpoint", liar.give_tokens)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    liar.issuer = f"http://{host}:{port}"
    yield liar
    await runner.cleanup()


def provider_of(liar: LyingProvider) -> OidcProvider:
    return OidcProvider(liar.issuer, Client(client_id="me", client_secret=SECRET))


async def test_a_good_token_says_who_it_is(liar: LyingProvider) -> None:
    """The table below changes one thing of this token at a time, so this one has to be good."""
    liar.sign()
    assert (await provider_of(liar).claims_for("a code", ATTEMPT, "https://here"))["sub"] == "somebody"


async def test_several_audiences_are_good_if_the_token_was_made_for_us(liar: LyingProvider) -> None:
    liar.sign(aud=["me", "another"], azp="me")
    assert await provider_of(liar).claims_for("a code", ATTEMPT, "https://here")


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "http://127.0.0.1:1"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"aud": ["me", "another"]},
        {"aud": ["me", "another"], "azp": "another"},
        {"exp": 1},
        {"exp": None},
        {"exp": "never"},
        {"nonce": "of another attempt"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"iat": None},
    ],
    ids=str,
)
async def test_a_token_with_a_wrong_or_missing_claim_is_refused(liar: LyingProvider, changes: dict[str, Any]) -> None:
    liar.sign(**changes)
    with pytest.raises(ProviderSignInError) as refused:
        await provider_of(liar).claims_for("a code", ATTEMPT, "https://here")
    assert refused.value.code == "oidc_rejected"


async def test_a_token_that_the_provider_did_not_sign_is_refused(liar: LyingProvider) -> None:
    forged: list[str] = []
    liar.sign(OTHER_KEY)
    forged.append(liar.id_token)
    # The secret that both sides know, and the key that everybody knows, as the key of a signature.
    liar.sign()
    head, body, _ = liar.id_token.split(".")
    symmetric = urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').rstrip(b"=").decode()
    for shared in (SECRET.encode(), KEY.as_pem(private=False)):
        signature = hmac.digest(shared, f"{symmetric}.{body}".encode(), "sha256")
        forged.append(f"{symmetric}.{body}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}")
    forged += [f"{head}.{body}.", "eyJhbGciOiJub25lIn0." + body + ".", "nonsense", ""]
    for token in forged:
        liar.id_token = token
        with pytest.raises(ProviderSignInError) as refused:
            await provider_of(liar).claims_for("a code", ATTEMPT, "https://here")
        assert refused.value.code == "oidc_rejected"


async def test_a_provider_that_changed_its_keys_is_asked_for_them_again(liar: LyingProvider) -> None:
    provider = provider_of(liar)
    liar.sign()
    await provider.claims_for("a code", ATTEMPT, "https://here")
    liar.keys = KeySet([OTHER_KEY])
    liar.sign(OTHER_KEY)
    assert await provider.claims_for("another code", ATTEMPT, "https://here")
