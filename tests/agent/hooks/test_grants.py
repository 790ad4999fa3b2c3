"""What a hook is granted, in Deno's words: nothing in a name or a path makes it more."""

import pytest

from clawft.agent.hooks.handlers import HookGrants, allow_flags, check_grants
from clawft.errors import ClawftError


def test_flags_name_what_is_granted_and_nothing_else() -> None:
    grants = HookGrants(("/a",), ("/b",), ("x.test", "*.y.test:8443", "[::1]:80", "10.0.0.1"), {"ONE": "1", "_2": ""})
    assert allow_flags(("/own", "/a"), grants) == [
        "--allow-read=/own,/a,/b",
        "--allow-write=/b",
        "--allow-net=x.test,*.y.test:8443,[::1]:80,10.0.0.1",
        "--allow-env=ONE,_2",
    ]
    assert allow_flags(("/own",), HookGrants()) == ["--allow-read=/own"]


@pytest.mark.parametrize("host", ["*", "*:8080"])
def test_every_host_is_left_to_the_sandbox(host: str) -> None:
    assert "--allow-net" in allow_flags((), HookGrants(net=("x.test", host)))


def test_names_of_hosts_are_written_as_deno_reads_them() -> None:
    assert allow_flags((), HookGrants(net=("BÜCHER.test",))) == ["--allow-net=xn--bcher-kva.test"]


@pytest.mark.parametrize("path", ["/a=b", "/-c", "/with space", "/new\nline", "/--allow-all"])
def test_odd_paths_stay_one_path(path: str) -> None:
    assert allow_flags((path,), HookGrants()) == [f"--allow-read={path}"]


@pytest.mark.parametrize(
    ("grants", "code"),
    [
        (HookGrants(env={"*": ""}), "hook-permissions"),
        (HookGrants(env={"AWS_*": ""}), "hook-permissions"),
        (HookGrants(env={"A,B": ""}), "hook-permissions"),
        (HookGrants(env={"": ""}), "hook-permissions"),
        (HookGrants(env={"A=B": ""}), "hook-permissions"),
        (HookGrants(env={"LD_PRELOAD": "/x.so"}), "hook-permissions"),
        (HookGrants(env={"DENO_DIR": "/x"}), "hook-permissions"),
        (HookGrants(read=("/a,/etc",)), "hook-permissions"),
        (HookGrants(write=("/a,/etc",)), "hook-permissions"),
        (HookGrants(net=("a.test,b.test",)), "host-invalid"),
        (HookGrants(net=("!a.test",)), "host-invalid"),
        (HookGrants(net=("http://a.test/",)), "host-invalid"),
        (HookGrants(net=("",)), "host-invalid"),
    ],
)
def test_what_would_be_more_than_it_says_is_refused(grants: HookGrants, code: str) -> None:
    with pytest.raises(ClawftError) as refused:
        check_grants(grants)
    assert refused.value.code == code


def test_a_project_with_a_comma_in_its_path_is_refused_with_the_reason() -> None:
    with pytest.raises(ClawftError, match="a path with a comma in it: '/home/a,b'"):
        allow_flags(("/home/a,b",), HookGrants())
