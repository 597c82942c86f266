"""Headers of every answer, through the middleware itself."""

import base64
import hashlib
import json
import re
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from claude_sdk_pattern.api.response_headers import (
    CONTENT_SECURITY_POLICY,
    IMPORT_MAP_HASH,
    ResponseHeadersMiddleware,
)

pytestmark = pytest.mark.anyio

INDEX = Path(__file__).parents[2] / "frontend" / "index.html"


async def fetch(path: str) -> httpx2.Response:
    app = FastAPI()
    app.add_middleware(ResponseHeadersMiddleware)

    @app.get("/page")
    @app.get("/assets/app-1234.js")
    async def page() -> PlainTextResponse:  # pyright: ignore[reportUnusedFunction]
        return PlainTextResponse("x")

    @app.get("/secret")
    async def secret() -> PlainTextResponse:  # pyright: ignore[reportUnusedFunction]
        return PlainTextResponse("x", headers={"Cache-Control": "no-store"})

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as client:
        return await client.get(path)


@pytest.mark.parametrize("path", ["/page", "/missing"])
async def test_every_answer_says_what_its_page_may_do(path: str) -> None:
    headers = (await fetch(path)).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    # Its hash may hold any letters.
    sources = CONTENT_SECURITY_POLICY.replace("data:", "").replace(IMPORT_MAP_HASH, "")
    assert "http" not in sources
    assert "unsafe" not in sources
    assert "*" not in sources


def test_the_only_inline_script_is_the_import_map_of_the_page() -> None:
    page = INDEX.read_text()
    inline = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", page, re.DOTALL)
    [import_map] = re.findall(r'<script type="importmap">(.*?)</script>', page, re.DOTALL)
    assert inline == [import_map]
    assert f"sha256-{base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()}" == IMPORT_MAP_HASH
    for path in json.loads(import_map)["imports"].values():
        assert path.startswith("/shared/")


async def test_files_named_by_their_content_are_kept_and_missing_ones_are_not() -> None:
    assert "immutable" in (await fetch("/assets/app-1234.js")).headers["cache-control"]
    assert (await fetch("/assets/gone-5678.js")).headers["cache-control"] == "no-cache"


async def test_a_route_may_forbid_keeping_altogether() -> None:
    assert (await fetch("/secret")).headers["cache-control"] == "no-store"
