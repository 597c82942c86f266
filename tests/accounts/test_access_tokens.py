"""Attacks on access tokens. Tokens are made by hand with the real library; no database is involved."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from claude_sdk_pattern.accounts.access_tokens import (
    AUDIENCE,
    ISSUER,
    LEEWAY,
    AccessClaims,
    AccessTokens,
)
from claude_sdk_pattern.accounts.errors import InvalidAccessTokenError
from claude_sdk_pattern.accounts.keys import derive_key
from claude_sdk_pattern.accounts.signing_keys import KeyRing
from claude_sdk_pattern.accounts.users import Role, User

pytestmark = pytest.mark.anyio

SECRET = "a secret of the tests that is long enough"
KEY = derive_key(SECRET, "access-token")
ALICE = User(id="alice-id", username="alice", role=Role.USER)
BEYOND_LEEWAY = LEEWAY + timedelta(seconds=5)

KID = "the only key"


async def ring() -> KeyRing:
    return KeyRing(kid=KID, keys={KID: KEY})


tokens = AccessTokens(ring, lifetime=timedelta(minutes=15))


def good_claims() -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "alice-id",
        "sid": "login-id",
        "role": "user",
        "iat": now,
        "exp": now + timedelta(minutes=15),
        "jti": "a token id",
    }


def signed(
    changes: Mapping[str, Any],
    key: bytes = KEY,
    *,
    algorithm: str = "HS256",
    headers: dict[str, Any] | None = None,
) -> str:
    claims = {name: value for name, value in (good_claims() | dict(changes)).items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": KID} | (headers or {}))


def unsigned(header: Mapping[str, Any]) -> str:
    claims = {"iat": 0, "exp": 99_999_999_999}
    parts = (header, {**good_claims(), **claims})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join((*encoded, ""))


async def test_a_token_says_whose_it_is_and_of_which_login() -> None:
    assert await tokens.check(await tokens.issue(ALICE, "login-id")) == AccessClaims(
        user_id="alice-id", login_id="login-id"
    )


async def test_a_token_made_by_hand_with_all_claims_is_valid() -> None:
    """The table below changes one thing of this token at a time, so this one has to be good."""
    assert (await tokens.check(signed({}))).user_id == "alice-id"


async def test_two_tokens_of_one_moment_differ() -> None:
    assert await tokens.issue(ALICE, "login-id") != await tokens.issue(ALICE, "login-id")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another audience"},
        {"aud": None},
        {"iss": "another issuer"},
        {"iss": None},
        {"exp": datetime.now(UTC) - BEYOND_LEEWAY},
        {"exp": None},
        {"exp": "never"},
        {"nbf": datetime.now(UTC) + timedelta(hours=1)},
        {"iat": datetime.now(UTC) + timedelta(hours=1)},
        {"iat": None},
        {"sub": None},
        {"sid": None},
        {"sid": 7},
        {"sid": ["login-id"]},
        {"role": None},
        {"jti": None},
    ],
    # Not the values: some are times, and all workers have to agree on the names.
    ids=" ".join,
)
async def test_a_token_with_a_wrong_or_missing_claim_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidAccessTokenError):
        await tokens.check(signed(changes))


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(unsigned({"alg": "none", "typ": "JWT", "kid": KID}), id="no signature"),
        pytest.param(unsigned({"alg": "NoNe", "typ": "JWT", "kid": KID}), id="no signature, in other letters"),
        pytest.param(unsigned({"alg": "HS256", "typ": "JWT", "kid": KID}), id="an empty signature"),
        pytest.param(unsigned({"typ": "JWT", "kid": KID}), id="no algorithm"),
        pytest.param(signed({}, algorithm="HS512", key=KEY * 2), id="another algorithm"),
        pytest.param(signed({}, key=b"another key that is long enough.."), id="another key"),
        pytest.param(signed({}, key=SECRET.encode()), id="the secret itself as key"),
        pytest.param(signed({}, key=derive_key(SECRET, "refresh-token")), id="a key for another purpose"),
        pytest.param(signed({}, headers={"crit": ["exp-new"], "exp-new": 1}), id="an unknown critical header"),
        pytest.param(signed({}, headers={"crit": []}), id="an empty critical header"),
        pytest.param(signed({}, headers={"kid": "another key"}), id="a key that is not there"),
        pytest.param(signed({})[:-4], id="a shortened signature"),
        pytest.param("", id="nothing"),
        pytest.param("a.b.c", id="no JSON"),
        pytest.param("é" * 3000, id="letters that are in no token"),
        pytest.param("." * 10_000, id="dots"),
    ],
)
async def test_a_forged_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidAccessTokenError):
        await tokens.check(token)


async def test_a_token_is_forgiven_a_clock_that_differs_by_a_few_seconds() -> None:
    slightly_late = datetime.now(UTC) - LEEWAY + timedelta(seconds=5)
    assert await tokens.check(signed({"exp": slightly_late}))
