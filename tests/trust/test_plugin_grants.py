"""Grants that are narrower than what is asked for: in force only as far as they lie within it."""

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawft.contracts import Permissions
from clawft.trust.network import find_grant
from clawft.trust.plugins import (
    clip_permissions,
    compare_permissions,
    covers_host,
    covers_path,
    join_permissions,
    list_granted,
)
from clawft.workspace import resolve_path

HOSTS = ["a.test", "b.a.test", "c.b.a.test", "xa.test", "test", "1.2.3.4", "[::1]", "A.TEST."]
PORTS = ["", ":80", ":443", ":993"]
GRANTS = [f"{any_}{host}{port}" for any_ in ("", "*.") for host in HOSTS for port in PORTS] + [f"*{p}" for p in PORTS]
grants = st.sampled_from([*GRANTS, "!a.test", "", "*a.test", "a.test:0", "**", "*.*", "a.test:99999", "a.test/x"])
REACHED = ["a.test", "b.a.test", "c.b.a.test", "d.c.b.a.test", "xa.test", "test", "z.test", "1.2.3.4", "::1"]
names = st.sampled_from(["Mail", "mail", "work", ".", "..", "", ".env", "AGENTS.md", ".git", "~", "x:ro"])
paths = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(["", "/", "~/", "~", "//", "./", "~me/", "../"]),
    st.lists(names, max_size=4),
    st.sampled_from(["", ":ro", "/", ":ro:ro"]),
)
permissions = st.builds(
    Permissions,
    st.lists(paths, max_size=3).map(tuple),
    st.lists(grants, max_size=3).map(tuple),
    st.lists(st.sampled_from(["KEY", "key", "OTHER"]), max_size=2).map(tuple),
    st.booleans(),
)


def reach(texts: tuple[str, ...]) -> set[tuple[str, int]]:
    return {(host, port) for host in REACHED for port in (80, 443, 993, 8080) if find_grant(host, port, texts)}


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ("*:993", "imap.example.com:993"),
        ("*:993", "*.example.com:993"),
        ("*", "example.com"),
        ("*", "example.com:443"),
        ("*.example.com", "IMAP.example.com"),
        ("*.example.com", "*.b.example.com:80"),
        ("example.com", "example.com:443"),
    ],
)
def test_a_narrower_host_lies_within_and_not_the_other_way_round(asked: str, granted: str) -> None:
    assert covers_host(asked, granted)
    assert not covers_host(granted, asked)


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ("*:993", "imap.example.com"),
        ("*:993", "imap.example.com:143"),
        ("*", "imap.example.com:993"),
        ("*.example.com", "example.com"),
        ("*.example.com", "badexample.com"),
        ("*.example.com", "*.com"),
        ("example.com", "*.example.com"),
        ("example.com:443", "example.com"),
        ("*:993", "!imap.example.com:993"),
        ("*:993", "imap.example.com:993,evil.example:993"),
        ("1.2.3.4", "1.2.3.5"),
    ],
)
def test_a_host_that_is_not_meant_is_not_covered(asked: str, granted: str) -> None:
    assert not covers_host(asked, granted)


@given(grants, grants)
@settings(max_examples=150, deadline=None)
def test_what_a_host_covers_can_be_reached_by_it(wide: str, narrow: str) -> None:
    if covers_host(wide, narrow):
        assert reach((narrow,)) <= reach((wide,))


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ("~/Mail", "~/Mail/work"),
        ("~/Mail", "~/Mail:ro"),
        ("~/Mail/", "~/Mail/./work/x:ro"),
        ("~/Mail:ro", "~/Mail/work:ro"),
        (".", "docs"),
        ("/srv", "/srv/a"),
        (".", ".git:ro"),
        ("~", "~/notes"),
    ],
)
def test_a_narrower_path_lies_within_and_not_the_other_way_round(asked: str, granted: str) -> None:
    assert covers_path(asked, granted)
    assert not covers_path(granted, asked)


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ("~/Mail:ro", "~/Mail"),
        ("~/Mail:ro", "~/Mail/work"),
        ("~/Mail", "~/Mailbox"),
        ("~/Mail", "~/mail/work"),
        ("~/Mail", "~/Mail/../.ssh"),
        ("~/Mail", "~/Mail/a/../b"),
        ("~/Mail/..", "~/x"),
        ("~/Mail", "Mail/work"),
        ("/", "//srv"),
        ("~", "~me/x"),
        (".", "~/x"),
        ("~/Mail", "~/Mail/.env"),
        ("~/Mail", "~/Mail/.ssh/id:ro"),
        (".", ".git"),
        (".", "AGENTS.md"),
        ("~", "~/.bashrc"),
    ],
)
def test_a_path_that_is_not_meant_or_stays_closed_is_not_covered(asked: str, granted: str) -> None:
    assert not covers_path(asked, granted)


@given(paths, paths)
@example("~", "~/~")
@settings(max_examples=150, deadline=None)
def test_what_a_path_covers_lies_below_it(wide: str, narrow: str) -> None:
    if wide != narrow and covers_path(wide, narrow):
        above, below = (resolve_path(one.removesuffix(":ro"), "/project", "/home/me") for one in (wide, narrow))
        assert os.path.commonpath([above, below]) == above
        assert narrow.endswith(":ro") or not wide.endswith(":ro")


@given(permissions, permissions)
@settings(max_examples=150, deadline=None)
def test_a_grant_is_in_force_only_as_far_as_it_is_asked_for_and_was_granted(
    asked: Permissions, granted: Permissions
) -> None:
    held = clip_permissions(asked, granted)
    for whole in (asked, granted):
        assert all(any(covers_path(one, path) for one in whole.filesystem) for path in held.filesystem)
        assert all(any(covers_host(one, host) for one in whole.network) for host in held.network)
        assert {*held.env_vars} <= {*whole.env_vars}
        assert whole.shell or not held.shell
    assert clip_permissions(asked, held) == held
    assert compare_permissions(asked, held) == Permissions()
    assert compare_permissions(asked, join_permissions(held, clip_permissions(asked, granted))) == Permissions()


def test_what_of_one_wish_was_granted_is_found() -> None:
    granted = Permissions(("~/Mail/work:ro",), ("imap.a.test:993", "b.a.test:993", "c.test"), (), False)
    assert list_granted("network", "*:993", granted) == ("imap.a.test:993", "b.a.test:993")
    assert list_granted("network", "c.test:443", granted) == ("c.test:443",)
    assert list_granted("filesystem", "~/Mail", granted) == ("~/Mail/work:ro",)
    assert list_granted("shell", "shell", granted) == list_granted("env_vars", "KEY", granted) == ()
