"""Grants of hosts: what is written, and what it covers."""

import pytest

from clawft.errors import ClawftError
from clawft.trust.hosts import find_grant, parse_grant


@pytest.mark.parametrize(
    ("grant", "host", "port"),
    [
        ("a.test", "a.test", 443),
        ("a.test", "a.test", 80),
        ("A.Test.", "a.test", 443),
        ("a.test:8443", "a.test", 8443),
        ("*.a.test", "b.a.test", 443),
        ("*.a.test", "c.b.a.test", 443),
        ("*.a.test:22", "b.a.test", 22),
        ("*", "anything.test", 443),
        ("*:8080", "anything.test", 8080),
        ("Bücher.test", "xn--bcher-kva.test", 443),
        ("127.0.0.1:99", "127.0.0.1", 99),
        ("[::1]:99", "::1", 99),
    ],
)
def test_grant_covers(grant: str, host: str, port: int) -> None:
    found = find_grant(host, port, ("other.test", grant))
    assert found is not None
    assert found.text == grant


@pytest.mark.parametrize(
    ("grant", "host", "port"),
    [
        ("a.test", "a.test", 8443),
        ("a.test:8443", "a.test", 443),
        ("a.test", "b.a.test", 443),
        ("a.test", "nota.test", 443),
        ("*.a.test", "a.test", 443),
        ("*.a.test", "nota.test", 443),
        ("*.a.test", "a.test.evil.test", 443),
        ("*", "a.test", 22),
        ("*a.test", "nota.test", 443),
        ("a.*", "a.test", 443),
        ("https://a.test", "a.test", 443),
        ("", "", 443),
    ],
)
def test_grant_does_not_cover(grant: str, host: str, port: int) -> None:
    assert find_grant(host, port, (grant,)) is None


@pytest.mark.parametrize(
    "text", ["", "*.", "**", "*a.test", "*.*.test", "*.1.2.3.4", "a.test:", "a.test:0", "a.test:70000", "http://a.test",
             "a.test/x", "user@a.test", "a b", "*:x"]
)  # fmt: skip
def test_what_is_no_grant_is_said(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        parse_grant(text)
    assert caught.value.code == "host-invalid"
