"""MCP Apps (SEP-1865, specification 2026-01-26): pages that tools show, as far as the server is concerned. Pure.

A tool names a ``ui://`` resource of its server; the web app shows it in a frame without an origin. Here is read what a
server says of them, and written what such a page may load: what is in it, and what is of hosts its plugin declares.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from mcp_types import ReadResourceResult, TextResourceContents, Tool

from claude_sdk_pattern.isolation.hosts import HostPattern

EXTENSION: Final = "io.modelcontextprotocol/ui"
"""The extension's name, by which a client says that it shows apps."""

PAGE_TYPE: Final = "text/html;profile=mcp-app"

SCHEME: Final = "ui://"

# A page holds its scripts and pictures; what is larger than this is no card in a conversation.
MAX_PAGE_BYTES: Final = 4 * 1024 * 1024

_MAX_URI_LENGTH: Final = 500
_MAX_DOMAINS: Final = 50

_DOMAIN: Final = re.compile(r"(?:(https?|wss?)://)?(\*\.)?([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::([0-9]{1,5}))?/?")

_WEB_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}

type Audience = Literal["model", "app"]


class NoAppError(Exception):
    """What a server gave is no page that can be shown; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPage:
    """A page.

    Attributes:
        html: all of it.
        connect: what it wants to talk to: ``https://api.example.org``.
        load: what it wants to load scripts, styles, pictures and fonts from.
    """

    html: bytes
    connect: tuple[str, ...] = ()
    load: tuple[str, ...] = ()


def page_of(tool: Tool) -> str | None:
    """Return the address of the page that a tool shows; None for one that shows none."""
    meta = tool.meta or {}
    # The flat key is of the proposal's first drafts, which servers still use.
    uri = _ui(meta).get("resourceUri", meta.get("ui/resourceUri"))
    if not isinstance(uri, str) or not uri.startswith(SCHEME) or len(uri) > _MAX_URI_LENGTH:
        return None
    return uri


def is_for(tool: Tool, audience: Audience) -> bool:
    """Whether a tool is for the model or for apps; one that does not say is for both."""
    visibility: Any = _ui(tool.meta or {}).get("visibility", ["model", "app"])
    return not isinstance(visibility, list) or audience in visibility


def read_page(result: ReadResourceResult, uri: str) -> AppPage:
    """Return the page in an answer of a server.

    Raises:
        NoAppError: there is none.
    """
    for content in result.contents:
        if content.uri != uri or content.mime_type != PAGE_TYPE:
            continue
        if isinstance(content, TextResourceContents):
            html = content.text.encode(errors="replace")
        else:
            try:
                html = base64.b64decode(content.blob, validate=True)
            except (binascii.Error, ValueError) as error:
                raise NoAppError(f"{uri} is no valid base64.") from error
        if len(html) > MAX_PAGE_BYTES:
            raise NoAppError(f"{uri} has {len(html)} bytes, and the limit is {MAX_PAGE_BYTES}.")
        csp = _object(_ui(content.meta or {}).get("csp"))
        return AppPage(html=html, connect=_texts(csp.get("connectDomains")), load=_texts(csp.get("resourceDomains")))
    raise NoAppError(f"{uri} is not there as {PAGE_TYPE}.")


def content_security_policy(page: AppPage, hosts: Sequence[HostPattern]) -> str:
    """Return the policy that a page is served with.

    It makes the page one of nobody's, wherever it is opened. ``hosts`` are those that the plugin declares: what the
    page wants of others is left out.
    """
    connect = _allowed(page.connect, hosts)
    load = _allowed(page.load, hosts)
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            " ".join(("script-src", "'unsafe-inline'", *load)),
            " ".join(("style-src", "'unsafe-inline'", *load)),
            " ".join(("img-src", "data:", "blob:", *load)),
            " ".join(("font-src", "data:", *load)),
            " ".join(("media-src", "data:", "blob:", *load)),
            " ".join(("connect-src", *(connect or ["'none'"]))),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    )


def _allowed(domains: Iterable[str], hosts: Sequence[HostPattern]) -> list[str]:
    found = (_source(domain, hosts) for domain in domains)
    return list(dict.fromkeys(source for source in found if source is not None))


def _source(domain: str, hosts: Sequence[HostPattern]) -> str | None:
    """Return a domain as a policy names it; None if it is none, or the plugin does not declare it."""
    match = _DOMAIN.fullmatch(domain.lower())
    if match is None:
        return None
    scheme, wildcard, name, port = match[1] or "https", match[2] or "", match[3], match[4]
    number = int(port) if port else _WEB_PORTS[scheme]
    # A wildcard is within a pattern whose own wildcard reaches as far: whatever stands for it, the pattern matches.
    if not any(host.matches(f"*.{name}" if wildcard else name, number) for host in hosts):
        return None
    return f"{scheme}://{wildcard}{name}" + (f":{port}" if port else "")


def _ui(meta: dict[str, Any]) -> dict[str, Any]:
    return _object(meta.get("ui"))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(one for one in found if isinstance(one, str))[:_MAX_DOMAINS]
