"""The URL policy: a table of URLs with their verdicts, and addresses by range."""

import tomllib
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.trust.network import (
    BlockedDomain,
    DisallowedScheme,
    InvalidUrl,
    PolicyViolation,
    PrivateIp,
    UrlPolicy,
    read_url,
)

TABLE = tomllib.loads(Path(__file__).with_name("urls.toml").read_text(encoding="utf-8"))
SETTINGS = WebSettings(blocked_domains=tuple(TABLE.pop("blocked_domains")))
POLICY = UrlPolicy(SETTINGS)
OPEN = UrlPolicy(WebSettings(block_private_ips=False))
URLS = [(url, verdict) for verdict, lists in TABLE.items() for urls in lists.values() for url in urls]
GLOBAL_UNICAST = IPv6Network("2000::/3")
PRIVATE = [url for url, verdict in URLS if verdict == "url-private-address"]


def check_url(policy: UrlPolicy, url: str) -> PolicyViolation | None:
    """What speaks against a URL before its host is resolved."""
    try:
        policy.read_allowed(url)
    except PolicyViolation as violation:
        return violation
    return None


def _in(low: str, high: str) -> st.SearchStrategy[IPv4Address]:
    return st.integers(int(IPv4Address(low)), int(IPv4Address(high))).map(IPv4Address)


@pytest.mark.parametrize(("url", "verdict"), URLS, ids=[ascii(url) for url, _ in URLS])
def test_url_gets_its_verdict(url: str, verdict: str) -> None:
    violation = check_url(POLICY, url)

    assert (violation.code if violation else "allowed") == verdict, violation


def test_table_is_as_long_as_it_should_be_and_says_nothing_twice() -> None:
    assert len(URLS) >= 60
    assert len({url for url, _ in URLS}) == len(URLS)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ftp://x/", DisallowedScheme),
        ("http://blocked.example/", BlockedDomain),
        ("http://10.0.0.1/", PrivateIp),
        ("http://a@b/", InvalidUrl),
    ],
)
def test_violation_has_its_kind_a_hint_and_the_exit_code_of_a_refusal(url: str, kind: type[ClawftError]) -> None:
    violation = check_url(POLICY, url)

    assert type(violation) is kind
    assert violation.exit_code == 3
    assert violation.hint


def test_no_violation_repeats_a_password() -> None:
    violation = check_url(POLICY, "https://ann:hunter2@example.com/")

    assert "hunter2" not in f"{violation!r} {violation.diagnostic if violation else ''}"


@given(
    _in("172.16.0.0", "172.31.255.255") | _in("10.0.0.0", "10.255.255.255") | _in("192.168.0.0", "192.168.255.255")
    | _in("127.0.0.0", "127.255.255.255") | _in("169.254.0.0", "169.254.255.255") | _in("0.0.0.0", "0.255.255.255")
    | _in("100.64.0.0", "100.127.255.255") | _in("224.0.0.0", "255.255.255.255")
)  # fmt: skip
def test_private_address_is_refused_in_every_wrapping_and_spelling(address: IPv4Address) -> None:
    number = int(address)
    wrapped = [
        IPv6Address((0xFFFF << 32) + number),
        IPv6Address(number),
        IPv6Address((0x2002 << 112) + (number << 80) + 1),
        IPv6Address((0x64FF9B << 96) + number),
        IPv6Address((0x64FF9B0001 << 80) + number),
        IPv6Address((0x2001 << 112) + (0x08080808 << 64) + (number ^ 0xFFFF_FFFF)),
        IPv6Address((0x2606 << 112) + (0x5EFE << 32) + number),
    ]
    forms: list[str | IPv4Address | IPv6Address] = [address, str(address), *wrapped]
    for one in forms:
        assert isinstance(POLICY.check_address(one), PrivateIp), one
    for host in (address, number, hex(number), f"0{number:o}", *(f"[{one}]" for one in wrapped)):
        assert isinstance(check_url(POLICY, f"http://{host}/"), PrivateIp), host


@pytest.mark.parametrize("address", ["172.15.255.255", "172.32.0.0", "8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_public_address_is_allowed(address: str) -> None:
    assert POLICY.check_address(address) is None


@given(st.ip_addresses(v=4))
def test_address_that_is_not_global_is_never_allowed(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert isinstance(POLICY.check_address(address), PrivateIp)


@given(st.ip_addresses(v=6))
def test_only_global_unicast_and_wrapped_public_addresses_are_allowed(address: IPv6Address) -> None:
    if POLICY.check_address(address) is None:
        assert address in GLOBAL_UNICAST or address.ipv4_mapped or str(address).startswith("64:ff9b::")


@pytest.mark.parametrize("address", ["", "x", "127.0.0.1:80", "0x7f.1", "fe80::1%eth0", "2606:4700::1%1", "1.2.3"])
def test_what_is_no_plain_address_is_refused(address: str) -> None:
    assert isinstance(POLICY.check_address(address), InvalidUrl)
    assert isinstance(OPEN.check_address(address), InvalidUrl)


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_allowed_where_the_config_says_so(url: str) -> None:
    assert check_url(OPEN, url) is None


def test_schemes_are_those_of_the_config_in_any_case() -> None:
    policy = UrlPolicy(WebSettings(allowed_schemes=("HTTPS",)))

    assert check_url(policy, "https://example.com/") is None
    assert isinstance(check_url(policy, "http://example.com/"), DisallowedScheme)


@pytest.mark.parametrize(
    "domain", ["", "*.example.com", "https://example.com", "example.com/x", "a b", "example.com:80"]
)
def test_blocked_domain_that_is_no_host_is_an_error_at_once(domain: str) -> None:
    with pytest.raises(ClawftError) as caught:
        UrlPolicy(WebSettings(blocked_domains=(domain,)))

    assert caught.value.code == "policy-domain"
    assert caught.value.hint


@pytest.mark.parametrize("domain", ["2606:4700:0::1", "[2606:4700::1]"])
def test_address_may_be_blocked_in_any_spelling(domain: str) -> None:
    policy = UrlPolicy(WebSettings(blocked_domains=(domain,)))

    assert isinstance(check_url(policy, "http://[2606:4700:0:0::1]/"), BlockedDomain)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:80?q", "https://example.com:80/?q"),
        ("http://example.com./#top", "http://example.com/"),
        ("http://bücher.example/ü?ü#ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://[2606:4700:0::1]:81/", "http://[2606:4700::1]:81/"),
        ("http://134744072/<a>", "http://8.8.8.8/%3Ca%3E"),
        ("http://a/%20%zz", "http://a/%20%zz"),
    ],
)
def test_url_is_read_into_its_one_form(url: str, read: str) -> None:
    target = read_url(url)

    assert target.url == read
    assert read_url(read) == target


@pytest.mark.parametrize(
    "url",
    [
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 127 + "com/",
        "http://a/" + "b" * 9000,
        "http://" + "1" * 5000 + "/",
        "http://\ud800.com/",
        "http://a/\ud800",
    ],
    ids=["label", "host", "path", "number", "host-surrogate", "path-surrogate"],
)
def test_url_that_is_too_long_or_no_text_is_refused(url: str) -> None:
    assert isinstance(check_url(POLICY, url), InvalidUrl)


@given(st.text() | st.text("htp:/@[]%.0127xa\\?#é。", max_size=30).map("http://{}".format))
def test_any_text_gets_a_verdict_and_what_is_allowed_reads_the_same_again(url: str) -> None:
    if check_url(POLICY, url) is None:
        again = read_url(read_url(url).url)

        assert (again.host, again.path) == (read_url(url).host, read_url(url).path)
        assert again.url.isascii()
