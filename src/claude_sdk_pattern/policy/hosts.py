"""Which hosts a call would reach, by its URL or by the arguments of a network command."""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from claude_sdk_pattern.policy.calls import JsonObject
from claude_sdk_pattern.policy.shell import Command, Word

UNKNOWN = "(unknown)"
"""Stands for a host that cannot be told; no pattern but ``*`` matches it."""

SEARCH = "web-search"
"""Stands for the search engine behind ``WebSearch``."""

# Options that take the next word. What stands elsewhere is taken for an address: rather one too many.
_CURL_VALUES = re.compile(
    r"-[AbcCdDeEFHmoPQrtTuUwXyYz]|--(data(-raw|-binary|-urlencode)?|header|output(-dir)?|request|user(-agent)?|"
    r"cookie(-jar)?|form|max-time|connect-timeout|retry(-delay)?|range|referer|upload-file|write-out|cacert|cert|key|"
    r"limit-rate|max-redirs|json|url-query|oauth2-bearer)"
)
_WGET_VALUES = re.compile(r"-[OoaPUtTwQlARDIXe]|--(header|output-document|directory-prefix)")
_SSH_VALUES = re.compile(r"-[bcDEeFIiJLlmOopQRSWwP]")
_NO_VALUES = re.compile(r"(?!)")

_VALUES: dict[str, re.Pattern[str]] = {
    "curl": _CURL_VALUES,
    "wget": _WGET_VALUES,
    "ssh": _SSH_VALUES,
    "scp": _SSH_VALUES,
    "sftp": _SSH_VALUES,
}

# Their arguments are addresses; `http` and `https` are HTTPie.
_PROGRAMS = frozenset({"curl", "wget", "http", "https", "xh", "ftp", "lynx", "w3m", "links", "aria2c"})

# The first of their arguments is a host; everything else is a port or a command.
_HOST_FIRST = frozenset({"ssh", "sftp", "telnet", "nc", "ncat", "netcat", "ping", "ftp", "nslookup", "dig", "host"})

# Copies, whose sources and targets may be host:path.
_COPIES = frozenset({"scp", "rsync"})

# They lead elsewhere than the address says, or hide the address in a file.
_DIVERTING = re.compile(
    r"--(resolve|connect-to|config|proxy|preproxy|socks4|socks5|socks5-hostname|input-file|unix-socket|"
    r"abstract-unix-socket|doh-url|proxy-command)|-[KxiJW]"
)


def hosts_of_tool(tool: str, tool_input: JsonObject) -> list[str]:
    """Return the hosts that a network tool names; :data:`UNKNOWN` for one that cannot be told."""
    if tool == "WebSearch":
        return [SEARCH]
    urls = [value for name, value in tool_input.items() if name.lower().endswith(("url", "uri", "host"))]
    return [host_of_url(value) if isinstance(value, str) else UNKNOWN for value in urls] or [UNKNOWN]


def hosts_of_command(command: Command) -> list[str]:
    """Return the hosts that a command reaches; none if it is not about the network, as far as its name says."""
    program = command.program
    if program == "git":
        return _hosts_of_git(command)
    if program in _PROGRAMS:
        diverted = [UNKNOWN] if _is_diverted(program, command.arguments) else []
        return [*diverted, *(_host_of_word(word) for word in _addresses(program, command.arguments))]
    if program in _COPIES:
        remote = [word for word in _addresses(program, command.arguments) if ":" in word.text or not word.is_static]
        return [_host_of_word(word) for word in remote]
    if program in _HOST_FIRST:
        diverted = [UNKNOWN] if _is_diverted(program, command.arguments) else []
        return [*diverted, *(_host_of_word(word) for word in _addresses(program, command.arguments)[:1])]
    return []


def host_of_url(url: str) -> str:
    """Return the host of a URL, in the form in which patterns are written; :data:`UNKNOWN` if there is none.

    Readers of URLs disagree about backslashes, white space and control characters, so such a URL has no host here.
    """
    if any(letter.isspace() or not letter.isprintable() or letter == "\\" for letter in url):
        return UNKNOWN
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return UNKNOWN
    if parts.scheme not in ("http", "https", "ftp", "ssh", "git", "ws", "wss", "git+ssh", "sftp", "rsync") or not host:
        return UNKNOWN
    return _normal(host)


def is_allowed_host(host: str, patterns: Sequence[str]) -> bool:
    """Whether a host is one of ``patterns``. ``*.example.org`` stands for the hosts below it and not for itself."""
    return any(fnmatchcase(host, pattern.lower()) for pattern in patterns)


def _normal(host: str) -> str:
    host = host.rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    # 2130706433, 0x7f.1 and 127.1 are addresses for curl, and names for everybody else.
    if host.replace(".", "").isdigit() or host.startswith("0x") or ".0x" in host:
        return UNKNOWN
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return UNKNOWN


def _host_of_word(word: Word) -> str:
    text = word.text
    if "://" in text:
        # What is expanded behind the host does not change it.
        scheme, _, rest = text.partition("://")
        authority = rest.split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]
        dynamic = not word.is_static and any(sign in scheme + authority for sign in "$`<>{")
        return UNKNOWN if dynamic else host_of_url(f"{scheme}://{authority}/")
    if not word.is_static or any(sign in text for sign in "{}[]*?"):
        return UNKNOWN
    # user@host:path, host:port/path, host
    host = text.split("/", 1)[0].rsplit("@", 1)[-1].split(":", 1)[0]
    return host_of_url(f"http://{host}/") if host else UNKNOWN


def _addresses(program: str, arguments: Sequence[Word]) -> list[Word]:
    takes_value = _VALUES.get(program, _NO_VALUES)
    found: list[Word] = []
    words: Iterator[Word] = iter(arguments)
    for word in words:
        if word.text == "--url":
            found += [next(words, Word("", is_static=False))]
        elif word.text.startswith("--url="):
            found.append(Word(word.text.removeprefix("--url="), word.is_static))
        elif takes_value.fullmatch(word.text):
            next(words, None)
        elif not word.text.startswith("-"):
            found.append(word)
    return found


def _is_diverted(program: str, arguments: Sequence[Word]) -> bool:
    options = [word.text.split("=", 1)[0] for word in arguments]
    # `-i` is "show headers" for curl and "read addresses from a file" for wget; ssh reads a key with it.
    ignored = {"-i"} if program != "wget" else {"-x"}
    return any(_DIVERTING.fullmatch(option) and option not in ignored for option in options)


def _hosts_of_git(command: Command) -> list[str]:
    remote = {"clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"}
    words = command.arguments
    if not any(word.text in remote for word in words):
        return []
    found: list[str] = []
    for word in words:
        is_scp_like = "@" in word.text and ":" in word.text and "://" not in word.text
        if "://" in word.text or is_scp_like:
            found.append(UNKNOWN if "ext::" in word.text else _host_of_word(word))
        elif word.text.startswith("ext::"):
            found.append(UNKNOWN)
    return found
