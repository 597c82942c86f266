"""A real OpenID Connect provider on loopback, and a person who signs in there without a browser."""

import asyncio
import contextlib
import json
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

CLIENT_ID = "the-platform"
CLIENT_SECRET = "a secret that only the tests and their provider know"

_PROGRAM = Path(__file__).parent / "identity_provider.mjs"

# A start is half a second; several times that on a busy machine.
_START_SECONDS = 30.0
_MOST_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class IdentityProvider:
    """A running provider."""

    issuer: str

    async def sign_in(self, authorization_url: str, name: str) -> str:
        """Sign in at the provider as a browser would; return the address it sends the browser back to."""
        async with httpx2.AsyncClient(timeout=_START_SECONDS) as browser:
            url, form = authorization_url, None
            for _ in range(_MOST_STEPS):
                if not url.startswith(self.issuer):
                    return url
                answer = await browser.request("GET" if form is None else "POST", url, data=form)
                if answer.is_redirect:
                    url, form = urljoin(url, answer.headers["location"]), None
                    continue
                assert answer.status_code == 200, answer.text
                action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                assert action is not None
                assert prompt is not None
                url, form = urljoin(url, action[1]), {"prompt": prompt[1], "login": name, "password": "any"}
        raise AssertionError("the provider goes round in circles")


@contextlib.asynccontextmanager
async def running_identity_provider(
    *, server_url: str, people: Mapping[str, Mapping[str, Any]]
) -> AsyncGenerator[IdentityProvider]:
    """Run a provider that knows one client, the server at ``server_url``, and these people with these claims."""
    client = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [f"{server_url}/api/v1/auth/oidc/callback"],
        "post_logout_redirect_uris": [f"{server_url}/login"],
    }
    arguments = json.dumps({"client": client, "people": people})
    process = await asyncio.create_subprocess_exec(
        "node", str(_PROGRAM), arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_START_SECONDS):
            issuer = (await process.stdout.readline()).decode().strip()
        assert issuer.startswith("http://127.0.0.1:"), issuer
        yield IdentityProvider(issuer=issuer)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
