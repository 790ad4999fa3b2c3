"""What a confined program can open for writing: what it was given, and nothing of the machine."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
Box = Any
# Nothing is written, and nothing that would wait is waited for.
WALK = """
import os, sys
known = open("known.txt").read().split("\\n")
tops = ["/", *sys.argv[1:], os.getcwd()]
walked = [os.path.join(folder, name) for top in tops for folder, _, names in os.walk(top) for name in names]
for path in dict.fromkeys([*walked, *known]):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY))
    except OSError:
        continue
    print(path)
print(len(walked))
"""
# What is outside may be opened by its name where its folder cannot be listed, as under Landlock.
OUTSIDE = ("/dev", "/etc", "/run", "/var/lib", "/var/run", "/proc/sys", "/sys/kernel", "/sys/fs")
TOPS = ("/usr", "/proc", "/dev", "/etc", "/run", "/var", "/opt", "/srv", "/sys", "/tmp", "/home", "/root", "/mnt")
# `pts/N` are terminals of its own; of /proc only what tells of programs in the sandbox, which are its own.
MAY_OPEN = re.compile(r"/dev/(null|zero|full|random|urandom|tty|ptmx|pts/\w+)|/proc/(self|thread-self|\d+)/.*")


async def test_of_all_files_that_can_be_seen_only_the_project_and_harmless_devices_open_for_writing(box: Box) -> None:
    project = str(box.project)
    for name in ("walk.py", "notes.txt", "src/deep/code.c", ".env", ".git/config"):
        (box.project / name).parent.mkdir(parents=True, exist_ok=True)
        (box.project / name).write_text(WALK if name == "walk.py" else "x")
    places = [*OUTSIDE, str(box.folder), str(Path.home())]
    known = [f"{folder}/{name}" for top in places for folder, _, names in os.walk(top) for name in names[:1_000]]
    (box.project / "known.txt").write_text("\n".join(one for one in known[:100_000] if one.isprintable()))
    done = await box.run(f"/usr/bin/python3 walk.py {' '.join(TOPS)}", timeout_s=280)
    *opened, seen = done.output.decode().splitlines()
    assert done.code == 0, done
    assert int(seen) > 1_000  # the system's own programs are among them
    ours = {path for path in opened if path.startswith(f"{project}/")}
    assert ours == {f"{project}/{name}" for name in ("walk.py", "known.txt", "notes.txt", "src/deep/code.c")}
    assert [path for path in opened if path not in ours and not MAY_OPEN.fullmatch(path)] == []
    assert {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} <= set(opened)


async def test_settings_of_the_kernel_can_be_read_and_not_changed(box: Box) -> None:
    said = await box.say("cat /proc/sys/kernel/ostype; : > /proc/sys/kernel/core_pattern; echo $?")
    assert said.startswith("Linux\n")
    assert not said.endswith("\n0\n")
