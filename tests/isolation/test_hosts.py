"""What an agent may reach: patterns of hosts, and addresses in all their notations. Pure."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sdk_pattern.isolation.hosts import EgressPolicy, HostPattern, HostPatternError

PUBLIC = EgressPolicy()


@pytest.mark.parametrize(
    ("pattern", "host", "port", "expected"),
    [
        ("example.com", "example.com", 443, True),
        ("example.com", "EXAMPLE.com.", 80, True),
        ("Example.COM", "example.com", 443, True),
        ("example.com", "example.com", 8443, False),
        ("example.com", "www.example.com", 443, False),
        ("example.com", "example.com.evil.test", 443, False),
        ("example.com", "notexample.com", 443, False),
        ("*.example.com", "www.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "notexample.com", 443, False),
        ("*.example.com", ".example.com", 443, False),
        ("example.com:8443", "example.com", 8443, True),
        ("example.com:8443", "example.com", 443, False),
    ],
)
def test_a_pattern_opens_what_it_names_and_nothing_else(pattern: str, host: str, port: int, expected: bool) -> None:
    assert EgressPolicy(hosts=[HostPattern.parse(pattern)]).allows_host(host, port) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "*", "*.", "a..b", "exa mple.com"),
        *("http://example.com", "example.com/", "user@example.com"),
        *("example.com:", "example.com:0", "example.com:x", "example.com:70000"),
        *("10.0.0.1", "127.1", "0x7f.1", "2130706433", "[::1]"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(HostPatternError):
        HostPattern.parse(text)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "192.0.2.1",
        "255.255.255.255",
        "198.18.0.1",
        "240.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "2001:db8::1",
        "64:ff9b:1::1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:0:7f00:1::",
    ],
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not PUBLIC.allows_address(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public_addresses_are_open(address: str) -> None:
    assert PUBLIC.allows_address(ip_address(address))


def test_an_operator_opens_a_network_of_the_house() -> None:
    policy = EgressPolicy(networks=[ip_network("10.1.2.0/24"), ip_network("fd00:1::/32")])
    assert policy.allows_address(ip_address("10.1.2.3"))
    assert policy.allows_address(ip_address("fd00:1::1"))
    assert not policy.allows_address(ip_address("10.1.3.3"))
    assert not policy.allows_address(ip_address("169.254.169.254"))


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_alike_in_every_clothing(address: object) -> None:
    inside = ip_address(str(address))
    allowed = PUBLIC.allows_address(inside)
    assert PUBLIC.allows_address(ip_address(f"::ffff:{inside}")) is allowed
    assert not PUBLIC.allows_address(ip_address(f"64:ff9b::{inside}")) or allowed
