"""Landlock where the system allows no namespaces: the kernel's rules and the filter of calls are all there is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Box = Any
# In a user namespace that allows no further ones, without any capability.
BARE = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
SCRIPT = """
import anyio, json, os, sys
from clawft.config.tools import SandboxSettings
from clawft.errors import ClawftError
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

home, project, command, *hosts = sys.argv[1:]
env = {"PATH": "/usr/bin:/bin", "HOME": home}

async def main():
    sandbox = Sandbox(SandboxSettings(), Workspace(home, home + "/.clawft", project, project), env)
    granted = Confinement(writable=(project,), hosts=tuple(hosts))
    kind = sandbox.status().kind
    try:
        done = await sandbox.run(command, cwd=project, env=env, timeout_s=30, max_bytes=9000, confinement=granted)
        print(json.dumps([kind, done.code, done.output.decode()]))
    except ClawftError as error:
        print(json.dumps([kind, error.code, str(error)]))

anyio.run(main)
"""


def run_bare(box: Box, command: str, *hosts: str) -> tuple[Any, str]:
    words = (sys.executable, "-c", SCRIPT, str(box.home), str(box.project), command, *hosts)
    done = subprocess.run(
        ("unshare", "-Ur", "sh", "-c", BARE, "sh", *words), capture_output=True, timeout=60, check=False
    )
    if done.returncode != 0 and b"unshare" in done.stderr:
        pytest.skip("no user namespace can be made here")
    kind, code, said = json.loads(done.stdout)
    assert kind == "landlock", done.stderr
    return code, said


def test_it_is_kept_in_without_namespaces(landlocked: Box) -> None:
    (landlocked.project / "src").mkdir()
    (landlocked.home / "secret").write_text("s3cret")
    sockets = "import socket\nfor one in (1, 2, 10):\n try: socket.socket(one)\n except OSError: print('none')"
    (landlocked.project / "sockets.py").write_text(sockets)
    line = f"echo ok > src/made; cat {landlocked.home}/secret; cat /proc/1/environ; echo x > {landlocked.home}/x"
    code, said = run_bare(landlocked, f"{line}; /usr/bin/python3 sockets.py; unshare -U true && echo out; exit 7")
    assert code == 7
    assert said.count("none\n") == 3
    assert "s3cret" not in said
    assert "out" not in said.splitlines()
    assert (landlocked.project / "src/made").read_text() == "ok\n"
    assert not (landlocked.home / "x").exists()


def test_nothing_lives_on_without_namespaces(landlocked: Box) -> None:
    mark = f"88{landlocked.project.stat().st_ino % 1000:03}"
    code, said = run_bare(
        landlocked, f"setsid sleep {mark}1 & (setsid sh -c 'sleep {mark}2 & sleep {mark}3' &) ; echo done"
    )
    assert (code, said) == (0, "done\n")
    assert landlocked.find_running(mark) == []


def test_granted_hosts_are_refused_rather_than_all_opened(landlocked: Box) -> None:
    code, said = run_bare(landlocked, "touch made", "example.com")
    assert (code, "cannot be kept apart" in said) == ("sandbox-network", True)
    assert not Path(landlocked.project, "made").exists()
