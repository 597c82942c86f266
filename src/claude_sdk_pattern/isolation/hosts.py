"""Which hosts agents may reach: patterns of names, and addresses that no name may lead to."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address
type Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Without a port in the pattern: what web servers listen on.
_WEB_PORTS = frozenset({80, 443})

_PATTERN = re.compile(r"(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")

# Addresses that stand for an IPv4 one: behind a translator, ::ffff is not the only way to write 127.0.0.1.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class HostPatternError(ValueError):
    """A pattern of hosts that cannot be read."""


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host that may be reached: ``example.com``, ``*.example.com`` for all below it, ``example.com:8443``."""

    name: str
    port: int | None = None

    @staticmethod
    def parse(text: str) -> "HostPattern":
        """Return the pattern in a text.

        Raises:
            HostPatternError: it is none.
        """
        name, colon, port = text.strip().lower().rstrip(".").partition(":")
        if not _PATTERN.fullmatch(name) or _is_address(name):
            raise HostPatternError(f"{text!r} is not the name of a host, like example.com or *.example.com:8443")
        if colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise HostPatternError(f"{text!r} has no valid port")
        return HostPattern(name, int(port) if colon else None)

    def matches(self, host: str, port: int) -> bool:
        """Whether a host, by its name in lower case, may be reached on this port."""
        if port != self.port if self.port is not None else port not in _WEB_PORTS:
            return False
        if self.name.startswith("*."):
            return host.endswith(self.name[1:]) and len(host) > len(self.name) - 1
        return host == self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """What agents may reach: ``hosts`` by name, and of addresses that are not public those in ``networks``."""

    hosts: Sequence[HostPattern] = ()
    networks: Sequence[Network] = ()

    def allows_host(self, host: str, port: int) -> bool:
        """Whether a host may be reached by its name. Its addresses have to be looked at besides."""
        return any(pattern.matches(host.lower().rstrip("."), port) for pattern in self.hosts)

    def allows_address(self, address: Address) -> bool:
        """Whether an address that a name led to may be reached: a public one, or one the operator has opened."""
        if any(address.version == network.version and address in network for network in self.networks):
            return True
        return all(map(_is_public, _plain(address)))


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        # Out of use, so the registry says nothing of it; networks that are old enough still do use it.
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _plain(address: Address) -> list[Address]:
    """Return an address and those that it carries inside."""
    found: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            # What counts is the address inside; the registry calls all that are written like this private.
            return _plain(address.ipv4_mapped)
        if address in _NAT64:
            found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.sixtofour is not None:
            found.append(address.sixtofour)
        if address.teredo is not None:
            found += address.teredo
    return found


def _is_address(name: str) -> bool:
    # A name whose last part is a number is read as an address by much software, in many notations.
    return bool(re.fullmatch(r"(0x[0-9a-f]*|[0-9]+)", name.rpartition(".")[2]))
