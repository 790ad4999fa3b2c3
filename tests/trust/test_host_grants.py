"""Grants of hosts: what is written, and what it covers."""

import pytest

from clawft.errors import ClawftError
from clawft.trust.network import find_grant, parse_grant
from clawft.trust.patterns import parse_pattern
from clawft.trust.permissions import PermissionRule, PermissionRules, list_granted_hosts


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


def test_what_is_taken_away_is_so_from_every_grant() -> None:
    hosts = ("*", "evil.test:8443", "!evil.test", "!*.bad.test:443")
    assert find_grant("good.test", 443, hosts) is not None
    assert find_grant("evil.test", 443, hosts) is None
    assert find_grant("evil.test", 8443, hosts) is None
    assert find_grant("a.bad.test", 443, hosts) is None
    assert find_grant("a.bad.test", 80, hosts) is not None


def rules(**patterns: tuple[str, ...]) -> PermissionRules:
    made = {kind: tuple(PermissionRule(kind, parse_pattern(one)) for one in some) for kind, some in patterns.items()}  # type: ignore[arg-type]
    return PermissionRules(**made)


@pytest.mark.parametrize(
    ("written", "approved", "granted"),
    [
        (rules(), (), ()),
        (rules(allow=("WebFetch(domain:a.test)", "Bash(git:*)", "Read(b.test)")), (), ("a.test",)),
        (rules(allow=("WebFetch",)), (), ("*",)),
        (rules(allow=("WebFetch(nonsense",)), (), ()),
        (rules(allow=("WebFetch(domain:a.test)",), ask=("WebFetch(domain:b.test)",)), (), ("!b.test", "a.test")),
        (rules(allow=("WebFetch(domain:a.test)",), deny=("WebFetch(nonsense",)), (), ("!*", "a.test")),
        (rules(), (("a.test", "b.test"),), ("a.test", "b.test")),
        (rules(), (("a.test", "b.test"), ("b.test", "c.test")), ("b.test",)),
        (rules(), (("a.test",), ()), ()),
        (rules(), (("*", "*.test", "not a host", "a.test"),), ("a.test",)),
        (rules(allow=("WebFetch(domain:r.test)",)), (("a.test",), ("b.test",)), ("r.test",)),
    ],
)
def test_programs_get_the_hosts_of_rules_and_of_every_stranger(
    written: PermissionRules, approved: tuple[tuple[str, ...], ...], granted: tuple[str, ...]
) -> None:
    assert list_granted_hosts(written, approved) == granted
